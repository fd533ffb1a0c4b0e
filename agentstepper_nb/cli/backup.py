"""`agentstepper backup`: a copy of the runs and background agents, beside a Core or without one."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from pathlib import Path

from ..errors import StoreError
from . import EXIT_FAILURE, EXIT_OK
from .terminal_text import escape_controls


def run(namespace: Namespace) -> int:
    """Run the command.

    Args:
        namespace: The parsed command line.

    Returns:
        1 if the folder can't be copied, else 0.
    """
    from .. import discover
    from ..store.backup import back_up

    folder = discover.data_dir() if namespace.data is None else Path(namespace.data).expanduser()
    name = namespace.to or time.strftime("agentstepper-backup-%Y%m%d-%H%M%S")
    target = Path(name).expanduser()
    try:
        files = back_up(folder, target)
    except StoreError as error:
        print(f"agentstepper backup: {escape_controls(str(error))}", file=sys.stderr)
        return EXIT_FAILURE
    print(escape_controls(f"Copied {', '.join(files)} of {folder} to {target}."))
    return EXIT_OK
