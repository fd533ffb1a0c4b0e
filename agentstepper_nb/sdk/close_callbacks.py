"""Callbacks that are called when a run is about to end, while its Core can still be queried."""

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
        """The id of its run."""

    @property
    def program_name(self) -> str:
        """The name of its run's program."""

    def _timeline(self) -> Timeline | None:
        """The timeline of the run; None where the Core doesn't give it."""


#: Called with the AgentStepper that is being closed, and how its run will say that it ended.
OnClosing = Callable[[ClosingStepper, Bye], None]

_callbacks: list[OnClosing] = []


def on_closing(callback: OnClosing) -> Callable[[], None]:
    """Register a callback that is called before an AgentStepper of this process ends its run.

    The callback runs on the thread that closes; if that thread runs an event loop, on a thread of
    its own. The close waits for the callback. It is not called at the interpreter's exit, nor for
    an AgentStepper that is never closed. Its exceptions are logged.

    Returns:
        A function that removes the callback.
    """
    _callbacks.append(callback)
    return lambda: _callbacks.remove(callback)


def has_callbacks() -> bool:
    """Whether any callback is registered."""
    return bool(_callbacks)


def call_callbacks(stepper: ClosingStepper, bye: Bye) -> None:
    """Call the registered callbacks."""
    for callback in list(_callbacks):
        try:
            callback(stepper, bye)
        except Exception:
            log.exception("A callback before the end of a run failed.")
