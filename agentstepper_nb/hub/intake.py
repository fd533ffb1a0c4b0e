"""Which of an agent's messages were taken, and when it is told that they are kept."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from ..errors import ProtocolError

#: An acknowledgement is due after so many messages, so many bytes, or so many seconds.
MESSAGES: Final = 64
BYTES: Final = 1024 * 1024
SECONDS: Final = 0.25


class Intake:
    """The numbers of one agent's messages: each is taken once, and none is left out.

    Args:
        heard: The number of the last one that was taken.
    """

    def __init__(self, heard: int = 0) -> None:
        self.heard = heard
        self._unread = 0  # messages since then whose numbers couldn't be read

    def takes(self, n: int) -> bool:
        """Whether a message is new; then it is taken.

        Raises:
            ProtocolError: `invalid_message`: those before it didn't come.
        """
        if n <= self.heard:
            return False
        if n > self.heard + 1 + self._unread:
            raise ProtocolError(
                "invalid_message",
                f"Message {n} came after {self.heard}: send those between them first, in order.",
            )
        self.heard, self._unread = n, 0
        return True

    def refused(self, n: int | None) -> bool:
        """Whether a message that couldn't be decoded is new; then it is taken, as far as it can be.

        Args:
            n: Its number, where that could be read.
        """
        if n is not None and self.heard < n <= self.heard + 1 + self._unread:
            self.heard, self._unread = n, 0
            return True
        self._unread += 1
        return False


class Turns:
    """Does what messages ask for in their order: at once, or after what has to be read first.

    Args:
        refuse: Answers a message that waited and can't be taken: the error, and the message.
    """

    def __init__(self, refuse: Callable[[Exception, str], None]) -> None:
        self._refuse = refuse
        self._held: list[tuple[str, Callable[[], None]]] | None = None

    def take(self, text: str, work: Callable[[], None]) -> None:
        """Do what a message asks for, in its turn."""
        if self._held is None:
            work()
        else:
            self._held.append((text, work))

    def hold(self, text: str, work: Callable[[], None]) -> None:
        """Do this, and all that comes after it, when it is said to go on."""
        self._held = [(text, work)]

    def go_on(self) -> None:
        """Do what was held."""
        held, self._held = self._held or [], None
        for text, work in held:
            try:
                self.take(text, work)
            except Exception as error:
                self._refuse(error, text)


class Acknowledgements:
    """Tells an agent up to where its messages are kept: rarely, and always before the end.

    Args:
        send: Sends it one.
    """

    def __init__(self, send: Callable[[int], None]) -> None:
        self._send = send
        self._kept = 0
        self._told = 0
        self._messages = 0  # since the last one
        self._bytes = 0
        self._timer: asyncio.TimerHandle | None = None
        self._over = False

    def kept(self, n: int, size: int) -> None:
        """A message is kept for good.

        Args:
            n: Its number.
            size: Its size in characters.
        """
        self._kept = max(self._kept, n)
        self._messages += 1
        self._bytes += size
        if self._over:
            return
        if self._messages >= MESSAGES or self._bytes >= BYTES:
            self.now()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(SECONDS, self.now)

    def now(self) -> None:
        """Tell what hasn't been told."""
        self._disarm()
        self._messages = self._bytes = 0
        if self._kept > self._told and not self._over:
            self._told = self._kept
            self._send(self._kept)

    def end(self) -> None:
        """Tell nothing any more: the connection is gone."""
        self._over = True
        self._disarm()

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
