"""Read-only queries. Unknown ids are errors: an empty list means that an existing object has no rows."""

from __future__ import annotations

from typing import TypeVar

import msgspec
from msgspec import Struct

from ...errors import CommandError, ProtocolError
from ...protocol.runtime import AgentState
from ...protocol.runtime_store_messages import (
    ActionList,
    ActionQuery,
    AgentSessionList,
    AgentSessionQuery,
    AgentStateList,
    AgentStepList,
    ChangedRows,
    ChangeQuery,
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

Query = TypeVar("Query", ActionQuery, StateQuery, StepQuery, ConversationQuery, MessageQuery)
Row = TypeVar("Row", bound=Struct)


class QueryService:
    """Reads the store, and checks the ids of a query only if it found nothing.

    Each method raises `CommandError` for an id that doesn't exist: `unknown_session`,
    `unknown_agent`, `unknown_action`, `unknown_conversation`, `unknown_message_id`.

    Args:
        store: The store.
    """

    def __init__(self, store: RuntimeStore) -> None:
        self._store = store

    async def actions(self, request: ActionQuery) -> ActionList:
        """List actions, the oldest first."""
        found = await self._store.actions(_ask_one_more(request))
        rows, more = _shorten(found.actions, request.limit)
        if not rows:
            if request.id is not None and not await self._has_action(request.id):
                raise CommandError(
                    "unknown_action", f"There is no action {request.id[:80]!r}.", field="id"
                )
            await self._check_known(request.session_id, request.agent_id)
        return ActionList(actions=rows, more=more)

    async def states(self, request: StateQuery) -> AgentStateList:
        """Snapshots, the newest first."""
        found = await self._store.states(_ask_one_more(request))
        rows, more = _shorten(found.states, request.limit)
        if not rows:
            await self._check_known(request.session_id, request.agent_id)
        return AgentStateList(states=rows, more=more)

    async def newest_states(self, limit: int) -> tuple[AgentState, ...]:
        """List the newest snapshots without a limit of their size; the caller shortens each."""
        return (await self._store.states(StateQuery(limit=limit))).states

    async def steps(self, request: StepQuery) -> AgentStepList:
        """Steps, by iteration and seq."""
        found = await self._store.steps(_ask_one_more(request))
        rows, more = _shorten(found.steps, request.limit)
        if not rows:
            await self._check_known(request.session_id, request.agent_id)
        return AgentStepList(steps=rows, more=more)

    async def sessions(self, request: AgentSessionQuery) -> AgentSessionList:
        """An agent's sessions, the newest first."""
        found = await self._store.sessions(request)
        if not found.sessions:
            raise lookups.make_unknown_agent_error(request.agent_id)
        return found

    async def conversations(self, request: ConversationQuery) -> ConversationList:
        """Conversations, the newest first."""
        found = await self._store.conversations(_ask_one_more(request))
        rows, more = _shorten(found.conversations, request.limit)
        if not rows and request.conversation_id is not None:
            await lookups.get_conversation(self._store, request.conversation_id)
        return ConversationList(conversations=rows, more=more)

    async def participants(self, request: ParticipantQuery) -> ParticipantList:
        """Participants of a conversation, in the order in which they joined."""
        if request.conversation_id is None:
            raise ProtocolError(
                "invalid_message",
                "conversation_id: the field is missing; it names the conversation.",
                "conversation_id",
            )
        found = await self._store.participants(request)
        if not found.participants:
            await lookups.get_conversation(self._store, request.conversation_id)
        return found

    async def messages(self, request: MessageQuery) -> ConversationMessageList:
        """Messages of a conversation, the oldest first."""
        try:
            found = await self._store.messages(_ask_one_more(request))
        except CommandError as error:
            await lookups.get_conversation(self._store, request.conversation_id)
            raise CommandError(error.code, error.message, field="after") from None
        if not found.messages:
            await lookups.get_conversation(self._store, request.conversation_id)
            if request.message_id is not None:
                await self._message(request.conversation_id, request.message_id)
        if not request.last:
            rows, more = _shorten(found.messages, request.limit)
        else:  # the oldest ones are left out
            rows, more = _shorten(found.messages[::-1], request.limit)
            rows = rows[::-1]
        return ConversationMessageList(messages=rows, more=more)

    async def cursor(self, request: CursorQuery) -> CursorResult:
        """Return a session's read cursor."""
        found = await self._store.cursor(request)
        if found.cursor is None:
            await lookups.get_session(self._store, request.session_id)
            await lookups.get_conversation(self._store, request.conversation_id)
        return found

    async def changes(self, request: ChangeQuery) -> ChangedRows:
        """Rows that changed after a number; see `RuntimeStore.changes`."""
        return await self._store.changes(request)

    async def _message(self, conversation_id: str, message_id: str) -> None:
        if await lookups.find_message(self._store, conversation_id, message_id) is None:
            raise CommandError(
                "unknown_message_id",
                f"There is no message {message_id[:80]!r} in this conversation.",
                field="message_id",
            )

    async def _check_known(self, session_id: str | None, agent_id: str | None) -> None:
        """Raise an error for a session or an agent that has neither a snapshot nor a step."""
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


def _ask_one_more(request: Query) -> Query:
    """A query with its limit plus one, to find out whether there are more rows."""
    return msgspec.structs.replace(request, limit=request.limit + 1)


def _shorten(rows: tuple[Row, ...], limit: int) -> tuple[tuple[Row, ...], bool]:
    """Cut rows to the limit and to a message's size. Returns them, and whether there are more."""
    fitting = lookups.select_fitting(rows[:limit], lookups.MAX_ANSWER_BYTES)
    return fitting, len(fitting) < len(rows)
