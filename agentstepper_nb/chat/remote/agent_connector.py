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
    """An agent whose answers come from a program outside of the chat.

    Args:
        name: The agent's name in its token.
        registration: The agent's own description.
    """

    def __init__(self, name: str, registration: ServeChatAgent) -> None:
        self.name = name
        self.role = registration.role
        self.agent_type = registration.type
        self.description = registration.description
        self._requests: deque[AgentTurnRequest] = deque()
        self._request_arrived = asyncio.Event()
        self._turns: dict[str, _PendingAnswer] = {}
        self._detached: asyncio.Future[AgentStepperError] = (
            asyncio.get_running_loop().create_future()
        )

    # ---- the interpreter's side ---------------------------------------------------------------------

    async def chat(self, message: Message, turn: Turn) -> AsyncGenerator[Item, None]:
        """Answer a message; see `InterpreterABC.chat`."""
        request = AgentTurnRequest(
            turn=str(uuid4()), message=prepare_message(message), window=select_newest(turn.window)
        )
        answering = self._turns[request.turn] = _PendingAnswer()
        self._send(request)
        try:
            while True:
                item, accepted = await self._wait_while_attached(answering.next())
                match item:
                    case AgentOutput(type=MessageType.CONFIRMATION.value):
                        asks = turn.confirm(
                            item.content, item.choices or ("Yes", "No"), details=item.details
                        )
                        _set_choice(accepted, await self._wait_while_attached(asks))
                    case AgentOutput():
                        yield item
                        _set_choice(accepted, None)
                    case AgentTurnEnded(error=error, handoff_agent=handoff_agent, text=text):
                        _set_choice(accepted, None)
                        if error is not None:
                            raise AgentStepperError(error or "The agent failed and gave no reason.")
                        if handoff_agent is not None:
                            yield Handoff(handoff_agent, text)
                        return
        finally:
            del self._turns[request.turn]
            if not answering.done:
                self._withdraw(request)
            answering.end()

    async def on_session_closed(self, session_id: str) -> None:
        """End the session's open requests after the session was closed."""
        self.detach(
            CommandError(
                "unknown_session",
                "The session is closed, so that the agent's question was not asked.",
            )
        )

    # ---- whoever attends ----------------------------------------------------------------------------

    async def read_turn_requests(self) -> AsyncGenerator[AgentTurnRequest, None]:
        """Yield the requests to this agent until another program connects as this agent."""
        while True:
            # It may be taken back before it is read.
            while not self._requests or self._detached.done():
                self._request_arrived.clear()
                await self._wait_while_attached(self._request_arrived.wait())
            yield self._requests.popleft()

    async def submit(self, turn: str, piece: AgentOutput) -> str | None:
        """Say some of an answer; done when the session has taken it.

        Args:
            turn: Which answer.
            piece: Some of it.

        Returns:
            The choice that a CONFIRMATION came to.

        Raises:
            CommandError: `unknown_turn`; `too_many`: one at a time is taken.
        """
        return await self._find_answer(turn).put(piece)

    async def end(self, turn_end: AgentTurnEnded) -> None:
        """End an answer. Errors as `submit`."""
        await self._find_answer(turn_end.turn).put(turn_end)

    def detach(self, error: AgentStepperError) -> None:
        """Nobody attends any more: the turn that is under way ends by an error. Idempotent.

        Args:
            error: The error.
        """
        if not self._detached.done():
            self._detached.set_result(error)

    # ---- inside -------------------------------------------------------------------------------------

    def _find_answer(self, turn: str) -> _PendingAnswer:
        answering = self._turns.get(turn)
        if answering is None:
            raise _make_unknown_turn_error()
        return answering

    def _send(self, request: AgentTurnRequest) -> None:
        self._requests.append(request)
        self._request_arrived.set()

    def _withdraw(self, request: AgentTurnRequest) -> None:
        """What nobody has read yet is as if it had never been asked."""
        if request in self._requests:
            self._requests.remove(request)
        else:
            self._send(replace(request, window=(), cancelled=True))

    async def _wait_while_attached(self, awaitable: Awaitable[T]) -> T:
        return await wait_or_raise(awaitable, self._detached)


async def wait_or_raise(
    awaitable: Awaitable[T], error_future: asyncio.Future[AgentStepperError]
) -> T:
    """Wait for something, or raise the error that comes before it, or with it.

    Args:
        awaitable: What is waited for; it is cancelled where the error comes.
        error_future: Comes to the error.
    """
    waiting = asyncio.ensure_future(awaitable)
    try:
        await asyncio.wait((waiting, error_future), return_when=asyncio.FIRST_COMPLETED)
        if error_future.done():
            raise error_future.result()
        return waiting.result()
    finally:
        if waiting.done() and not waiting.cancelled():
            waiting.exception()  # which isn't lost where both came at once
        elif not waiting.done():
            waiting.cancel()
            await asyncio.wait((waiting,))


class _PendingAnswer:
    """One answer, as it is given.

    Attributes:
        done: Whether its agent has ended it.
    """

    def __init__(self) -> None:
        self.done = False
        self._items: asyncio.Queue[tuple[AgentOutput | AgentTurnEnded, asyncio.Future[str | None]]]
        self._items = asyncio.Queue()
        self._accepted: asyncio.Future[str | None] | None = None  # of what is given just now
        self._has_ended = False

    async def put(self, item: AgentOutput | AgentTurnEnded) -> str | None:
        """Send an item, and wait until the item is received."""
        if self._has_ended or self.done:
            raise _make_unknown_turn_error()
        if self._accepted is not None and not self._accepted.done():
            raise CommandError(
                "too_many",
                "A piece of this turn is still being taken: wait for its answer before you "
                "send the next.",
            )
        self.done = isinstance(item, AgentTurnEnded)
        accepted: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._accepted = accepted
        self._items.put_nowait((item, accepted))
        return await accepted

    async def next(self) -> tuple[AgentOutput | AgentTurnEnded, asyncio.Future[str | None]]:
        """Return the next item, and the future to resolve when the item has been received."""
        return await self._items.get()

    def end(self) -> None:
        """Stop accepting items."""
        self._has_ended = True
        if self._accepted is not None and not self._accepted.done():
            self._accepted.set_exception(_make_unknown_turn_error())


def _set_choice(accepted: asyncio.Future[str | None], choice: str | None) -> None:
    if not accepted.done():  # who gave it may have gone
        accepted.set_result(choice)


def _make_unknown_turn_error() -> CommandError:
    return CommandError(
        "unknown_turn", "The turn is over or was stopped, and takes no more answers."
    )
