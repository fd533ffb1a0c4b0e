"""Where the runs of this kernel's Core are to be seen, for the views of widgets."""

from __future__ import annotations

import os
from typing import Final

from .. import discover
from ..errors import AgentStepperError

#: What the address of a Jupyter server's runtime ends with, behind its base URL.
_PATH: Final = "agentstepper/runtime"


def find_core_url() -> str:
    """Where the Core that is found takes what controls agents; empty where none is found."""
    try:
        return discover.find_runtime_endpoint().url
    except AgentStepperError:  # it is looked for again, and the view says what is wrong then
        return ""


def is_own_core(url: str) -> bool:
    """Whether a Core is that of this kernel's Jupyter server, which the page is from.

    Args:
        url: Where its runtime is reached.
    """
    if os.environ.get(discover.URL_VARIABLE) or not url.endswith(f"/{_PATH}"):
        return False
    own = discover.find_own_core()
    return own is not None and discover.to_runtime_url(own.url) == url


def find_page_url(url: str) -> str:
    """The base URL of the Jupyter server whose Core it is; empty for a Core that has no pages.

    Args:
        url: Where its runtime is reached.
    """
    base = url.removesuffix(_PATH)
    return "" if base == url else base.replace("ws", "http", 1)
