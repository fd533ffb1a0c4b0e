"""The sessions of an interpreter: those that are live here, and those that are kept."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final
from uuid import UUID, uuid4

from ..errors import CommandError
from ..llm_wire.answers import clean
from ..protocol.chat import SessionInfo, SessionList, SessionRemoved, State
from .connector import InterpreterABC
from .session import House, Session
from .transcripts import Transcript, Transcripts, unknown

#: Seconds that a turn has to end where its session ends, each time it is cancelled.
_LAST_GRACE_S: Final = 0.4

#: Characters of a title.
MAX_TITLE: Final = 200

#: A session's id: as it was given, or as text.
SessionId = UUID | str


class Sessions:
    """Makes, finds and ends them.

    Args:
        agents: Those that each session begins with.
        default_agent: Whom messages are for that name nobody; None: the first.
        house: What sessions share.
        folder: Where transcripts are kept; None: they go with the process.
        auto_chat: Whether new sessions go on by themselves.
        auto_chat_max: How often, until somebody says something.
    """

    def __init__(
        self,
        agents: Sequence[InterpreterABC],
        default_agent: str | None,
        house: House,
        folder: Path | None,
        *,
        auto_chat: bool,
        auto_chat_max: int,
    ) -> None:
        self._agents = tuple(agents)
        self._default = default_agent
        self._house = house
        self._auto_chat, self._auto_chat_max = auto_chat, auto_chat_max
        self._live: dict[str, Session] = {}
        self._transcripts = Transcripts(folder)
        self._lists = Lists(lambda: self._transcripts.kept(self._live), self._infos, house.log)
        self._closed = False
        self._removing: set[asyncio.Task[None]] = set()

    def create(self, title: str) -> UUID:
        """Begin one."""
        session_id, now = uuid4(), self._house.clock()
        info = SessionInfo(
            id=str(session_id),
            title=clean(title)[:MAX_TITLE],
            state=State.STATE_INIT,
            default_agent=self._default,
            created_at=now,
            updated_at=now,
        )
        self._make(self._transcripts.create(info), self._auto_chat, self._auto_chat_max)
        return session_id

    def open(self, session: SessionId) -> Session:
        """One that is kept, live again; one that is live as it is.

        Raises:
            CommandError: `unknown_session`, `session_open`, `session_failed`.
        """
        if str(session) in self._live:
            return self.find(session)
        transcript = self._transcripts.open(str(session))
        kept = transcript.session
        return self._make(transcript, kept.auto_chat, kept.auto_chat_max)

    def find(self, session: SessionId | None) -> Session:
        """A live one; None: the newest.

        Raises:
            CommandError: `unknown_session`.
        """
        if session is None:
            for newest in reversed(self._live.values()):
                if not newest.closing:
                    return newest
            raise CommandError("unknown_session", "There is no chat session yet: create one.")
        found = self._live.get(str(session))
        if found is None or found.closing:
            raise unknown(str(session))
        return found

    def info(self, session: SessionId) -> SessionInfo:
        """One, live or kept.

        Raises:
            CommandError: `unknown_session`.
        """
        found = self._live.get(str(session))
        if found is not None:
            return found.info
        for kept in self._transcripts.kept():
            if kept.id == str(session):
                return kept
        raise unknown(str(session))

    def all(self) -> list[SessionInfo]:
        """All of them, live and kept, the one that changed last first."""
        return self._lists.all()

    def attach(self, listener: Callable[[SessionList], None]) -> Callable[[], None]:
        """Tell a function of all of them: at once, and where one is another.

        Returns:
            What ends the telling. Idempotent.
        """
        return self._lists.attach(listener)

    async def remove(self, session: SessionId) -> None:
        """End one, and delete what is kept of it: to the end, also where who waits for it is cancelled.

        Raises:
            CommandError: `unknown_session`, `session_open`, `session_failed`.
        """
        if str(session) not in self._live:
            self._transcripts.open(str(session)).remove()
            self._lists.removed(str(session))
            return
        found = self.find(session)
        found.closing = True
        removing = asyncio.create_task(self._remove(found))
        self._removing.add(removing)
        removing.add_done_callback(self._removing.discard)
        await asyncio.shield(removing)

    async def close(self) -> None:
        """End all of them. What is kept can be opened again."""
        self._closed = True
        live = [each for each in self._live.values() if not each.closing]
        ending = [*map(self._retire, live), *self._removing]
        await asyncio.gather(*ending, return_exceptions=True)
        for each in live:
            each.listeners.close()
        self._lists.close()

    def _make(self, transcript: Transcript, auto_chat: bool, auto_chat_max: int) -> Session:
        try:
            if self._closed:
                raise CommandError("unknown_session", "This chat is closed: begin another.")
            made = Session(
                transcript,
                self._agents,
                self._house,
                auto_chat=auto_chat,
                auto_chat_max=auto_chat_max,
                listed=self._lists.changed,
            )
        except BaseException:
            transcript.close()  # another process may have it
            raise
        self._live[made.id] = made
        self._lists.changed()
        return made

    async def _remove(self, session: Session) -> None:
        await self._retire(session)
        session.listeners.tell(SessionRemoved(session_id=session.id))
        session.listeners.close()
        try:
            session.conversation.transcript.remove()
        finally:
            self._lists.removed(session.id)

    async def _retire(self, session: Session) -> None:
        """One is live no longer."""
        session.closing = True
        try:
            if session.turn is not None:
                await session.turn.stop(_LAST_GRACE_S)
            session.give_up_claim()
            await session.close()
        except Exception:  # it is gone all the same
            self._house.log.exception("Chat session %s didn't end as it should.", session.id)
        finally:
            self._live.pop(session.id, None)

    def _infos(self) -> Iterator[SessionInfo]:
        return (session.info for session in self._live.values())


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
