"""Streams a topic: its last known rows, then its changes; restarts if the reader fell behind.

The rows are read after the reader is registered, so that no change is lost in between. A change during
the read may be in the rows and be sent again after them: rows have ids, and of two rows with the same
id the later one counts.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable

import msgspec

from ...errors import CommandError
from ...protocol.runtime import Action, ActionStatus
from ...protocol.runtime_requests import TopicEvent
from ...protocol.runtime_store_messages import (
    MAX_LIMIT,
    ActionQuery,
    ConversationQuery,
    MessageQuery,
    ParticipantQuery,
    StateQuery,
    StepQuery,
)
from . import lookups
from .query_service import QueryService
from .topics import (
    CONVERSATIONS,
    SESSIONS,
    Topics,
    format_conversation_topic,
    format_session_topic,
    shorten_snapshot,
)

#: Reads the rows with which a topic begins.
ReadBegin = Callable[[], Awaitable[TopicEvent]]


async def stream_topic(
    topics: Topics, queries: QueryService, topic: str
) -> AsyncGenerator[TopicEvent, None]:
    """Stream a topic's changes, from its last known rows on, until no more changes can happen.

    Args:
        topics: Publishes the changes.
        queries: Reads the rows.
        topic: The topic's name.

    Raises:
        CommandError: `unknown_topic`; `unknown_session`, `unknown_conversation`.
    """
    begin = _find_begin(queries, topic, topics.limits.max_begin_bytes)
    with topics.reader(topic) as reader:
        while not reader.closed:
            n = reader.restart()
            yield msgspec.structs.replace(await begin(), n=n)
            while (event := await reader.next()) is not None:
                yield event


def _find_begin(queries: QueryService, topic: str, max_bytes: int) -> ReadBegin:
    what, _, id = topic.partition(":")
    if topic == SESSIONS:
        return lambda: _sessions(queries, max_bytes)
    if topic == CONVERSATIONS:
        return lambda: _conversations(queries, max_bytes)
    if what == "session" and id:
        return lambda: _session(queries, id, max_bytes)
    if what == "conversation" and id:
        return lambda: _conversation(queries, id)
    raise CommandError(
        "unknown_topic",
        f"There is no topic {topic[:80]!r}. Watch session:ID, conversation:ID, sessions "
        "or conversations.",
        field="topic",
    )


async def _sessions(queries: QueryService, max_bytes: int) -> TopicEvent:
    found = await queries.newest_states(MAX_LIMIT)
    states = lookups.select_fitting((shorten_snapshot(state) for state in found), max_bytes)
    return TopicEvent(topic=SESSIONS, n=0, event="begin", states=states)


async def _conversations(queries: QueryService, max_bytes: int) -> TopicEvent:
    found = await queries.conversations(ConversationQuery(limit=MAX_LIMIT))
    rows = lookups.select_fitting(found.conversations, max_bytes)
    return TopicEvent(topic=CONVERSATIONS, n=0, event="begin", conversations=rows)


async def _session(queries: QueryService, id: str, max_bytes: int) -> TopicEvent:
    """Read a session: its snapshot, its last step, and its open actions."""
    states = await queries.states(StateQuery(session_id=id, limit=1))
    steps = await queries.steps(StepQuery(session_id=id, latest=True, limit=1))
    return TopicEvent(
        topic=format_session_topic(id),
        n=0,
        event="begin",
        states=states.states,
        steps=steps.steps,
        actions=lookups.select_fitting(await _open_actions(queries, id), max_bytes),
    )


async def _open_actions(queries: QueryService, session_id: str) -> list[Action]:
    """List the queued and claimed actions. The queue is read before and after the claimed actions: a
    claim moves an action there meanwhile and, if its worker is gone, back.
    """
    found: dict[str, Action] = {}
    for status in (ActionStatus.QUEUED, ActionStatus.CLAIMED, ActionStatus.QUEUED):
        request = ActionQuery(session_id=session_id, status=status, limit=MAX_LIMIT)
        found.update({action.id: action for action in (await queries.actions(request)).actions})
    return sorted(found.values(), key=lambda action: action.created_at)


async def _conversation(queries: QueryService, id: str) -> TopicEvent:
    """Read a conversation: its row, its participants, and its last message."""
    rows = await queries.conversations(ConversationQuery(conversation_id=id, limit=1))
    participants = await queries.participants(ParticipantQuery(conversation_id=id))
    messages = await queries.messages(MessageQuery(conversation_id=id, last=True, limit=1))
    return TopicEvent(
        topic=format_conversation_topic(id),
        n=0,
        event="begin",
        conversations=rows.conversations,
        participants=participants.participants,
        messages=messages.messages,
    )
