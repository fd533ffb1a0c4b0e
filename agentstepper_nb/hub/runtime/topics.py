"""Topics: who watches what, and the numbers that what they are told has.

A topic is kept as long as somebody watches it. Its numbers begin at how many notices the Core has told
in all, which no number of the topic has passed before: so they grow by one while it is watched, and
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

#: Topics that tell of all sessions and of all conversations.
SESSIONS: Final = "sessions"
CONVERSATIONS: Final = "conversations"


class TopicLimits(NamedTuple):
    """How much of a topic is sent at once, or waits to be sent."""

    #: Notices that wait for a reader before it has fallen behind.
    max_waiting: int = 256
    #: Bytes of rows that a `begin` of a list has at most, and of one of those in full.
    max_begin_bytes: int = 16 * 1024 * 1024


DEFAULT_TOPIC_LIMITS: Final = TopicLimits()


def format_session_topic(session_id: str) -> str:
    """The topic of one session."""
    return f"session:{session_id}"


def format_conversation_topic(conversation_id: str) -> str:
    """The topic of one conversation."""
    return f"conversation:{conversation_id}"


def shorten_snapshot(state: AgentState) -> AgentState:
    """A snapshot as `sessions` tells it: without what only its moniker and runner understand, which may
    be large and would go to everybody at each step.
    """
    return msgspec.structs.replace(state, state=None, context=None)


class TopicReader:
    """One who watches a topic. What comes waits here until it is taken, up to a limit.

    Args:
        topic: The topic.
        max_waiting: Notices that may wait.
    """

    def __init__(self, topic: _Topic, max_waiting: int) -> None:
        self._max_waiting = max_waiting
        self._topic = topic
        self._waiting: deque[TopicEvent] = deque()
        self._is_behind = False
        self._arrived = asyncio.Event()
        self.closed = False

    def restart(self) -> int:
        """Forget what waits: what is read from now on has it.

        Returns:
            The number of the last notice before the next.
        """
        self._waiting.clear()
        self._is_behind = False
        return self._topic.n

    async def next(self) -> TopicEvent | None:
        """The next notice; None where some were missed, or nothing comes any more."""
        while not self._waiting:
            if self._is_behind or self.closed:
                return None
            self._arrived.clear()
            await self._arrived.wait()
        return self._waiting.popleft()

    def put(self, event: TopicEvent) -> None:
        """A notice came."""
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
        """Nothing comes any more."""
        self.closed = True
        self._arrived.set()


class _Topic:
    def __init__(self, n: int) -> None:
        self.n = n
        self.readers: set[TopicReader] = set()


class Topics:
    """All topics of a Core.

    Args:
        limits: How much of a topic is sent at once, or waits to be sent.
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
        """Tell what became new to who watches it."""
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
        """Let all readers begin anew, from how the rows stand: what became new isn't known."""
        for topic in self._topics.values():
            for reader in topic.readers:
                reader.fall_behind()

    def close(self) -> None:
        """Tell all readers that nothing comes any more."""
        self._closed = True
        for topic in self._topics.values():
            for reader in topic.readers:
                reader.close()


def _notices(updates: RowUpdates) -> Iterator[TopicEvent]:
    """What is told of news, still without numbers: what a session did before how it stands now."""
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
