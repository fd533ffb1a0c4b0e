"""Looks up the rows that a request names, or raises the error that they don't exist."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeVar

import msgspec
from msgspec import Struct

from ...errors import CommandError
from ...protocol.runtime import (
    AgentState,
    Conversation,
    ConversationMessage,
    ConversationStatus,
    Participant,
)
from ...protocol.runtime_store_messages import (
    ConversationQuery,
    MessageQuery,
    ParticipantQuery,
    StateQuery,
)
from ...store.runtime.base import RuntimeStore

Row = TypeVar("Row", bound=Struct)

#: Characters of an id that errors show.
_MAX_SHOWN_CHARS = 80
#: Bytes of JSON that the rows of an answer have: it travels in one message of 64 MiB.
MAX_ANSWER_BYTES: Final = 32 * 1024 * 1024


async def find_state(store: RuntimeStore, session_id: str) -> AgentState | None:
    """Find a session's snapshot; None if it has none."""
    found = await store.states(StateQuery(session_id=session_id, limit=1))
    return found.states[0] if found.states else None


async def get_session(
    store: RuntimeStore, session_id: str, field: str = "session_id"
) -> AgentState:
    """A session's snapshot.

    Raises:
        CommandError: `make_unknown_session_error`.
    """
    state = await find_state(store, session_id)
    if state is None:
        raise make_unknown_session_error(session_id, field)
    return state


async def get_latest_session(store: RuntimeStore, agent_id: str) -> AgentState:
    """Get the newest session of an agent.

    Raises:
        CommandError: `make_unknown_agent_error`.
    """
    found = await store.states(StateQuery(agent_id=agent_id, limit=1))
    if not found.states:
        raise make_unknown_agent_error(agent_id)
    return found.states[0]


async def find_conversation(store: RuntimeStore, conversation_id: str) -> Conversation | None:
    """Find a conversation by its id; None if it doesn't exist."""
    found = await store.conversations(ConversationQuery(conversation_id=conversation_id, limit=1))
    return found.conversations[0] if found.conversations else None


async def get_conversation(
    store: RuntimeStore, conversation_id: str, field: str = "conversation_id"
) -> Conversation:
    """A conversation.

    Raises:
        CommandError: `unknown_conversation`.
    """
    found = await find_conversation(store, conversation_id)
    if found is None:
        raise CommandError(
            "unknown_conversation",
            f"There is no conversation {conversation_id[:_MAX_SHOWN_CHARS]!r}.",
            field=field,
        )
    return found


async def get_open_conversation(
    store: RuntimeStore, conversation_id: str, field: str = "conversation_id"
) -> Conversation:
    """A conversation that isn't closed.

    Raises:
        CommandError: `unknown_conversation`; `conversation_closed`.
    """
    found = await get_conversation(store, conversation_id, field)
    if found.status is ConversationStatus.CLOSED:
        name = (found.title or conversation_id)[:_MAX_SHOWN_CHARS]
        raise CommandError(
            "conversation_closed",
            f"The conversation {name!r} is closed. Open the conversation again, or begin another.",
            field=field,
        )
    return found


async def find_message(
    store: RuntimeStore, conversation_id: str, message_id: str
) -> ConversationMessage | None:
    """Find a message of a conversation by its id; None if it doesn't exist."""
    request = MessageQuery(conversation_id=conversation_id, message_id=message_id, limit=1)
    found = await store.messages(request)
    return found.messages[0] if found.messages else None


async def list_participants(
    store: RuntimeStore, conversation_id: str, session_id: str | None = None
) -> tuple[Participant, ...]:
    """List the participants of a conversation who haven't left: all, or one session's."""
    request = ParticipantQuery(
        conversation_id=conversation_id, is_present=True, session_id=session_id
    )
    return (await store.participants(request)).participants


def select_fitting(rows: Iterable[Row], max_bytes: int) -> tuple[Row, ...]:
    """As many of the rows, from the first, as fit into so many bytes of JSON; at least one."""
    fitting: list[Row] = []
    for row in rows:
        max_bytes -= len(msgspec.json.encode(row))
        if max_bytes < 0 and fitting:
            break
        fitting.append(row)
    return tuple(fitting)


def make_unknown_session_error(session_id: str, field: str = "session_id") -> CommandError:
    """Make the error of an unknown session id."""
    return CommandError(
        "unknown_session", f"There is no session {session_id[:_MAX_SHOWN_CHARS]!r}.", field=field
    )


def make_unknown_agent_error(agent_id: str) -> CommandError:
    """Make the error of an agent without known sessions."""
    return CommandError(
        "unknown_agent",
        f"There is no session of agent {agent_id[:_MAX_SHOWN_CHARS]!r}.",
        field="agent_id",
    )
