"""The list of all sessions, live and kept, for who watches it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable

from ..protocol.chat import SessionInfo, SessionList

ListListener = Callable[[SessionList], None]


class Lists:
    """Tells who watches. Several changes in a row are told once.

    Args:
        kept: Looks at the disk for what is kept.
        live: The sessions that are open here.
        log: The interpreter's.
    """

    def __init__(
        self,
        kept: Callable[[], Iterable[SessionInfo]],
        live: Callable[[], Iterable[SessionInfo]],
        log: logging.Logger,
    ) -> None:
        self._look = kept
        self._live = live
        self._log = log
        self._kept: list[SessionInfo] = []
        self._listeners: list[ListListener] = []
        self._due: asyncio.Handle | None = None

    def all(self) -> list[SessionInfo]:
        """Every session, the one that changed last first."""
        self._kept = list(self._look())
        return self._sorted()

    def attach(self, listener: ListListener) -> Callable[[], None]:
        """Tell somebody: at once, and whenever it changes.

        Returns:
            What ends the telling. Idempotent.
        """

        def told(sessions: SessionList) -> None:  # one listener may come twice
            listener(sessions)

        self._listeners.append(told)
        self._give(told, SessionList(sessions=tuple(self.all())))

        def detach() -> None:
            if told in self._listeners:
                self._listeners.remove(told)

        return detach

    def changed(self) -> None:
        """A session changed so that the list shows it."""
        if self._due is None and self._listeners:
            self._due = asyncio.get_running_loop().call_soon(self._tell)

    def removed(self, session_id: str) -> None:
        """A session is gone."""
        self._kept = [each for each in self._kept if each.id != session_id]
        self.changed()

    def close(self) -> None:
        """Nothing more is told."""
        self._listeners.clear()
        if self._due is not None:
            self._due.cancel()

    def _tell(self) -> None:
        self._due = None
        sessions = SessionList(sessions=tuple(self._sorted()))
        for listener in tuple(self._listeners):
            self._give(listener, sessions)

    def _give(self, listener: ListListener, sessions: SessionList) -> None:
        try:
            listener(sessions)
        except Exception:
            self._log.exception("A listener to the list of sessions failed.")

    def _sorted(self) -> list[SessionInfo]:
        known = {each.id: each for each in self._kept} | {each.id: each for each in self._live()}
        return sorted(known.values(), key=lambda each: (each.updated_at, each.id), reverse=True)
