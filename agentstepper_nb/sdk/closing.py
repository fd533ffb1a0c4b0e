"""Who wants to know that a run is about to end, while its Core can still be asked."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..protocol.agent import Bye

if TYPE_CHECKING:
    from .door import Door

log = logging.getLogger("agentstepper_nb.sdk")

#: Called with the AgentStepper that is being closed, and how its run will say that it ended.
OnClosing = Callable[["Door", Bye], None]

_callbacks: list[OnClosing] = []


def on_closing(callback: OnClosing) -> Callable[[], None]:
    """Call this whenever an AgentStepper of this process is about to end its run, before the goodbye.

    It is called on the thread that closes, or on one of its own where that is an event loop's, and the
    close waits for it. Not at the interpreter's exit, nor where an AgentStepper was never closed. What
    it raises is logged.

    Returns:
        A function that takes it back.
    """
    _callbacks.append(callback)
    return lambda: _callbacks.remove(callback)


def anyone_waits() -> bool:
    """Whether there is anybody to tell."""
    return bool(_callbacks)


def tell(door: Door, bye: Bye) -> None:
    """Tell them."""
    for callback in list(_callbacks):
        try:
            callback(door, bye)
        except Exception:
            log.exception("What was to be done before a run's end failed.")
