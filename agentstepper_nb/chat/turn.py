"""A turn: a message is answered, by one agent or by several that hand it on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Final

from msgspec.structs import replace

from ..errors import CommandError
from ..llm_wire.answer_builder import replace_surrogates
from ..protocol.chat import Message, TurnEnding
from . import message_types
from .agent_reply import AgentReply
from .backend import UserInput
from .connector import InterpreterABC
from .item_sources import is_task_cancelled
from .memory import estimate_memory_bytes
from .message_builder import MAX_CONTENT_CHARS
from .session import ChatSession
from .session_agents import HandoffChain, explain_error, is_agent_stopped

#: The number of cancellations until a turn is abandoned.
MAX_CANCEL_ATTEMPTS: Final = 2


class RunningTurn:
    """A running turn of a session. The turn ends exactly once, even if its agents fail.

    Args:
        session: The session.
        message: The message to answer, which was already added.
        agent: The agent that answers.
        is_continuation: Whether AutoChat sent the message.
        ended: Called once the turn has ended and the session is in STATE_STOP.
    """

    def __init__(
        self,
        session: ChatSession,
        message: Message,
        agent: InterpreterABC,
        ended: Callable[[RunningTurn], None],
        *,
        is_continuation: bool = False,
    ) -> None:
        self.session = session
        self.agent = agent
        self.had_confirmation = False
        self._message = message
        self._is_continuation = is_continuation
        self._on_end = ended
        self._outputs: list[TurnOutput] = []
        self._reply: AgentReply | None = None
        self._has_ended = False
        name = f"chat session {session.id}"
        # In the interpreter's own context: what surrounds who said something isn't the turn's.
        self._task = asyncio.create_task(
            self._run(), name=name, context=session.config.context.copy()
        )
        self._task.add_done_callback(lambda _: self._finish(TurnEnding.STOPPED))

    def open_output(self) -> TurnOutput:
        """Return the turn's messages from now on."""
        open_output = TurnOutput(self.cancel, self.session.config.limits.max_unread_bytes)
        self._outputs.append(open_output)
        return open_output

    def post(self, message: Message) -> None:
        """Add a message. Ignored after the turn's end."""
        if self._has_ended:
            return
        self.session.post(message)
        for open_output in self._outputs:
            open_output.put(message)

    def cancel(self) -> None:
        """End it, as soon as it lets itself be ended: what it does at its end isn't disturbed."""
        if not self._task.cancelling():
            self._task.cancel()

    async def stop(self, grace_s: float | None = None) -> None:
        """End it, and wait until it has; one that doesn't end is left alone, and says nothing more.

        Args:
            grace_s: Seconds that it has to end, each time it is cancelled; None: by the limits.
        """
        self.cancel()
        if self._task is asyncio.current_task():
            return
        grace = self.session.config.limits.turn_grace_s if grace_s is None else grace_s
        for _ in range(MAX_CANCEL_ATTEMPTS):
            if (await asyncio.wait({self._task}, timeout=grace))[0]:
                break
            self._task.cancel()
        else:
            self.session.config.log.error(
                "chat session %s: its turn ignores the cancellation and is left running",
                self.session.id,
            )
        self._finish(TurnEnding.STOPPED)

    async def _run(self) -> None:
        try:
            await self._answer()
        except BaseException as error:
            self._finish(await self._failed(error))
        else:  # an agent may go on to its end over being cancelled
            self._finish(TurnEnding.STOPPED if is_task_cancelled() else TurnEnding.DONE)

    async def _answer(self) -> None:
        agent = self.agent
        handoffs = HandoffChain(self.session.agents, self.agent)
        message, is_continuation = self._message, self._is_continuation
        await self.session.recording.begin_turn()
        while True:
            part = self._reply = AgentReply(
                self.session, agent, message, self.post, is_continuation=is_continuation
            )
            try:
                handoff = await part.run()
            finally:
                self.had_confirmation = self.had_confirmation or part.had_confirmation
            if handoff is None or self._has_ended or is_task_cancelled():
                return
            agent, is_continuation = handoffs.follow(agent, handoff), False
            if handoff.text is not None:
                message = message_types.check_message(part.make_message(handoff.text))
                self.post(message)

    async def _failed(self, error: BaseException) -> TurnEnding:
        if self._has_ended or is_task_cancelled():
            if isinstance(error, Exception):
                self.session.config.log.warning(
                    "%s failed as it was stopped.", self.agent.name, exc_info=error
                )
            return TurnEnding.STOPPED
        if is_agent_stopped(error):
            await self.session.recording.end_stopped_run()
            return TurnEnding.STOPPED
        # A person reads it in the conversation; where the code failed, who wants to know.
        self.session.config.log.info("A turn of %s failed.", self.agent.name, exc_info=error)
        self.post(self.session.message("system", explain_error(error), format="error"))
        return TurnEnding.ERROR

    def _finish(self, ending: TurnEnding) -> None:
        if self._has_ended:
            return
        if self._reply is not None:
            self._reply.close()
        self._has_ended = True
        if ending is not TurnEnding.DONE:
            self.session.recording.withdraw()
        self.session.end_turn(ending)
        for open_output in self._outputs:
            open_output.end()
        self._reply, self._outputs = None, []
        self._on_end(self)


