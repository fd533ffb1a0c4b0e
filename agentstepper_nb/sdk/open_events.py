"""The events that are open in the current context: of this thread, of this task.

They stand on a stack in a context variable, as an unchanging tuple. A thread or task that was started
with a copied context sees the events around it, which become the parents of its own, and what it begins
itself stays its own.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

from ..protocol.values import EventKind


class OpenEvent:
    """An event that has begun.

    Args:
        id: Its id.
        run: The run it belongs to.
        kind: What it is.
    """

    __slots__ = ("ended", "id", "kind", "result", "run", "skipped")

    def __init__(self, id: str, run: str, kind: EventKind) -> None:
        self.id = id
        self.run = run
        self.kind = kind
        self.ended = False
        self.skipped = False  # the person gave the result instead of the call
        self.result: Any = None  # that result


_open: ContextVar[tuple[OpenEvent, ...]] = ContextVar("agentstepper_open_events", default=())


def innermost(run: str) -> OpenEvent | None:
    """The innermost open event of a run in this context."""
    for event in reversed(_open.get()):
        if event.run == run and not event.ended:
            return event
    return None


def push(event: OpenEvent) -> None:
    """Open an event in this context."""
    _open.set((*(e for e in _open.get() if not e.ended), event))


def remove(event: OpenEvent) -> None:
    """End an event, for every context that sees it."""
    event.ended = True
    _open.set(tuple(e for e in _open.get() if not e.ended))
