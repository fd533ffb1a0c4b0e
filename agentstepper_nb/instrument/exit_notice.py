"""The notice at the end of a program of which no LLM query was seen."""

from __future__ import annotations

import atexit
import sys
from typing import Final

from . import auto_run
from .seams import list_seams

_NOTICE: Final = """\
agentstepper run: no LLM query of this program was seen. {seams}
What isn't seen: gRPC, websockets, models inside the process, other transports than httpx (boto3,
requests, aiohttp), and other programs than Python. Trace \
these by hand: docs/guide/attach.md."""


def print_at_exit() -> None:
    """Say at the end of this process, on its stderr, that nothing was seen, if nothing was."""
    atexit.register(_print)


def _print() -> None:
    if auto_run.has_seen_query():
        return
    names = [seam.library for seam in list_seams() if seam.is_active]
    if names:
        seams = f"It imported {' and '.join(names)}, and asked no model through it."
    else:
        seams = "It imported neither httpx nor httpx2, through which the SDKs of models ask."
    print(_NOTICE.format(seams=seams), file=sys.stderr)
