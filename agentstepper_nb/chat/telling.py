"""What a session tells, made ready for views: known types, no pictures' bytes, not too much at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from ..errors import ProtocolError
from ..protocol.chat import Begin, ChatEvent, Delta, Message, MessageType, Said
from . import kinds
from .feed import weight

#: How much of messages travels at once. Who wants older ones asks for them.
MOST: Final = 4 * 1024 * 1024

_BUILT_IN: Final = frozenset(MessageType)


def ready(message: Message) -> Message:
    """A message as views are told it: of a type that each one knows, and without a picture's bytes.

    Args:
        message: The message; one of an extension's type is told as the type it is shown as.
    """
    shown = known(message)
    return shown if shown.data is None else replace(shown, data=None)


def known(message: Message) -> Message:
    """A message of a type that each view knows.

    Args:
        message: The message. Its extension may be gone since it was kept: its text then stands alone.
    """
    if message.type in _BUILT_IN:
        return message
    try:
        return kinds.shown(message)
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


def newest(messages: Iterable[Message], most: int = MOST) -> tuple[Message, ...]:
    """The newest messages, made ready, as many as travel at once: one at least, and all that are open.

    Args:
        messages: Oldest first.
        most: How much they may weigh.
    """
    taken: list[Message] = []
    room = most
    for message in reversed(list(messages)):
        told = ready(message)
        room -= weight(told)
        if room >= 0 or not taken or not message.final:
            taken.append(told)
    return tuple(reversed(taken))


class Telling:
    """Makes one reader's events ready, in their order.

    An extension's message that is still open is told whole each time: what is added to it isn't what is
    added to what is shown for it.
    """

    def __init__(self) -> None:
        self._open: dict[str, Message] = {}  # those of extensions' types

    def ready(self, event: ChatEvent) -> ChatEvent:
        """An event, made ready.

        Args:
            event: As the session tells it.
        """
        match event:
            case Begin(messages=messages):
                self._open.clear()
                for message in messages:
                    self._follow(message)
                return replace(event, messages=newest(messages))
            case Said(message=message):
                self._follow(message)
                return Said(message=ready(message))
            case Delta(message_id=id, text=text) if id in self._open:
                grown = replace(self._open[id], content=self._open[id].content + text)
                self._open[id] = grown
                return Said(message=ready(grown))
        return event

    def _follow(self, message: Message) -> None:
        if message.final:
            self._open.pop(message.id, None)
        elif message.type not in _BUILT_IN:
            self._open[message.id] = message
