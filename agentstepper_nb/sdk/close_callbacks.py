"""Who wants to know that a run is about to end, while its Core can still be asked."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Protocol

from ..protocol.agent import Bye, Timeline

log = logging.getLogger("agentstepper_nb.sdk")


class ClosingStepper(Protocol):
    """An AgentStepper that is being closed."""

    @property
    def run_id(self) -> str:
        """Its run's id."""

    @property
    def program_name(self) -> str:
        """Its run's program."""

    def _timeline(self) -> Timeline | None:
        """Its run's timeline; None where the Core doesn't give it."""


#: Called with the AgentStepper that is being closed, and how its run will say that it ended.
OnClosing = Callable[[ClosingStepper, Bye], None]

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


def has_callbacks() -> bool:
    """Whether there is anybody to tell."""
    return bool(_callbacks)


def call_callbacks(stepper: ClosingStepper, bye: Bye) -> None:
    """Tell them."""
    for callback in list(_callbacks):
        try:
            callback(stepper, bye)
        except Exception:
            log.exception("A callback before the end of a run failed.")
