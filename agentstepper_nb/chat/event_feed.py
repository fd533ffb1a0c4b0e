"""Buffers a session's events for one reader, which may be slow."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable
from typing import Final

import msgspec
from msgspec.structs import replace

from ..errors import CommandError, ProtocolError
from ..protocol.chat import (
    ChatEvent,
    ChatMessageChanged,
    ChatMessageDelta,
    ChatSessionChanged,
    ChatSessionRemoved,
    ChatSessionSnapshot,
    Message,
    MessageType,
)
from . import message_types

#: Events that may wait for a reader, and how much of text and data in them. Beyond that the reader is
#: given a new `ChatSessionSnapshot` in place of what it missed.
MAX_EVENTS: Final = 256
MAX_WAITING_CHARS: Final = 2 * 1024 * 1024
#: Characters up to which pieces of one message that wait together are one.
_MAX_JOINED_CHARS: Final = 64 * 1024
#: The size of an event without its message.
_EVENT_OVERHEAD_CHARS: Final = 200

Listener = Callable[[ChatEvent], None]
#: A function that attaches a listener, which gets a `ChatSessionSnapshot` at once; returns the detacher.
AttachListener = Callable[[Listener], Callable[[], None]]


class EventFeed:
    """A bounded buffer of a session's events for one reader.

    Waiting events are merged where this makes no difference to the reader: the pieces of one message,
    and successive states of one object, of which only the last counts.

    Args:
        session: The session's id.
        attach: Attaches the feed to the session.
        max_events: The most waiting events.
        max_waiting_chars: The most text and data in the waiting events.
    """

    def __init__(
        self,
        session: str,
        attach: AttachListener,
        *,
        max_events: int = MAX_EVENTS,
        max_waiting_chars: int = MAX_WAITING_CHARS,
    ) -> None:
        self._session = session
        self._attach = attach
        self._max_events = max_events
        self._max_waiting_chars = max_waiting_chars
        self._waiting: deque[tuple[ChatEvent, int]] = deque()
        self._waiting_chars = 0
        self._event_arrived = asyncio.Event()
        self._detach: Callable[[], None] | None = None
        self._has_begun = False

    async def read(self) -> AsyncGenerator[ChatEvent, None]:
        """The events, until the session is removed. Closing it ends the telling.

        Raises:
            CommandError: There is no such session.
        """
        try:
            while True:
                await self._wait_for_event()
                event, weight = self._waiting.popleft()
                self._waiting_chars -= weight
                yield event
                if isinstance(event, ChatSessionRemoved):
                    return
        finally:
            self._stop()

    async def _wait_for_event(self) -> None:
        """Wait until there is an event."""
        while not self._waiting:
            self._event_arrived.clear()
            if self._detach is None:
                self._listen()
            else:
                await self._event_arrived.wait()

    def _listen(self) -> None:
        """Begin, or begin again where something was missed."""
        try:
            # The `ChatSessionSnapshot` comes during the call.
            self._detach = self._attach(self._receive)
        except CommandError:
            if not self._has_begun:
                raise
            self._put(ChatSessionRemoved(session_id=self._session))
        self._has_begun = True

    def _receive(self, event: ChatEvent) -> None:
        match event:
            case ChatSessionSnapshot():
                self._forget()  # it says all of what waits
            case ChatMessageDelta():
                event = self._joined(event)
            case ChatMessageChanged(message=message):
                self._drop_last(lambda last: _find_message_id(last) == message.id)
            case ChatSessionChanged():
                self._drop_last(lambda last: isinstance(last, ChatSessionChanged))
        self._put(event)
        crowded = (
            len(self._waiting) > self._max_events or self._waiting_chars > self._max_waiting_chars
        )
        if crowded and len(self._waiting) > 1:
            self._forget()
            self._stop()
        self._event_arrived.set()

    def _joined(self, delta: ChatMessageDelta) -> ChatMessageDelta:
        """A piece, with the one of the same message that it follows, which then waits no longer."""
        last = self._waiting[-1][0] if self._waiting else None
        if not isinstance(last, ChatMessageDelta) or last.message_id != delta.message_id:
            return delta
        if len(last.text) + len(delta.text) > _MAX_JOINED_CHARS:
            return delta
        self._take_last()
        return replace(delta, text=last.text + delta.text)

    def _drop_last(self, is_replaced: Callable[[ChatEvent], bool]) -> None:
        """Let go of the last events that wait, as far as the one to come says what they say."""
        while self._waiting and is_replaced(self._waiting[-1][0]):
            self._take_last()

    def _put(self, event: ChatEvent) -> None:
        weight = _estimate_event_size(event)
        self._waiting.append((event, weight))
        self._waiting_chars += weight

    def _take_last(self) -> None:
        _, weight = self._waiting.pop()
        self._waiting_chars -= weight

    def _forget(self) -> None:
        self._waiting.clear()
        self._waiting_chars = 0

    def _stop(self) -> None:
        detach, self._detach = self._detach, None
        if detach is not None:
            detach()


def _find_message_id(event: ChatEvent) -> str | None:
    """The message that an event is about."""
    match event:
        case ChatMessageDelta(message_id=id):
            return id
        case ChatMessageChanged(message=message):
            return message.id
    return None


def _estimate_event_size(event: ChatEvent) -> int:
    match event:
        case ChatMessageDelta(text=text):
            return len(text)
        case ChatMessageChanged(message=message):
            return estimate_size(message)
        case ChatSessionSnapshot():
            return 0  # it is told in any case: nothing could stand in its place
    return _EVENT_OVERHEAD_CHARS


def estimate_size(message: Message) -> int:
    """About how much a message takes where it waits or travels."""
    values = (message.arguments, message.result, message.details)
    said = sum(len(msgspec.json.encode(value)) for value in values if value is not None)
    return _EVENT_OVERHEAD_CHARS + len(message.content) + len(message.data or b"") + said


#: The most message data in a snapshot. Clients request older messages separately.
MAX_PAGE_CHARS: Final = 4 * 1024 * 1024

_BUILT_IN: Final = frozenset(MessageType)


def prepare_message(message: Message) -> Message:
    """Convert a message for views: to a built-in type, and without a picture's bytes.

    Args:
        message: The message. An extension's type is converted with `to_displayed_message`.
    """
    shown = to_built_in_message(message)
    return shown if shown.data is None else replace(shown, data=None)


def to_built_in_message(message: Message) -> Message:
    """A message of a type that each view knows.

    Args:
        message: The message. Its extension may be gone since it was kept: its text then stands alone.
    """
    if message.type in _BUILT_IN:
        return message
    try:
        return message_types.to_displayed_message(message)
    except ProtocolError:
        return Message(
            id=message.id,
            session_id=message.session_id,
            role=message.role,
            content=message.content or f"[{message.type}]",
            agent_name=message.agent_name,
            created_at=message.created_at,
            final=message.final,
        )


def select_newest(
    messages: Iterable[Message], max_chars: int = MAX_PAGE_CHARS
) -> tuple[Message, ...]:
    """The newest messages, made ready, as many as travel at once: one at least, and all that are open.

    Args:
        messages: Oldest first.
        max_chars: How much text and data they may have.
    """
    taken: list[Message] = []
    room = max_chars
    for message in reversed(list(messages)):
        told = prepare_message(message)
        room -= estimate_size(told)
        if room >= 0 or not taken or not message.final:
            taken.append(told)
    return tuple(reversed(taken))


class EventEncoder:
    """Converts one reader's events, in order.

    An incomplete message of an extension's type is sent whole each time, since an addition to it
    isn't an addition to its displayed form.
    """

    def __init__(self) -> None:
        self._open: dict[str, Message] = {}  # those of extensions' types

    def prepare(self, event: ChatEvent) -> ChatEvent:
        """An event, made ready.

        Args:
            event: As the session tells it.
        """
        match event:
            case ChatSessionSnapshot(messages=messages):
                self._open.clear()
                for message in messages:
                    self._follow(message)
                return replace(event, messages=select_newest(messages))
            case ChatMessageChanged(message=message):
                self._follow(message)
                return ChatMessageChanged(message=prepare_message(message))
            case ChatMessageDelta(message_id=id, text=text) if id in self._open:
                grown = replace(self._open[id], content=self._open[id].content + text)
                self._open[id] = grown
                return ChatMessageChanged(message=prepare_message(grown))
        return event

    def _follow(self, message: Message) -> None:
        if message.final:
            self._open.pop(message.id, None)
        elif message.type not in _BUILT_IN:
            self._open[message.id] = message
