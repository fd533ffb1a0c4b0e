"""Topics: their readers, and the numbers of their notices.

A topic exists as long as it has a reader. Its numbers begin at the Core's total number of notices,
which no earlier number of the topic has exceeded: so they grow by one while the topic is read, and
never go back as long as the Core lives.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

import msgspec

from ...protocol.runtime import AgentState
from ...protocol.runtime_requests import TopicEvent
from .context import RowUpdates

#: The topics of all sessions and of all conversations.
SESSIONS: Final = "sessions"
CONVERSATIONS: Final = "conversations"


class TopicLimits(NamedTuple):
    """The limits of a topic's first rows, and of its waiting notices."""

    #: Notices that wait for a reader before the reader counts as behind.
    max_waiting: int = 256
    #: Bytes of rows in the `begin` of a list at most, and of one of those rows in full.
    max_begin_bytes: int = 16 * 1024 * 1024


DEFAULT_TOPIC_LIMITS: Final = TopicLimits()


def format_session_topic(session_id: str) -> str:
    """The topic of one session."""
    return f"session:{session_id}"


def format_conversation_topic(conversation_id: str) -> str:
    """The topic of one conversation."""
    return f"conversation:{conversation_id}"


def shorten_snapshot(state: AgentState) -> AgentState:
    """Shorten a snapshot for the topic `sessions`: drop the parts that only its moniker and runner
    understand, which may be large and would be sent to all readers at each step.
    """
    return msgspec.structs.replace(state, state=None, context=None)


class TopicReader:
    """One reader of a topic. Its notices wait here until they are read, up to a limit.

    Args:
        topic: The topic.
        max_waiting: The most waiting notices.
    """

    def __init__(self, topic: _Topic, max_waiting: int) -> None:
        self._max_waiting = max_waiting
        self._topic = topic
        self._waiting: deque[TopicEvent] = deque()
        self._is_behind = False
        self._arrived = asyncio.Event()
        self.closed = False

    def restart(self) -> int:
        """Drop the waiting notices: the rows that are read next include them.

        Returns:
            The number of the last notice before the next.
        """
        self._waiting.clear()
        self._is_behind = False
        return self._topic.n

    async def next(self) -> TopicEvent | None:
        """Wait for the next notice; None if some were missed, or none follow."""
        while not self._waiting:
            if self._is_behind or self.closed:
                return None
            self._arrived.clear()
            await self._arrived.wait()
        return self._waiting.popleft()

    def put(self, event: TopicEvent) -> None:
        """Add a notice."""
        if len(self._waiting) >= self._max_waiting:
            self.fall_behind()
        if not self._is_behind:
            self._waiting.append(event)
        self._arrived.set()

    def fall_behind(self) -> None:
        """Some notices were missed."""
        self._waiting.clear()
        self._is_behind = True
        self._arrived.set()

    def close(self) -> None:
        """End the stream: no more notices follow."""
        self.closed = True
        self._arrived.set()


class _Topic:
    def __init__(self, n: int) -> None:
        self.n = n
        self.readers: set[TopicReader] = set()


class Topics:
    """All topics of a Core.

    Args:
        limits: The limits of a topic's first rows, and of its waiting notices.
    """

    def __init__(self, limits: TopicLimits = DEFAULT_TOPIC_LIMITS) -> None:
        self.limits = limits
        self._topics: dict[str, _Topic] = {}
        self._notice_count = 0
        self._closed = False

    @contextmanager
    def reader(self, name: str) -> Iterator[TopicReader]:
        """Watch a topic from now on.

        Args:
            name: The topic.
        """
        topic = self._topics.setdefault(name, _Topic(self._notice_count))
        reader = TopicReader(topic, self.limits.max_waiting)
        if self._closed:
            reader.close()
        topic.readers.add(reader)
        try:
            yield reader
        finally:
            topic.readers.remove(reader)
            if not topic.readers:
                del self._topics[name]

    def publish(self, updates: RowUpdates) -> None:
        """Send changed rows to the readers of their topics."""
        for notice in _notices(updates):
            self._notice_count += 1
            topic = self._topics.get(notice.topic)
            if topic is None:
                continue
            topic.n += 1
            numbered = msgspec.structs.replace(notice, n=topic.n)
            for reader in topic.readers:
                reader.put(numbered)

    def restart(self) -> None:
        """Make all readers start again from the present rows: the changes aren't known."""
        for topic in self._topics.values():
            for reader in topic.readers:
                reader.fall_behind()

    def close(self) -> None:
        """Tell all readers that no more notices follow."""
        self._closed = True
        for topic in self._topics.values():
            for reader in topic.readers:
                reader.close()


def _notices(updates: RowUpdates) -> Iterator[TopicEvent]:
    """Make the notices of changed rows, without numbers: a session's steps before its snapshot."""
    for step in updates.steps:
        yield TopicEvent(
            topic=format_session_topic(step.session_id), n=0, event="step", steps=(step,)
        )
    for state in updates.states:
        topic = format_session_topic(state.session_id)
        yield TopicEvent(topic=topic, n=0, event="state", states=(state,))
        yield TopicEvent(topic=SESSIONS, n=0, event="state", states=(shorten_snapshot(state),))
    for action in updates.actions:
        topic = format_session_topic(action.session_id)
        yield TopicEvent(topic=topic, n=0, event="action", actions=(action,))
    for conversation in updates.conversations:
        for topic in (format_conversation_topic(conversation.conversation_id), CONVERSATIONS):
            yield TopicEvent(topic=topic, n=0, event="conversation", conversations=(conversation,))
    for participant in updates.participants:
        topic = format_conversation_topic(participant.conversation_id)
        yield TopicEvent(topic=topic, n=0, event="participant", participants=(participant,))
    for message in updates.messages:
        topic = format_conversation_topic(message.conversation_id)
        yield TopicEvent(topic=topic, n=0, event="message", messages=(message,))
