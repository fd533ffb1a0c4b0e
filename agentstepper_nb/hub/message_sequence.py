"""What a session keeps of one agent's messages: which were taken, in which order, and which are kept.

The Core's questions of edits wait here for the messages that answer them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from msgspec import Raw

from ..errors import ProtocolError
from ..protocol.agent import CheckEdit, EditChecked

#: An acknowledgement is due after so many messages, so many bytes, or so many seconds.
MESSAGES: Final = 64
BYTES: Final = 1024 * 1024
SECONDS: Final = 0.25
#: Seconds that an agent has to say whether it takes an edit.
PATIENCE: Final = 10.0

_LATE: Final = (
    f"The agent hasn't said within {PATIENCE:.0f} s whether it can take this edit: try again, or step "
    "without it."
)
_LOST: Final = (
    "The agent was lost before it said whether it can take this edit: try again once it is back."
)


class MessageSequence:
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


class MessageTurns:
    """Does what messages ask for in their order: at once, or after what has to be read first.

    Args:
        refuse: Answers a message that can't be taken: the error, and the message.
    """

    def __init__(self, refuse: Callable[[Exception, str], None]) -> None:
        self._refuse = refuse
        self._held: list[tuple[str, Callable[[], None]]] | None = None

    def take(self, text: str, work: Callable[[], None]) -> None:
        """Do what a message asks for, in its turn; what that raises is the answer."""
        if self._held is not None:
            self._held.append((text, work))
            return
        try:
            work()
        except Exception as error:
            self._refuse(error, text)

    def hold(self, text: str, work: Callable[[], None]) -> None:
        """Do this, and all that comes after it, when it is said to go on."""
        self._held = [(text, work)]

    def go_on(self) -> None:
        """Do what was held."""
        held, self._held = self._held or [], None
        for text, work in held:
            self.take(text, work)


class AcknowledgementTimer:
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
        self._hurries = False
        self._over = False

    def acknowledge(self, n: int, size: int) -> None:
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
        if self._hurries or self._messages >= MESSAGES or self._bytes >= BYTES:
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

    def hurry(self) -> None:
        """From now on tell at once what is kept: the agent has said bye, and waits for it."""
        self._hurries = True

    def end(self) -> None:
        """Tell nothing any more: the connection is gone."""
        self._over = True
        self._disarm()

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class PendingEditChecks:
    """The questions to one agent that aren't answered yet.

    Args:
        new_id: Gives a new id.
        send: Sends the agent a question.
        patience: Seconds to wait for each answer.
    """

    def __init__(
        self,
        new_id: Callable[[], str],
        send: Callable[[CheckEdit], None],
        patience: float = PATIENCE,
    ) -> None:
        self._new_id = new_id
        self._send = send
        self._patience = patience
        self._open: dict[str, asyncio.Future[None]] = {}

    async def ask(self, halt_point: str, edit: str) -> None:
        """Ask the agent whether it takes an edit.

        Args:
            halt_point: The halt point, which waits.
            edit: JSON text.

        Raises:
            ProtocolError: `invalid_edit`: it doesn't, or didn't say.
        """
        check = self._new_id()
        answered = self._open[check] = asyncio.get_running_loop().create_future()
        try:
            self._send(CheckEdit(check=check, halt_point=halt_point, data=Raw(edit.encode())))
            await asyncio.wait_for(answered, self._patience)
        except TimeoutError:
            raise ProtocolError("invalid_edit", _LATE) from None
        finally:
            del self._open[check]

    def hear(self, answer: EditChecked) -> None:
        """The agent answered; nobody may wait for it any more."""
        answered = self._open.get(answer.check)
        if answered is None or answered.done():
            return
        if answer.refusal is None:
            answered.set_result(None)
        else:
            answered.set_exception(ProtocolError("invalid_edit", answer.refusal))

    def end(self) -> None:
        """The agent is gone."""
        for answered in self._open.values():
            if not answered.done():
                answered.set_exception(ProtocolError("invalid_edit", _LOST))
