"""Which Core `agentstepper step` connects to."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path
from typing import Final

from jupyter_core.paths import jupyter_runtime_dir

from ..discover import Endpoint, RuntimeFile, running_core, ui_endpoint

#: Where `agentstepper serve` takes UIs unless told otherwise.
DEFAULT_URL: Final = "ws://127.0.0.1:4567"


def core_to_step(given: Namespace) -> Endpoint:
    """Find the Core: the one that `--url` names, else the one that agents here would find.

    Args:
        given: What the command line set.

    Raises:
        DiscoveryError: Several run, and nothing says which is meant.
    """
    if given.url:
        return ui_endpoint(given.url, given.token)
    core = running_core()
    if core is not None and core.ui_url:
        return ui_endpoint(core.ui_url, given.token)
    if core is not None and core.base_url:
        url = core.url.removesuffix("agent") + "ui"
        return Endpoint(url, given.token or _login_token(core))
    return ui_endpoint(DEFAULT_URL, given.token)


def _login_token(core: RuntimeFile) -> str | None:
    """The token that a Jupyter server asks people for, as its own runtime file tells this user."""
    file = Path(jupyter_runtime_dir()) / f"jpserver-{core.pid}.json"
    try:
        token = json.loads(file.read_text()).get("token")
    except (OSError, ValueError, AttributeError):
        return None
    return token if isinstance(token, str) and token else None
