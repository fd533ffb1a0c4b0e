"""Letting connectors go: they are given some time for it, and may do whatever they do."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from .streams.sources import told

#: Seconds that a connector has to let go.
PATIENCE_S: Final = 1.0
#: Seconds that it has to end, once it was cancelled.
LAST_S: Final = 0.2


async def let_go(leave: Callable[[], Awaitable[None]], what: str, log: logging.Logger) -> None:
    """Let a connector go; one that doesn't end is left alone. What it does wrong is logged.

    Args:
        leave: Its part of it.
        what: Said in the log: what it didn't do.
        log: The interpreter's.
    """
    leaving = asyncio.create_task(_guarded(leave))
    for patience in (PATIENCE_S, LAST_S):
        if (await asyncio.wait({leaving}, timeout=patience))[0]:
            break
        leaving.cancel()
    else:
        log.error("%s It doesn't end, though it was cancelled; it is left alone.", what)
        return
    if leaving.cancelled():
        log.error("%s It was cancelled.", what)
    elif (error := leaving.exception()) is not None:
        log.error("%s", what, exc_info=error)


async def _guarded(leave: Callable[[], Awaitable[None]]) -> None:
    """Do it; what would end the loop is an error like others."""
    try:
        await leave()
    except BaseException as error:
        raise told(error) from None
