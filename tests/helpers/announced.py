"""A Core that programs of this user find: a runtime file, and a data folder with its tokens."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from jupyter_core.paths import jupyter_runtime_dir

from agentstepper_nb import discover
from agentstepper_nb.discover import Tokens
from agentstepper_nb.discover.tokens import write_private


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
    folder.mkdir(parents=True)
    files = (discover.TOKEN_FILE, discover.CONTROL_FILE, discover.WORKER_FILE)
    for file, token in zip(files, Tokens(agent, control, worker), strict=True):
        if token:
            write_private(folder / file, token + "\n")
    return discover.write_runtime_file(url=url, data_dir=folder, **said)
