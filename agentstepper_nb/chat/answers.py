"""Waiting for what a session says, until it is a person's turn again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from ..errors import CommandError
from ..protocol.chat import (
    Begin,
    ChatEvent,
    Delta,
    Message,
    Said,
    SessionInfo,
    SessionRemoved,
    State,
)

if TYPE_CHECKING:
    from .interpreter import Interpreter


class Mirror:
    """A session as it is, readable from any thread without waiting.

    Args:
        interpreter: The interpreter, on whose loop this is made.
        session: The session's id.

    Attributes:
        info: The session, without its messages.
    """

    def __init__(self, interpreter: Interpreter, session: str) -> None:
        self._interpreter = interpreter
        self._session = session
        self.info: SessionInfo = interpreter.info(session)
        self.close: Callable[[], None] = interpreter.attach(session, self._receive)

    def _receive(self, event: ChatEvent) -> None:
        if not isinstance(event, Delta | SessionRemoved):
            self.info = self._interpreter.info(self._session)


class Answers:
    """Collects what is said in a session from now on, until it waits for a person.

    Args:
        interpreter: The interpreter, on whose loop this is.
        session: The session's id.
    """

    def __init__(self, interpreter: Interpreter, session: str) -> None:
        self._interpreter = interpreter
        self._session = session
        self._said: dict[str, Message] = {}
        self._changed = asyncio.Event()
        self._removed = False

    async def collect(self, begin: Callable[[], object]) -> list[Message]:
        """Wait until the session neither answers nor goes on by itself, or a CONFIRMATION waits.

        Cancelling it stops the turn.

        Args:
            begin: Begins what is waited for.

        Returns:
            What was said, each message as it is by then, without what people said.
        """
        detach = self._interpreter.attach(self._session, self._receive)
        try:
            begin()
            while not self._rests():
                self._changed.clear()
                await self._changed.wait()
        except asyncio.CancelledError:
            with suppress(CommandError):  # the session is gone already
                await self._interpreter.stop(self._session)
            raise
        finally:
            detach()
        return [message for message in self._said.values() if message.role != "user"]

    def _receive(self, event: ChatEvent) -> None:
        if isinstance(event, Said):
            self._said[event.message.id] = event.message
        elif isinstance(event, Begin):  # a person may have taken some out
            self._said = {id: said for id, said in self._said.items() if self._is_there(id)}
        elif isinstance(event, SessionRemoved):
            self._removed = True
        self._changed.set()

    def _is_there(self, message_id: str) -> bool:
        try:
            self._interpreter.message(self._session, message_id)
        except CommandError:
            return False
        return True

    def _rests(self) -> bool:
        return self._removed or rests(self._interpreter, self._session)


def rests(interpreter: Interpreter, session: str) -> bool:
    """Whether it is a person's turn in a session: nobody answers or goes on, or a CONFIRMATION waits. So
    it is in one that is gone.

    Args:
        interpreter: The interpreter, on whose loop this is.
        session: The session's id.
    """
    try:
        info = interpreter.info(session)
    except CommandError:  # it was removed
        return True
    return info.waiting is not None or info.state is not State.STATE_RUNNING
