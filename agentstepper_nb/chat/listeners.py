"""Whom a session tells what happens: everybody everything, in the order it happened."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable

from ..protocol.chat import ChatEvent
from .backend import Backend

Listener = Callable[[ChatEvent], None]


class Listeners:
    """Those of one session. What one raises is logged once, and goes no further.

    A listener may itself do what is told of: that is told to all once they have heard of what it heard.

    Args:
        log: The interpreter's.
    """

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._present: list[_Present] = []
        self._waiting: deque[tuple[ChatEvent, tuple[_Present, ...]]] = deque()
        self._telling = False

    def attach(self, listener: Listener | Backend[object], begin: ChatEvent) -> Callable[[], None]:
        """Tell somebody: first of all how it is, at once.

        Args:
            listener: A function, or a backend.
            begin: How it is.

        Returns:
            What ends the telling. Idempotent.
        """
        present = _Present(listener)
        self._present.append(present)
        self._give(present, begin)

        def detach() -> None:
            present.gone = True
            if present in self._present:
                self._present.remove(present)

        return detach

    def tell(self, event: ChatEvent) -> None:
        """Something happened."""
        self._waiting.append((event, tuple(self._present)))
        if self._telling:
            return
        self._telling = True
        try:
            while self._waiting:
                told, present = self._waiting.popleft()
                for each in present:
                    self._give(each, told)
        finally:
            self._telling = False

    def close(self) -> None:
        """Nothing more is told."""
        present, self._present = self._present, []
        for each in present:
            each.gone = True
            if isinstance(each.listener, Backend):
                try:
                    each.listener.closed()
                except Exception:
                    self._log.exception("A backend failed at the session's end.")

    def _give(self, present: _Present, event: ChatEvent) -> None:
        if present.gone:
            return
        try:
            present.receive(event)
        except Exception:
            if not present.failed:  # one that fails mostly goes on so
                present.failed = True
                self._log.exception("A listener failed at %s.", type(event).__name__)


class _Present:
    """Somebody who is told."""

    def __init__(self, listener: Listener | Backend[object]) -> None:
        self.listener = listener
        self.receive: Listener = listener.receive if isinstance(listener, Backend) else listener
        self.failed = False
        self.gone = False
