"""The messages of a session: the newest are held in memory, all are in the transcript."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from ..errors import CommandError
from ..protocol.chat import (
    DEFAULT_WINDOW_MESSAGES,
    MAX_MESSAGE_LENGTH,
    ChatEvent,
    ChatMessageChanged,
    ChatMessageDelta,
    Message,
    MessageType,
)
from .transcripts import ChatTranscript


class Memory:
    """The newest messages of a session, in order; the transcript stores all of them.

    Args:
        limit: The most messages held.
        window: The most earlier messages that an agent gets with the message that it answers.

    Raises:
        ValueError: `window` is less than 1 or larger than `limit`.
    """

    def __init__(
        self, limit: int = MAX_MESSAGE_LENGTH, window: int = DEFAULT_WINDOW_MESSAGES
    ) -> None:
        if not 1 <= window <= limit:
            raise ValueError(f"The window can't be {window} messages: choose 1 to {limit}.")
        self.limit = limit
        self.window = window
        self._messages: dict[str, Message] = {}  # in the order they first came
        # Messages dropped before they were complete: a later part must not appear as a new message.
        self._dropped_partial_ids: set[str] = set()

    def __len__(self) -> int:
        return len(self._messages)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages held, oldest first."""
        return tuple(self._messages.values())

    @property
    def window_from(self) -> str | None:
        """The id of the window's first message, for a message added now; None: the window is empty."""
        given = self.window_before()
        return given[0].id if given else None

    def get(self, message_id: str) -> Message | None:
        """Return a message by its id; None: the message isn't held."""
        return self._messages.get(message_id)

    def put(self, message: Message) -> None:
        """Store a message. A new message becomes the newest; a known message replaces its earlier state.

        Args:
            message: The whole message in its present state.
        """
        if message.id in self._dropped_partial_ids:
            if message.final:
                self._dropped_partial_ids.discard(message.id)
            return
        self._messages[message.id] = message
        if len(self._messages) > self.limit:
            self.drop_oldest()

    def drop_oldest(self) -> None:
        """Drop the oldest message."""
        oldest = next(iter(self._messages.values()))
        del self._messages[oldest.id]
        if not oldest.final:
            self._dropped_partial_ids.add(oldest.id)

    def remove(self, message_id: str) -> None:
        """Remove a message for good: a person deleted it from the conversation."""
        self._messages.pop(message_id, None)

    def window_before(self, message_id: str | None = None) -> tuple[Message, ...]:
        """Return the window of a message: the last complete messages before the message, oldest first.

        Args:
            message_id: The message's id. An id that isn't held, and None, stand for a message after all
                messages held.
        """
        held: list[str | None] = list(self._messages)
        until = held.index(message_id) if message_id in held else None
        final = [message for message in self.messages[:until] if message.final]
        return tuple(final[-self.window :])


class SessionMessages:
    """The messages of a session: adds, finds and removes messages in memory and in the transcript.

    Args:
        memory: Holds the newest messages.
        transcript: Stores all messages.
        notify: Sends an event to the session's listeners.
        on_write_failure: Called with the first error of writing the transcript, and never again.
        max_cached_bytes: The most memory of messages, as `estimate_memory_bytes` counts. The messages of
            one window are held even if they are larger.
    """

    def __init__(
        self,
        memory: Memory,
        transcript: ChatTranscript,
        notify: Callable[[ChatEvent], None],
        on_write_failure: Callable[[OSError], None],
        max_cached_bytes: int,
    ) -> None:
        self._max_cached_bytes = max_cached_bytes
        self.memory = memory
        self.transcript = transcript
        self._notify = notify
        self._on_write_failure = on_write_failure
        self._has_failed = False
        #: The new parts of incomplete messages, by id. Parts are joined when a message is read.
        self._open_messages: dict[str, list[str]] = {}

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages in memory, oldest first, with all parts received so far."""
        for message_id, parts in self._open_messages.items():
            self._join(message_id, parts)
        return self.memory.messages

    def window_for(self, message: Message) -> tuple[Message, ...]:
        """Return the messages that an agent gets with the message that it answers.

        Args:
            message: The message to answer. The newest message gets the window before it. An older
                message, which was handed to another agent, also gets the messages after it.
        """
        if message.id == next(reversed(self.memory.messages), message).id:
            return self.memory.window_before(message.id)
        beside = [each for each in self.messages if each.final and each.id != message.id]
        return tuple(beside[-self.memory.window :])

    def find(self, message_id: str) -> Message:
        """Return a message from memory or the transcript, with all parts received so far.

        Raises:
            CommandError: `unknown_message_id`: the session has no such message.
        """
        self._join(message_id, self._open_messages.get(message_id, []))
        found = self.memory.get(message_id) or self.transcript.read(message_id)
        if found is None:
            raise CommandError(
                "unknown_message_id", f"This conversation has no message {message_id[:100]!r}."
            )
        return found

    def add(self, message: Message) -> bool:
        """Add a message, or a part of a message, from `MessageBuilder`, and notify the listeners.

        Args:
            message: A complete message, the beginning of a message, or the next part of its content.

        Returns:
            False for the next part of a message that has begun; True otherwise.
        """
        parts = self._open_messages.get(message.id)
        if not message.final and parts is not None:
            parts.append(message.content)
            self._notify(
                ChatMessageDelta(
                    session_id=message.session_id, message_id=message.id, text=message.content
                )
            )
            return False
        if message.final:
            self._open_messages.pop(message.id, None)
        else:
            self._open_messages[message.id] = []
        if self.memory.get(message.id) is not None or message.id not in self.transcript:
            self.memory.put(message)  # otherwise an old message is edited that memory dropped
        self._drop_over_limit()
        error = None
        if message.final or message.type == MessageType.CONFIRMATION:
            error = _catch_os_error(lambda: self.transcript.record_message(message))
        self._notify(ChatMessageChanged(message=message))
        self._report_failure(error)
        return True

    def remove(self, removed_ids: Iterable[str]) -> None:
        """Remove messages from memory and the transcript."""
        ids = tuple(removed_ids)
        for message_id in ids:
            self._open_messages.pop(message_id, None)
            self.memory.remove(message_id)
        self.write_transcript(lambda: self.transcript.record_removal(ids))

    def write_transcript(self, write: Callable[[], None]) -> None:
        """Write to the transcript. A failure is reported, and the conversation continues."""
        self._report_failure(_catch_os_error(write))

    def _report_failure(self, error: OSError | None) -> None:
        if error is not None and not self._has_failed:
            self._has_failed = True
            self._on_write_failure(error)

    def _drop_over_limit(self) -> None:
        """Drop the oldest messages while all together take more than `max_cached_bytes`."""
        held = sum(map(estimate_memory_bytes, self.memory.messages))
        while held > self._max_cached_bytes and len(self.memory) > self.memory.window:
            held -= estimate_memory_bytes(self.memory.messages[0])
            self.memory.drop_oldest()

    def _join(self, message_id: str, parts: list[str]) -> None:
        message = self.memory.get(message_id)
        if parts and message is not None:
            self.memory.put(replace(message, content="".join((message.content, *parts))))
            parts.clear()


def estimate_memory_bytes(message: Message) -> int:
    """Estimate a message's memory: the characters of its content plus the bytes of its data."""
    return len(message.content) + len(message.data or b"")


def _catch_os_error(write: Callable[[], None]) -> OSError | None:
    try:
        write()
    except OSError as error:
        return error
    return None
