"""The notices of `agentstepper run` on a terminal: where the program halts, or that nothing was seen."""

from __future__ import annotations

import atexit
import sys
from typing import Final

from . import auto_run
from .announcement import has_announced, set_output
from .seams import list_seams

_NOTICE: Final = """\
no LLM query of this program was seen. {seams}
What isn't seen: gRPC, websockets, models inside the process, other transports than httpx (boto3, \
requests, aiohttp), and other programs than Python. Trace \
these by hand: docs/guide/attach.md."""


def print_notices() -> None:
    """Say on this process's stderr where its run halts; at the end that nothing was seen, if so."""
    set_output(_print)
    atexit.register(_print_at_exit)


def _print(line: str) -> None:
    print(f"agentstepper run: {line}", file=sys.stderr)


def _print_at_exit() -> None:
    if auto_run.has_seen_query() or has_announced():
        return
    names = [seam.library for seam in list_seams() if seam.is_active]
    if names:
        seams = f"It imported {' and '.join(names)}, and asked no model through it."
    else:
        seams = "It imported neither httpx nor httpx2, through which the SDKs of models ask."
    _print(_NOTICE.format(seams=seams))
