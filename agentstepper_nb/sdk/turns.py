"""One breakpoint at a time, for a Core that knows no more: the others wait for their turn here."""

from __future__ import annotations

from collections import deque

from ..protocol.agent import BreakpointReached
from .items import Batch
from .waiting import Waiting


class Turns:
    """Keeps the batches whose breakpoint mustn't be asked yet, in the order in which they came.

    Args:
        waiting: Who waits for what.
    """

    def __init__(self, waiting: Waiting) -> None:
        self._waiting = waiting
        self._asked: str | None = None  # the breakpoint that was asked last
        self._kept: deque[Batch] = deque()

    def may(self, batch: Batch) -> bool:
        """Whether a batch may be sent now; one that mayn't is kept until `next` gives it."""
        last = batch.messages[-1]
        if not (isinstance(last, BreakpointReached) and last.waits):
            return True
        if self._kept or self._is_asked():
            self._kept.append(batch)
            return False
        self._asked = batch.breakpoint
        return True

    def next(self) -> Batch | None:
        """The batch whose turn it is now; None while a breakpoint waits, or where none is kept."""
        if not self._kept or self._is_asked():
            return None
        batch = self._kept.popleft()
        self._asked = batch.breakpoint
        return batch

    def _is_asked(self) -> bool:
        return self._asked is not None and self._waiting.has(self._asked)
