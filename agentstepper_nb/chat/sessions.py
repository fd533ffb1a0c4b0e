"""The sessions of an interpreter: those that are live here, and those that are kept."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Final
from uuid import UUID, uuid4

from ..errors import CommandError
from ..llm_wire.answer_builder import replace_surrogates
from ..protocol.chat import ChatSessionInfo, ChatSessionList, ChatSessionRemoved, State
from .backend import EventListeners
from .session import ChatConfig, ChatSession
from .session_agents import release_connector
from .transcripts import ChatTranscript, ChatTranscripts, make_unknown_session_error

#: Seconds that a turn has to end where its session ends, each time it is cancelled.
_LAST_GRACE_S: Final = 0.4

#: Characters of a title.
MAX_TITLE_CHARS: Final = 200

#: A session's id: as it was given, or as text.
SessionId = UUID | str


class ChatSessions:
    """Makes, finds, lists and ends sessions; the part of an `Interpreter` that is about all of them.

    Args:
        config: What sessions share.
        folder: Where transcripts are kept; None: they go with the process.
    """

    def __init__(self, config: ChatConfig, folder: Path | None) -> None:
        self._config = config
        self._live: dict[str, ChatSession] = {}
        self._transcripts = ChatTranscripts(folder)
        self._stored_infos: list[ChatSessionInfo] = []  # as the disk was looked at last
        self._listeners = EventListeners[ChatSessionList](config.log)
        self._due: asyncio.Handle | None = None  # several changes in a row are told once
        self._removing: set[asyncio.Task[None]] = set()
        self._closing: asyncio.Task[None] | None = None

    def create_session(self, title: str = "") -> UUID:
        """Begin a session, in STATE_INIT.

        Args:
            title: The session's title; by default the beginning of its first message.

        Returns:
            The session's id: a random UUID.
        """
        session_id, now = uuid4(), self._config.clock()
        info = ChatSessionInfo(
            id=str(session_id),
            title=replace_surrogates(title)[:MAX_TITLE_CHARS],
            state=State.STATE_INIT,
            default_agent=self._config.default_agent,
            auto_chat=self._config.auto_chat,
            auto_chat_max=self._config.auto_chat_max,
            created_at=now,
            updated_at=now,
        )
        self._make(self._transcripts.create(info))
        return session_id

    def open(self, session: SessionId) -> ChatSessionInfo:
        """Make a session live again that is kept; nothing where it is live.

        Raises:
            CommandError: `session_open`: another process has it; `session_failed`: it can't be read.
        """
        if str(session) in self._live:
            return self.find(session).info
        return self._make(self._transcripts.open(str(session))).info

    def find(self, session: SessionId | None) -> ChatSession:
        """A live session; None: the newest.

        Raises:
            CommandError: `unknown_session`.
        """
        if session is None:
            for newest in reversed(self._live.values()):
                if not newest.is_closing:
                    return newest
            raise CommandError("unknown_session", "This chat has no session yet: create one.")
        found = self._live.get(str(session))
        if found is None or found.is_closing:
            raise make_unknown_session_error(str(session))
        return found

    def info(self, session: SessionId) -> ChatSessionInfo:
        """A session, live or kept."""
        found = self._live.get(str(session))
        if found is not None:
            return found.info
        for stored in self._transcripts.list_stored_sessions():
            if stored.id == str(session):
                return stored
        raise make_unknown_session_error(str(session))

    def sessions(self) -> list[ChatSessionInfo]:
        """All sessions, live and kept, the one that changed last first."""
        self._stored_infos = self._transcripts.list_stored_sessions(self._live)
        return self._sorted()

    def attach_sessions(self, listener: Callable[[ChatSessionList], None]) -> Callable[[], None]:
        """Tell a function of all sessions: at once, and where one is another or elsewhere in its turns.

        Returns:
            What ends the telling. Idempotent.
        """
        return self._listeners.attach(listener, ChatSessionList(sessions=tuple(self.sessions())))

    async def remove(self, session: SessionId) -> None:
        """End a session, and delete its stored data. Finishes even if the caller is cancelled.

        Raises:
            CommandError: `session_open`: another process has the session open. `session_failed`: the
                data can't be deleted.
        """
        if str(session) not in self._live:
            self._transcripts.open(str(session)).remove()
            self._removed(str(session))
            return
        found = self.find(session)
        found.is_closing = True
        removing = asyncio.create_task(self._remove(found))
        self._removing.add(removing)
        removing.add_done_callback(self._removing.discard)
        await asyncio.shield(removing)

    async def close(self) -> None:
        """End all sessions with their turns and runs. Stored sessions can be opened again. Idempotent.

        Finishes even if the caller is cancelled.
        """
        if self._closing is None:
            self._closing = asyncio.create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        live = [each for each in self._live.values() if not each.is_closing]
        ending = [*map(self._retire, live), *self._removing]
        await asyncio.gather(*ending, return_exceptions=True)
        for each in live:
            each.listeners.close()
        self._listeners.close()
        if self._due is not None:
            self._due.cancel()
        agents, log, limits = self._config.agents, self._config.log, self._config.limits
        failed = "Agent %s could not be closed."
        await asyncio.gather(
            *(release_connector(agent.close, failed % agent.name, log, limits) for agent in agents)
        )

    def _make(self, transcript: ChatTranscript) -> ChatSession:
        try:
            if self._closing is not None:
                raise CommandError("unknown_session", "This chat is closed: begin another.")
            made = ChatSession(transcript, self._config, self._changed)
        except BaseException:
            transcript.close()  # another process may have it
            raise
        self._live[made.id] = made
        self._changed()
        return made

    async def _remove(self, session: ChatSession) -> None:
        await self._retire(session)
        session.listeners.notify(ChatSessionRemoved(session_id=session.id))
        session.listeners.close()
        try:
            session.conversation.transcript.remove()
        finally:
            self._removed(session.id)

    async def _retire(self, session: ChatSession) -> None:
        """One is live no longer."""
        session.is_closing = True
        try:
            if session.turn is not None:
                await session.turn.stop(_LAST_GRACE_S)
            session.release_reservation()
            await session.close()
        except Exception:  # it is gone all the same
            self._config.log.exception("Chat session %s could not be ended cleanly.", session.id)
        finally:
            self._live.pop(session.id, None)

    # ---- the list -----------------------------------------------------------------------------------

    def _changed(self) -> None:
        """A session changed so that the list shows it."""
        if self._due is None and self._listeners:
            self._due = asyncio.get_running_loop().call_soon(self._notify)

    def _removed(self, session_id: str) -> None:
        self._stored_infos = [each for each in self._stored_infos if each.id != session_id]
        self._changed()

    def _notify(self) -> None:
        self._due = None
        self._listeners.notify(ChatSessionList(sessions=tuple(self._sorted())))

    def _sorted(self) -> list[ChatSessionInfo]:
        live = {session.id: session.info for session in self._live.values()}
        known = {each.id: each for each in self._stored_infos} | live
        return sorted(known.values(), key=lambda each: (each.updated_at, each.id), reverse=True)
