"""What anybody may read. What is named has to exist: an empty list says that there is nothing of it."""

from __future__ import annotations

from ...errors import CommandError
from ...protocol.runtime_asks import (
    ActionQuery,
    Actions,
    ConversationQuery,
    Conversations,
    CursorAt,
    CursorQuery,
    MessageQuery,
    Messages,
    ParticipantQuery,
    Participants,
    Sessions,
    SessionsOf,
    StateQuery,
    States,
    StepQuery,
    Steps,
)
from ...store.runtime.base import RuntimeStore
from . import lookups


class QueryService:
    """Reads the store, and looks what is named up only where nothing was found.

    Each method raises `CommandError` for what it names and isn't there: `unknown_session`,
    `unknown_agent`, `unknown_action`, `unknown_conversation`, `unknown_message_id`.

    Args:
        store: The store.
    """

    def __init__(self, store: RuntimeStore) -> None:
        self._store = store

    async def actions(self, ask: ActionQuery) -> Actions:
        """Actions, the oldest first."""
        found = await self._store.actions(ask)
        if not found.actions:
            if ask.id is not None and not await self._has_action(ask.id):
                raise CommandError(
                    "unknown_action", f"There is no action {ask.id[:80]!r}.", field="id"
                )
            await self._named(ask.session_id, ask.agent_id)
        return found

    async def states(self, ask: StateQuery) -> States:
        """Snapshots, the newest first."""
        found = await self._store.states(ask)
        if not found.states:
            await self._named(ask.session_id, ask.agent_id)
        return found

    async def steps(self, ask: StepQuery) -> Steps:
        """Steps, by iteration and seq."""
        found = await self._store.steps(ask)
        if not found.steps:
            await self._named(ask.session_id, ask.agent_id)
        return found

    async def sessions(self, ask: SessionsOf) -> Sessions:
        """An agent's sessions, the newest first."""
        found = await self._store.sessions(ask)
        if not found.sessions:
            raise lookups.unknown_agent(ask.agent_id)
        return found

    async def conversations(self, ask: ConversationQuery) -> Conversations:
        """Conversations, the newest first."""
        found = await self._store.conversations(ask)
        if not found.conversations and ask.conversation_id is not None:
            await lookups.conversation(self._store, ask.conversation_id)
        return found

    async def participants(self, ask: ParticipantQuery) -> Participants:
        """Participants of a conversation, in the order in which they joined."""
        found = await self._store.participants(ask)
        if not found.participants:
            await lookups.conversation(self._store, ask.conversation_id)
        return found

    async def messages(self, ask: MessageQuery) -> Messages:
        """Messages of a conversation, the oldest first."""
        try:
            found = await self._store.messages(ask)
        except CommandError as error:
            await lookups.conversation(self._store, ask.conversation_id)
            raise CommandError(error.code, error.message, field="after") from None
        if not found.messages:
            await lookups.conversation(self._store, ask.conversation_id)
            if ask.message_id is not None:
                await self._message(ask.conversation_id, ask.message_id)
        return found

    async def cursor(self, ask: CursorQuery) -> CursorAt:
        """How far a session has read."""
        found = await self._store.cursor(ask)
        if found.cursor is None:
            await lookups.session(self._store, ask.session_id)
            await lookups.conversation(self._store, ask.conversation_id)
        return found

    async def _message(self, conversation_id: str, message_id: str) -> None:
        if await lookups.find_message(self._store, conversation_id, message_id) is None:
            raise CommandError(
                "unknown_message_id",
                f"There is no message {message_id[:80]!r} in this conversation.",
                field="message_id",
            )

    async def _named(self, session_id: str | None, agent_id: str | None) -> None:
        """Refuse a session or an agent of which there is neither a snapshot nor a step."""
        if session_id is not None and not await self._has(session_id=session_id):
            raise lookups.unknown_session(session_id)
        if agent_id is not None and not await self._has(agent_id=agent_id):
            raise lookups.unknown_agent(agent_id)

    async def _has(self, session_id: str | None = None, agent_id: str | None = None) -> bool:
        states = StateQuery(session_id=session_id, agent_id=agent_id, limit=1)
        if (await self._store.states(states)).states:
            return True
        steps = StepQuery(session_id=session_id, agent_id=agent_id, limit=1)
        return bool((await self._store.steps(steps)).steps)

    async def _has_action(self, id: str) -> bool:
        return bool((await self._store.actions(ActionQuery(id=id, limit=1))).actions)
