"""A Core that programs of this user find: a runtime file, and a data folder with its tokens."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from jupyter_core.paths import jupyter_runtime_dir

from agentstepper_nb import discover
from agentstepper_nb.discover import CoreTokens
from agentstepper_nb.hub import AgentStepperCore


def announce_core(core: AgentStepperCore) -> Path:
    """Announce a Core of this process, so that other processes find it, too."""
    ui_url = "" if core.ui_port is None else core.url(core.ui_port)
    return announce(core.url(core.client_port), ui_url=ui_url, **core.tokens._asdict())


def announce(
    url: str, *, agent: str = "", control: str = "", worker: str = "", **said: Any
) -> Path:
    """Announce a Core whose data folder keeps these tokens.

    Args:
        url: Where it takes agents.
        agent: Its agent token.
        control: Its control token.
        worker: Its worker token.
        said: What else the runtime file says.

    Returns:
        The runtime file.
    """
    folder = Path(jupyter_runtime_dir()) / f"data-{said.get('pid', os.getpid())}"
    folder.mkdir(parents=True, exist_ok=True)
    files = (discover.AGENT_TOKEN_FILE, discover.CONTROL_TOKEN_FILE, discover.WORKER_TOKEN_FILE)
    for file, token in zip(files, CoreTokens(agent, control, worker), strict=True):
        if token:
            (folder / file).write_text(token + "\n")
    return discover.write_core_info(url=url, data_dir=folder, **said)
