"""An agent that answers from outside: here it is a connector like others."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable
from typing import TypeVar
from uuid import uuid4

from msgspec.structs import replace

from ...errors import AgentStepperError, CommandError
from ...protocol.chat import (
    AgentOutput,
    AgentTurnEnded,
    AgentTurnRequest,
    Message,
    MessageType,
    ServeChatAgent,
)
from ..connector import Handoff, InterpreterABC, Item, Turn
from ..event_feed import prepare_message, select_newest

T = TypeVar("T")


class RemoteAgent(InterpreterABC):
    """Asks whoever attends, and says what is given.

    Args:
        name: What its token calls it.
        attend: What it says of itself.
    """

    def __init__(self, name: str, attend: ServeChatAgent) -> None:
        self.name = name
        self.role = attend.role
        self.agent_type = attend.type
        self.description = attend.description
        self._asking: deque[AgentTurnRequest] = deque()
        self._there = asyncio.Event()
        self._turns: dict[str, _Answering] = {}
        self._gone: asyncio.Future[AgentStepperError] = asyncio.get_running_loop().create_future()

    # ---- the interpreter's side ---------------------------------------------------------------------

    async def chat(self, message: Message, turn: Turn) -> AsyncGenerator[Item, None]:
        """Answer a message; see `InterpreterABC.chat`."""
        asked = AgentTurnRequest(
            turn=str(uuid4()), message=prepare_message(message), window=select_newest(turn.window)
        )
        answering = self._turns[asked.turn] = _Answering()
        self._tell(asked)
        try:
            while True:
                given, taken = await self._unless_gone(answering.next())
                match given:
                    case AgentOutput(type=MessageType.CONFIRMATION.value):
                        asks = turn.confirm(
                            given.content, given.choices or ("Yes", "No"), details=given.details
                        )
                        _settle(taken, await self._unless_gone(asks))
                    case AgentOutput():
                        yield given
                        _settle(taken, None)
                    case AgentTurnEnded(error=error, hand_on=hand_on, text=text):
                        _settle(taken, None)
                        if error is not None:
                            raise AgentStepperError(error or "It failed, and says no more.")
                        if hand_on is not None:
                            yield Handoff(hand_on, text)
                        return
        finally:
            del self._turns[asked.turn]
            if not answering.done:
                self._take_back(asked)
            answering.end()

    async def ended(self, session_id: str) -> None:
        """The session was closed: nobody is asked any more."""
        self.leave(CommandError("unknown_session", "The session is closed, and asks no more."))

    # ---- whoever attends ----------------------------------------------------------------------------

    async def asked(self) -> AsyncGenerator[AgentTurnRequest, None]:
        """What is to be answered, as it comes, until somebody else attends as this agent."""
        while True:
            while not self._asking or self._gone.done():  # it may be taken back before it is read
                self._there.clear()
                await self._unless_gone(self._there.wait())
            yield self._asking.popleft()

    async def give(self, turn: str, piece: AgentOutput) -> str | None:
        """Say some of an answer; done when the session has taken it.

        Args:
            turn: Which answer.
            piece: Some of it.

        Returns:
            The choice that a CONFIRMATION came to.

        Raises:
            CommandError: `unknown_turn`; `too_many`: one at a time is taken.
        """
        return await self._answering(turn).put(piece)

    async def end(self, done: AgentTurnEnded) -> None:
        """End an answer. Errors as `give`."""
        await self._answering(done.turn).put(done)

    def leave(self, why: AgentStepperError) -> None:
        """Nobody attends any more: the turn that is under way ends by an error. Idempotent.

        Args:
            why: The error.
        """
        if not self._gone.done():
            self._gone.set_result(why)

    # ---- inside -------------------------------------------------------------------------------------

    def _answering(self, turn: str) -> _Answering:
        answering = self._turns.get(turn)
        if answering is None:
            raise _over()
        return answering

    def _tell(self, asked: AgentTurnRequest) -> None:
        self._asking.append(asked)
        self._there.set()

    def _take_back(self, asked: AgentTurnRequest) -> None:
        """What nobody has read yet is as if it had never been asked."""
        if asked in self._asking:
            self._asking.remove(asked)
        else:
            self._tell(replace(asked, window=(), cancelled=True))

    async def _unless_gone(self, waits: Awaitable[T]) -> T:
        return await wait_or_raise(waits, self._gone)


async def wait_or_raise(waits: Awaitable[T], over: asyncio.Future[AgentStepperError]) -> T:
    """Wait for something, or raise the error that comes before it, or with it.

    Args:
        waits: What is waited for; it is cancelled where the error comes.
        over: Comes to the error.
    """
    waiting = asyncio.ensure_future(waits)
    try:
        await asyncio.wait((waiting, over), return_when=asyncio.FIRST_COMPLETED)
        if over.done():
            raise over.result()
        return waiting.result()
    finally:
        if waiting.done() and not waiting.cancelled():
            waiting.exception()  # which isn't lost where both came at once
        elif not waiting.done():
            waiting.cancel()
            await asyncio.wait((waiting,))


class _Answering:
    """One answer, as it is given.

    Attributes:
        done: Whether its agent has ended it.
    """

    def __init__(self) -> None:
        self.done = False
        self._given: asyncio.Queue[tuple[AgentOutput | AgentTurnEnded, asyncio.Future[str | None]]]
        self._given = asyncio.Queue()
        self._taken: asyncio.Future[str | None] | None = None  # of what is given just now
        self._over = False

    async def put(self, given: AgentOutput | AgentTurnEnded) -> str | None:
        """Give something, and wait until it is taken."""
        if self._over or self.done:
            raise _over()
        if self._taken is not None and not self._taken.done():
            raise CommandError("too_many", "Give one piece at a time: wait until it is answered.")
        self.done = isinstance(given, AgentTurnEnded)
        taken: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._taken = taken
        self._given.put_nowait((given, taken))
        return await taken

    async def next(self) -> tuple[AgentOutput | AgentTurnEnded, asyncio.Future[str | None]]:
        """What is given next, and what is to be settled once it was taken."""
        return await self._given.get()

    def end(self) -> None:
        """Nothing is taken any more."""
        self._over = True
        if self._taken is not None and not self._taken.done():
            self._taken.set_exception(_over())


def _settle(taken: asyncio.Future[str | None], choice: str | None) -> None:
    if not taken.done():  # who gave it may have gone
        taken.set_result(choice)


def _over() -> CommandError:
    return CommandError(
        "unknown_turn", "No answer is wanted for this turn any more: it was stopped, or has ended."
    )
