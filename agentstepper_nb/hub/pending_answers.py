"""What an agent was asked about its halt points and hasn't answered yet."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from ..errors import ProtocolError

T = TypeVar("T")

_LOST: Final = "The agent disconnected before it answered. Try again once the agent is back."
_NO_REASON: Final = "The agent gave no reason. Look at its log."


class PendingAnswers(Generic[T]):
    """The requests of one kind to one agent.

    Args:
        new_id: Gives a new id.
        code: The error's code where there is no answer.
        timeout_s: Seconds to wait for each answer.
    """

    def __init__(self, new_id: Callable[[], str], code: str, timeout_s: float) -> None:
        self._new_id = new_id
        self._code = code
        self._timeout_s = timeout_s
        self._open: dict[str, asyncio.Future[T]] = {}

    async def request(self, send: Callable[[str], None]) -> T:
        """Ask the agent, and wait for its answer.

        Args:
            send: Sends the request by the id that it gets.

        Raises:
            ProtocolError: The agent refuses, didn't answer in time, or went away.
        """
        request = self._new_id()
        answered = self._open[request] = asyncio.get_running_loop().create_future()
        try:
            send(request)
            return await asyncio.wait_for(answered, self._timeout_s)
        except TimeoutError:
            late = (
                f"The agent didn't answer within {self._timeout_s:.0f} s. Its process may be busy: try "
                "again."
            )
            raise ProtocolError(self._code, late) from None
        finally:
            del self._open[request]

    def resolve(self, request: str, result: T | None, refusal: str | None) -> None:
        """The agent answered; nobody may wait for it any more."""
        answered = self._open.get(request)
        if answered is None or answered.done():
            return
        if result is not None:
            answered.set_result(result)
        else:
            answered.set_exception(ProtocolError(self._code, refusal or _NO_REASON))

    def end(self) -> None:
        """The agent is gone."""
        for answered in self._open.values():
            if not answered.done():
                answered.set_exception(ProtocolError(self._code, _LOST))
