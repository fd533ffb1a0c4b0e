"""What anybody may read. What is named has to exist: an empty list says that there is nothing of it."""

from __future__ import annotations

from ...errors import CommandError
from ...protocol.runtime_store_messages import (
    ActionList,
    ActionQuery,
    AgentSessionList,
    AgentSessionQuery,
    AgentStateList,
    AgentStepList,
    ConversationList,
    ConversationMessageList,
    ConversationQuery,
    CursorQuery,
    CursorResult,
    MessageQuery,
    ParticipantList,
    ParticipantQuery,
    StateQuery,
    StepQuery,
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

    async def actions(self, request: ActionQuery) -> ActionList:
        """Actions, the oldest first."""
        found = await self._store.actions(request)
        if not found.actions:
            if request.id is not None and not await self._has_action(request.id):
                raise CommandError(
                    "unknown_action", f"There is no action {request.id[:80]!r}.", field="id"
                )
            await self._check_known(request.session_id, request.agent_id)
        return found

    async def states(self, request: StateQuery) -> AgentStateList:
        """Snapshots, the newest first."""
        found = await self._store.states(request)
        if not found.states:
            await self._check_known(request.session_id, request.agent_id)
        return found

    async def steps(self, request: StepQuery) -> AgentStepList:
        """Steps, by iteration and seq."""
        found = await self._store.steps(request)
        if not found.steps:
            await self._check_known(request.session_id, request.agent_id)
        return found

    async def sessions(self, request: AgentSessionQuery) -> AgentSessionList:
        """An agent's sessions, the newest first."""
        found = await self._store.sessions(request)
        if not found.sessions:
            raise lookups.make_unknown_agent_error(request.agent_id)
        return found

    async def conversations(self, request: ConversationQuery) -> ConversationList:
        """Conversations, the newest first."""
        found = await self._store.conversations(request)
        if not found.conversations and request.conversation_id is not None:
            await lookups.get_conversation(self._store, request.conversation_id)
        return found

    async def participants(self, request: ParticipantQuery) -> ParticipantList:
        """Participants of a conversation, in the order in which they joined."""
        found = await self._store.participants(request)
        if not found.participants:
            await lookups.get_conversation(self._store, request.conversation_id)
        return found

    async def messages(self, request: MessageQuery) -> ConversationMessageList:
        """Messages of a conversation, the oldest first."""
        try:
            found = await self._store.messages(request)
        except CommandError as error:
            await lookups.get_conversation(self._store, request.conversation_id)
            raise CommandError(error.code, error.message, field="after") from None
        if not found.messages:
            await lookups.get_conversation(self._store, request.conversation_id)
            if request.message_id is not None:
                await self._message(request.conversation_id, request.message_id)
        return found

    async def cursor(self, request: CursorQuery) -> CursorResult:
        """How far a session has read."""
        found = await self._store.cursor(request)
        if found.cursor is None:
            await lookups.get_session(self._store, request.session_id)
            await lookups.get_conversation(self._store, request.conversation_id)
        return found

    async def _message(self, conversation_id: str, message_id: str) -> None:
        if await lookups.find_message(self._store, conversation_id, message_id) is None:
            raise CommandError(
                "unknown_message_id",
                f"There is no message {message_id[:80]!r} in this conversation.",
                field="message_id",
            )

    async def _check_known(self, session_id: str | None, agent_id: str | None) -> None:
        """Refuse a session or an agent of which there is neither a snapshot nor a step."""
        if session_id is not None and not await self._has(session_id=session_id):
            raise lookups.make_unknown_session_error(session_id)
        if agent_id is not None and not await self._has(agent_id=agent_id):
            raise lookups.make_unknown_agent_error(agent_id)

    async def _has(self, session_id: str | None = None, agent_id: str | None = None) -> bool:
        states = StateQuery(session_id=session_id, agent_id=agent_id, limit=1)
        if (await self._store.states(states)).states:
            return True
        steps = StepQuery(session_id=session_id, agent_id=agent_id, limit=1)
        return bool((await self._store.steps(steps)).steps)

    async def _has_action(self, id: str) -> bool:
        return bool((await self._store.actions(ActionQuery(id=id, limit=1))).actions)
