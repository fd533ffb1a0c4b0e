"""What a stream gave, put together."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from ...protocol.chat import MAX_MESSAGE_LENGTH, Message, Piece
from ..connector import Replace
from .gathering import Gathering, Open


class Gathered:
    """What a stream gave, as whole messages, of which it keeps the newest.

    Args:
        most: Messages that are kept.
    """

    def __init__(self, most: int = MAX_MESSAGE_LENGTH) -> None:
        self._most = most
        self._pieces = Gathering("stream", None)
        self._messages: dict[str, Message | Open] = {}

    @property
    def messages(self) -> tuple[Message, ...]:
        """Each message in the order in which it began: whole, or as far as it has come."""
        return tuple(
            replace(each.whole(), final=False) if isinstance(each, Open) else each
            for each in self._messages.values()
        )

    def take(self, item: object) -> None:
        """Take an item in: a message, or a piece of one; what is neither is nothing here.

        Args:
            item: What the stream gave.
        """
        if isinstance(item, Message):
            self._put(item)
        elif isinstance(item, str | Piece | Replace | Mapping):
            for message in self._pieces.take(item):
                self._put(message)

    def close(self) -> None:
        """The stream is over."""
        for message in self._pieces.close():
            self._put(message)

    def _put(self, message: Message) -> None:
        if message.final:
            self._messages[message.id] = message
        else:
            known = self._messages.get(message.id)
            opened = known if isinstance(known, Open) else Open(replace(message, content=""))
            opened.grow(message.content)
            self._messages[message.id] = opened
        while len(self._messages) > self._most:
            del self._messages[next(iter(self._messages))]