#: The size of an unread message in addition to its characters and bytes.
_MESSAGE_OVERHEAD_BYTES: Final = 500


class TurnOutput:
    """An async iterator of a turn's messages: parts with `final` false, then each complete message.

    Unread parts are merged, and a complete message replaces its unread parts, so that a slow reader
    delays nothing and costs little memory. Must be used on the interpreter's event loop.

    Args:
        cancel: Ends the turn.
        max_unread_bytes: The most characters and bytes of unread messages; above the limit, the oldest
            messages are dropped.
    """

    def __init__(self, cancel: Callable[[], None], max_unread_bytes: int) -> None:
        self._cancel = cancel
        self._max_unread_bytes = max_unread_bytes
        self._unread: dict[str, list[Message]] = {}  # a whole one, or pieces; by the message's id
        self._unread_bytes = 0
        self._has_ended = False
        self._unread_arrived = asyncio.Event()

    # ---- the turn's side ----------------------------------------------------------------------------

    def put(self, message: Message) -> None:
        """Add a message."""
        if self._has_ended:
            return
        pieces = self._unread.setdefault(message.id, [])
        if message.final:
            self._unread_bytes -= _estimate_unread_bytes(pieces)
            pieces.clear()
        self._unread_bytes += (
            estimate_memory_bytes(message) if pieces else _estimate_unread_bytes([message])
        )
        pieces.append(message)
        while self._unread_bytes > self._max_unread_bytes and len(self._unread) > 1:
            self._take_unread()
        self._unread_arrived.set()

    def end(self) -> None:
        """End the output after the turn's end. Unread messages can still be read. Idempotent."""
        self._has_ended = True
        self._unread_arrived.set()

    # ---- the reader's -------------------------------------------------------------------------------

    def __aiter__(self) -> AsyncIterator[Message]:
        return self

    async def __anext__(self) -> Message:
        while not self._unread:
            if self._has_ended:
                raise StopAsyncIteration
            self._unread_arrived.clear()
            await self._unread_arrived.wait()
        pieces = self._take_unread()
        if len(pieces) == 1:
            return pieces[0]
        return replace(pieces[0], content="".join(each.content for each in pieces))

    async def aclose(self) -> None:
        """Nobody wants the rest: the turn ends, where it hasn't. Idempotent."""
        over = self._has_ended
        self._unread.clear()
        self.end()
        if not over:
            self._cancel()

    def _take_unread(self) -> list[Message]:
        pieces = self._unread.pop(next(iter(self._unread)))
        self._unread_bytes -= _estimate_unread_bytes(pieces)
        return pieces


def _estimate_unread_bytes(pieces: Sequence[Message]) -> int:
    return _MESSAGE_OVERHEAD_BYTES + sum(map(estimate_memory_bytes, pieces)) if pieces else 0


def make_user_message(message: str | UserInput | Message, session: ChatSession) -> Message:
    """Convert a user's input to a message of a session.

    Args:
        message: A text, a text with the name of an agent, or a message of any type.
        session: The session.

    Raises:
        ProtocolError: `invalid_message`: the input isn't a valid message.
    """
    if isinstance(message, Message):
        new = session.message("user")
        own = {"id": new.id, "session_id": new.session_id, "created_at": new.created_at}
        return message_types.check_message(replace(message, role="user", final=True, **own))
    if isinstance(message, str):
        message = UserInput(content=message)
    said = session.message("user", message.content, agent_name=message.agent_name)
    return message_types.check_message(said)


def make_continuation(agent: InterpreterABC, session: ChatSession) -> Message:
    """Make the interpreter's message that tells an agent to continue.

    Args:
        agent: The agent.
        session: The session.
    """
    prompt = replace_surrogates(agent.continuation_prompt or "")[:MAX_CONTENT_CHARS]
    return session.message("system", prompt, agent_name=agent.name)


def find_next_agent(session: ChatSession) -> InterpreterABC:
    """Find the agent that AutoChat continues: the agent that the last turn's message was for.

    If a SUPERVISOR handed off, AutoChat continues the SUPERVISOR, which sees the result and decides.

    Raises:
        CommandError: `unknown_agent`: the agent was removed.
    """
    turn = session.last_turn
    if turn is not None and turn.agent in session.agents:
        return turn.agent
    return session.agents.find_agent(None)


def find_continuation_refusal(session: ChatSession) -> str | None:
    """Why a session may not go on by itself now; None where it may."""
    states, turn = session.states, session.last_turn
    why = session.auto.may_continue(
        states.state, states.ending, turn is not None and turn.had_confirmation
    )
    if why is not None:
        return why
    try:
        agent = find_next_agent(session)
    except CommandError as error:
        return error.message
    prompt: object = agent.continuation_prompt
    if not isinstance(prompt, str) or not prompt.strip():
        return f"{agent.name} has nothing to continue: write a message yourself"
    return None
