"""Messages that are sent again, because who sent them never heard whether they came."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ..protocol.chat import Message

#: Keys that are known again, the newest.
MOST: Final = 256


class Sent:
    """Says what comes with a key once, however often it comes."""

    def __init__(self) -> None:
        self._messages: dict[tuple[str, str], Message] = {}  # oldest first

    def once(self, session: str, key: str | None, say: Callable[[], Message]) -> Message:
        """Say something, unless it was said.

        Args:
            session: Where.
            key: What tells it from all else that its sender sends; None: it is said in any case.
            say: Says it. What it refuses wasn't said, and may be tried again.

        Returns:
            The message, as it was said the first time.
        """
        if key is None:
            return say()
        known = self._messages.get((session, key))
        if known is None:
            known = self._messages[session, key] = say()
            if len(self._messages) > MOST:
                del self._messages[next(iter(self._messages))]
        return known
