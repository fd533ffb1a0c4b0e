"""Finds the pages that show the runs of this kernel's Core, for the views of widgets."""

from __future__ import annotations

import os
from typing import Final

from .. import discover
from ..errors import AgentStepperError

#: The end of the URL of a Jupyter server's runtime socket, after the base URL.
_PATH: Final = "agentstepper/runtime"


def find_core_url() -> str:
    """Find the URL of the discovered Core's runtime; empty if no Core is found."""
    try:
        return discover.find_runtime_endpoint().url
    except AgentStepperError:  # it is looked for again, and the view says what is wrong then
        return ""


def is_own_core(url: str) -> bool:
    """Whether a Core belongs to this kernel's Jupyter server, which serves the notebook's page.

    Args:
        url: The URL of the Core's runtime.
    """
    if os.environ.get(discover.URL_VARIABLE) or not url.endswith(f"/{_PATH}"):
        return False
    own = discover.find_own_core()
    return own is not None and discover.to_runtime_url(own.url) == url


def find_page_url(url: str) -> str:
    """Find the base URL of the Jupyter server that has a Core; empty for a Core without a server.

    Args:
        url: The URL of the Core's runtime.
    """
    base = url.removesuffix(_PATH)
    return "" if base == url else base.replace("ws", "http", 1)
