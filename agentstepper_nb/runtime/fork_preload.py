"""Imported by the fork server alone: imports what a step process needs, so that a fork has it already.

A moniker's module that can't be imported is left out here; its sessions say why where they are opened.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

from . import step_process  # noqa: F401  # what each fork runs
from .monikers.registry import load_monikers


def _warn_of_threads() -> None:
    """Say where a module started threads: a process that is forked beside them may hang."""
    tasks = Path("/proc/self/task")
    if tasks.is_dir() and len(list(tasks.iterdir())) > 1:
        print(
            "WARNING A moniker's module started threads when it was imported, and a process that is "
            "forked beside them may hang: start them in the moniker's __init__ instead.",
            file=sys.stderr,
        )


@cache
def _import_model_client() -> None:
    """Import the client that most monikers ask their model with, before the first fork.

    No fork has to, then. After the loss of a worker the next one runs the steps of many sessions in a
    process each, and imports there would delay all of them. A worker that never forks imports nothing.
    """
    with suppress(Exception):  # a session that can't do without says why
        from ..models import openai as _openai  # noqa: F401
    gc.freeze()


load_monikers()
_warn_of_threads()
gc.freeze()  # what is here stays: a collection in a fork needn't copy the pages that it looks at
# A service manager may signal all processes of a worker: these end with it, once it has drained. A
# handler, unlike SIG_IGN, isn't inherited by the programs that a step starts.
signal.signal(signal.SIGTERM, lambda *_: None)
os.register_at_fork(before=_import_model_client)
