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
MAX_UNACKNOWLEDGED_MESSAGES: Final = 64
MAX_UNACKNOWLEDGED_BYTES: Final = 1024 * 1024
MAX_DELAY_S: Final = 0.25
#: Seconds that an agent has to say whether it takes an edit.
EDIT_CHECK_TIMEOUT_S: Final = 10.0

_LATE: Final = (
    f"The agent didn't say within {EDIT_CHECK_TIMEOUT_S:.0f} s whether it accepts this "
    "edit. Try again, or step without the edit."
)
_LOST: Final = (
    "The agent disconnected before it said whether it accepts this edit. Try again once "
    "the agent is back."
)


class MessageSequence:
    """The numbers of one agent's messages: each is taken once, and none is left out.

    Args:
        last_received: The number of the last one that was taken.
    """

    def __init__(self, last_received: int = 0) -> None:
        self.last_received = last_received
        self._unread = 0  # messages since then whose numbers couldn't be read

    def accept(self, n: int) -> bool:
        """Whether a message is new; then it is taken.

        Raises:
            ProtocolError: `invalid_message`: those before it didn't come.
        """
        if n <= self.last_received:
            return False
        if n > self.last_received + 1 + self._unread:
            raise ProtocolError(
                "invalid_message",
                f"Message {n} came after message {self.last_received}. Send the messages "
                "between them first, in order.",
            )
        self.last_received, self._unread = n, 0
        return True

    def accept_unreadable(self, n: int | None) -> bool:
        """Whether a message that couldn't be decoded is new; then it is taken, as far as it can be.

        Args:
            n: Its number, where that could be read.
        """
        if n is not None and self.last_received < n <= self.last_received + 1 + self._unread:
            self.last_received, self._unread = n, 0
            return True
        self._unread += 1
        return False


class MessageQueue:
    """Does what messages ask for in their order: at once, or after what has to be read first.

    Args:
        refuse: Answers a message that can't be taken: the error, and the message.
    """

    def __init__(self, refuse: Callable[[Exception, str], None]) -> None:
        self._refuse = refuse
        self._deferred: list[tuple[str, Callable[[], None]]] | None = None

    def process(self, text: str, work: Callable[[], None]) -> None:
        """Do what a message asks for, in its turn; what that raises is the answer."""
        if self._deferred is not None:
            self._deferred.append((text, work))
            return
        try:
            work()
        except Exception as error:
            self._refuse(error, text)

    def defer(self, text: str, work: Callable[[], None]) -> None:
        """Do this, and all that comes after it, when it is said to go on."""
        self._deferred = [(text, work)]

    def resume(self) -> None:
        """Do what was held."""
        deferred, self._deferred = self._deferred or [], None
        for text, work in deferred:
            self.process(text, work)


class AcknowledgementTimer:
    """Tells an agent up to where its messages are kept: rarely, and always before the end.

    Args:
        send: Sends it one.
    """

    def __init__(self, send: Callable[[int], None]) -> None:
        self._send = send
        self._recorded = 0
        self._acknowledged = 0
        self._messages = 0  # since the last one
        self._bytes = 0
        self._timer: asyncio.TimerHandle | None = None
        self._is_immediate = False
        self._is_ended = False

    def acknowledge(self, n: int, size: int) -> None:
        """A message is kept for good.

        Args:
            n: Its number.
            size: Its size in characters.
        """
        self._recorded = max(self._recorded, n)
        self._messages += 1
        self._bytes += size
        if self._is_ended:
            return
        if (
            self._is_immediate
            or self._messages >= MAX_UNACKNOWLEDGED_MESSAGES
            or self._bytes >= MAX_UNACKNOWLEDGED_BYTES
        ):
            self.flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(MAX_DELAY_S, self.flush)

    def flush(self) -> None:
        """Tell what hasn't been told."""
        self._disarm()
        self._messages = self._bytes = 0
        if self._recorded > self._acknowledged and not self._is_ended:
            self._acknowledged = self._recorded
            self._send(self._recorded)

    def set_immediate(self) -> None:
        """From now on tell at once what is kept: the agent has said bye, and waits for it."""
        self._is_immediate = True

    def end(self) -> None:
        """Tell nothing any more: the connection is gone."""
        self._is_ended = True
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
        timeout_s: Seconds to wait for each answer.
    """

    def __init__(
        self,
        new_id: Callable[[], str],
        send: Callable[[CheckEdit], None],
        timeout_s: float = EDIT_CHECK_TIMEOUT_S,
    ) -> None:
        self._new_id = new_id
        self._send = send
        self._timeout_s = timeout_s
        self._open: dict[str, asyncio.Future[None]] = {}

    async def request_check(self, halt_point: str, edit: str) -> None:
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
            await asyncio.wait_for(answered, self._timeout_s)
        except TimeoutError:
            raise ProtocolError("invalid_edit", _LATE) from None
        finally:
            del self._open[check]

    def resolve(self, answer: EditChecked) -> None:
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
