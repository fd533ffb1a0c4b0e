"""What is said in answer to a message, as one who watches a session hears it. Without I/O."""

from __future__ import annotations

from typing import Final

from ..protocol.chat import (
    Begin,
    ChatEvent,
    Message,
    Said,
    SessionChanged,
    SessionInfo,
    SessionRemoved,
    State,
)

_USER: Final = "user"


class Replies:
    """Collects what follows a message, until it is a person's turn again.

    Args:
        message: The message, as it was answered to who sent it; or a CONFIRMATION with its choice.
    """

    def __init__(self, message: Message) -> None:
        self._message = message
        self._seen = False
        self._said: dict[str, Message] = {}

    @property
    def messages(self) -> list[Message]:
        """What was said so far, without what people said."""
        return [each for each in self._said.values() if each.role != _USER]

    def take(self, event: ChatEvent) -> bool:
        """Take in what the session tells.

        Args:
            event: What.

        Returns:
            Whether this was all: nobody answers any more, or another CONFIRMATION waits.
        """
        match event:
            case Begin(session=session, messages=messages):
                self._begin(messages)
                return self._rests(session)
            case Said(message=message):
                self._put(message)
            case SessionChanged(session=session):
                return self._rests(session)
            case SessionRemoved():
                return True
        return False

    def _begin(self, messages: tuple[Message, ...]) -> None:
        """How it is now: what isn't there any more was removed, or is older than what is told."""
        oldest = min((each.created_at for each in messages), default=0.0)
        self._said = {id: each for id, each in self._said.items() if each.created_at < oldest}
        if oldest > self._message.created_at:
            self._seen = True  # so much has followed it that it isn't among the newest any more
        for message in messages:
            if message.created_at >= self._message.created_at:
                self._put(message)

    def _put(self, message: Message) -> None:
        if message.id == self._message.id:
            # A confirmation is the same message before its choice was made.
            self._seen = self._seen or message.final
        elif self._seen:
            self._said[message.id] = message

    def _rests(self, session: SessionInfo) -> bool:
        if not self._seen:
            return False
        if session.waiting is not None:
            return session.waiting in self._said
        return session.state is not State.STATE_RUNNING
