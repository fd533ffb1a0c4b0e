"""What is held of a conversation: its newest messages, of which an agent is given the last few."""

from __future__ import annotations

from ..protocol.chat import MAX_MESSAGE_LENGTH, WINDOW, Message


class Memory:
    """The newest messages of a session, in their order; the oldest go. The transcript keeps them all.

    Args:
        limit: How many are held.
        window: How many an agent is given before the one it answers.

    Raises:
        ValueError: One of them is less than 1, or the window larger than what is held.
    """

    def __init__(self, limit: int = MAX_MESSAGE_LENGTH, window: int = WINDOW) -> None:
        if not 1 <= window <= limit:
            raise ValueError(f"A window of {window} messages can't be given of {limit}.")
        self.limit = limit
        self.window = window
        self.dropped = 0
        self._messages: dict[str, Message] = {}  # in the order they first came
        # Of those that went before they were complete: what is told of them still is no new message.
        self._gone_open: set[str] = set()

    def __len__(self) -> int:
        return len(self._messages)

    @property
    def messages(self) -> tuple[Message, ...]:
        """Those held, oldest first."""
        return tuple(self._messages.values())

    @property
    def window_from(self) -> str | None:
        """The id of the first message that an agent would be given now; None where there is none."""
        given = self._last_final()
        return given[0].id if given else None

    def get(self, message_id: str) -> Message | None:
        """A message that is held; None where it isn't."""
        return self._messages.get(message_id)

    def put(self, message: Message) -> None:
        """Hold a message: a new one as the newest, else in the place of what was held of it.

        Args:
            message: As it is so far, whole.
        """
        if message.id in self._gone_open:
            if message.final:
                self._gone_open.discard(message.id)
            return
        self._messages[message.id] = message
        if len(self._messages) > self.limit:
            self._drop()

    def drop_oldest(self) -> None:
        """Let go of the oldest message: together they are too large to be held."""
        if self._messages:
            self._drop()

    def remove(self, message_id: str) -> None:
        """Let go of a message for good: a person took it out of the conversation."""
        self._messages.pop(message_id, None)

    def window_before(self, message_id: str) -> tuple[Message, ...]:
        """What an agent is given to a message: the last complete ones before it, oldest first.

        Args:
            message_id: The message; one that isn't held has all of them before it.
        """
        return self._last_final(message_id)

    def _last_final(self, before: str | None = None) -> tuple[Message, ...]:
        until = list(self._messages).index(before) if before in self._messages else None
        final = [message for message in self.messages[:until] if message.final]
        return tuple(final[-self.window :])

    def _drop(self) -> None:
        oldest = next(iter(self._messages.values()))
        del self._messages[oldest.id]
        self.dropped += 1
        if not oldest.final:
            self._gone_open.add(oldest.id)
