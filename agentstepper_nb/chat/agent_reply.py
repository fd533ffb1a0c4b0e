"""An agent's part of a turn: it is given a message, in the debugger where there is one, and answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ..errors import CommandError, ProtocolError
from ..protocol.chat import AgentOutput, ChatAgentPhase, Message, MessageType
from . import outputs
from .answer_adapter import iterate_answer
from .connector import Handoff, InterpreterABC, Turn
from .item_sources import END_OF_ITEMS, is_task_cancelled
from .memory import estimate_memory_bytes
from .message_builder import MessageBuilder, is_content_empty, to_agent_output
from .session import ChatSession, PendingConfirmation
from .session_agents import explain_error, is_agent_stopped
from .turn_json import (
    AgentAnswer,
    TurnInput,
    decode_agent_answer,
    decode_turn_input,
    encode_agent_answer,
    encode_turn_input,
)

if TYPE_CHECKING:
    from ..sdk.async_stepper import AsyncAgentStepper

#: Messages of a part that are in its result in the debugger: the newest.
MAX_RECORDED_MESSAGES: Final = 200

_USER_ROLE_REFUSED: Final = (
    "An agent can't speak as the user: its role must be assistant, computer or system."
)


class AgentReply:
    """One agent's part of a turn.

    Args:
        session: The session.
        agent: The agent.
        message: The message to answer.
        post: Adds a message to the conversation, and sends the message to the turn's readers.
        is_continuation: Whether AutoChat sent the message.

    Attributes:
        had_confirmation: Whether the agent asked the person for a confirmation.
    """

    def __init__(
        self,
        session: ChatSession,
        agent: InterpreterABC,
        message: Message,
        post: Callable[[Message], None],
        *,
        is_continuation: bool,
    ) -> None:
        self.had_confirmation = False
        self._notify = post
        self._session = session
        self._config = session.config
        self._agent = agent
        self._continuation = message if is_continuation else None
        self._input = TurnInput(message, session.conversation.window_for(message))
        self._builder = MessageBuilder(
            session.id, agent.name, session.config.clock, session.config.new_id
        )
        self._messages: dict[str, Message] = {}  # the newest
        self._handoff: Handoff | None = None
        self._is_closed = False

    async def run(self) -> Handoff | None:
        """Run the agent. Returns the handoff to the next agent; None: the turn ends."""
        error: str | None = None
        self._session.set_speaking(self._agent, ChatAgentPhase.RUNNING)
        try:
            return await self._run_recorded()
        except BaseException as failed:
            error = None if _is_stop_or_cancel(failed) else explain_error(failed)
            raise
        finally:
            self.close(error)

    def close(self, error: str | None = None) -> None:
        """End the reply: incomplete messages end as they are, and open confirmations are withdrawn.

        Idempotent.
        """
        if self._is_closed:
            return
        self._is_closed = True
        self._end_messages()
        self._session.set_speaking(self._agent, ChatAgentPhase.ENDED, error)

    def make_message(self, content: str = "") -> Message:
        """A message of this agent's, which it hasn't said yet."""
        return self._session.message("assistant", content, agent_name=self._agent.name)

    # ---- in the debugger ----------------------------------------------------------------------------

    async def _run_recorded(self) -> Handoff | None:
        args = encode_turn_input(self._input)
        outcome = await self._session.recording.record_tool_call(
            self._agent.name, args, partial(self._call_agent, args)
        )
        if self._is_closed or not outcome.is_edited:
            return self._handoff
        was = AgentAnswer(self._final_messages(), self._handoff)
        part = decode_agent_answer(outcome.value, was, self.make_message)
        self._revise(was.messages, part.messages)
        return part.handoff

    async def _call_agent(self, mine: Any, dbg: AsyncAgentStepper | None, args: Any) -> Any:
        if args is not mine:
            self._apply_edit(decode_turn_input(args, self._input))
        await self._stream_answer(dbg)
        return encode_agent_answer(AgentAnswer(self._final_messages(), self._handoff))

    def _apply_edit(self, given: TurnInput) -> None:
        """What a person edited is what the agent is given, and what the conversation holds."""
        was = {each.id: each for each in (self._input.message, *self._input.window)}
        for message in (given.message, *given.window):
            if message.id in was and was[message.id] != message:
                self._notify(message)
        self._input = given

    def _revise(self, was: Sequence[Message], now: Sequence[Message]) -> None:
        """What a person made of what was said takes its place."""
        for message in now:
            if message not in was:
                self._notify(message)
        gone = {each.id for each in was} - {each.id for each in now}
        if gone:
            self._session.remove([each.id for each in was if each.id in gone])

    def _final_messages(self) -> tuple[Message, ...]:
        return tuple(each for each in self._messages.values() if each.final)

    # ---- the agent ----------------------------------------------------------------------------------

    async def _stream_answer(self, dbg: AsyncAgentStepper | None) -> None:
        turn = Turn(
            session_id=self._session.id,
            window=self._input.window,
            confirm=self._confirm,
            dbg=dbg,
            workspace=self._config.workspace,
            data_dir=self._config.data_dir,
            log=self._config.log,
            agents=self._session.agents.infos(),
            is_continuation=self._input.message is self._continuation,
        )
        begin = partial(self._agent.chat, self._input.message, turn)
        choice: str | None = None
        try:
            async with aclosing(iterate_answer(begin)) as answer:
                while (item := await _next(answer, choice)) is not END_OF_ITEMS:
                    if isinstance(item, Handoff):
                        self._handoff = item
                        break
                    choice = await self._emit_item(item)
                    await asyncio.sleep(0)  # an answer that waits for nothing can be stopped, too
                    if is_task_cancelled():  # and one that went on over that
                        raise asyncio.CancelledError
        finally:
            if not self._is_closed:
                self._end_messages()

    async def _emit_item(self, item: Any) -> str | None:
        """Say some of the answer; the choice, where it asks for one."""
        if self._is_closed:
            raise CommandError(
                "unknown_turn",
                "This turn is over, so that the agent can add nothing more to the turn.",
            )
        if isinstance(item, Mapping):
            item = to_agent_output(item)
        if isinstance(item, AgentOutput) and item.role == "user":
            raise ProtocolError("invalid_message", _USER_ROLE_REFUSED, field="role")
        messages = self._builder.add(item)
        for message in messages:
            self._post(message)
        is_question = isinstance(item, AgentOutput) and item.type == MessageType.CONFIRMATION
        return await self._wait_for_choice(messages[-1]) if is_question else None

    async def _confirm(
        self, text: str, choices: Sequence[str] = ("Yes", "No"), *, details: object = None
    ) -> str:
        choice = await self._emit_item(outputs.confirmation(text, choices, details=details))
        assert choice is not None
        return choice

    async def _wait_for_choice(self, message: Message) -> str:
        """Wait for a person's choice. Cancelling this withdraws the question."""
        self.had_confirmation = True
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        end_confirmation = partial(self._end_confirmation, message.id)
        self._session.pending_confirmations[message.id] = PendingConfirmation(
            message.choices, end_confirmation, answer
        )
        self._session.notify_changed()
        try:
            return await answer
        finally:
            if message.id in self._session.pending_confirmations:
                self._session.end_confirmation(message.id, None)

    def _end_confirmation(self, message_id: str, choice: str | None) -> Message:
        message = self._builder.end_confirmation(message_id, choice)
        self._post(message)
        return message

    def _post(self, message: Message) -> None:
        if is_content_empty(message):
            self._messages.pop(message.id, None)
        elif message.final or message.id not in self._messages:
            self._messages[message.id] = message  # where it began
            held = sum(map(estimate_memory_bytes, self._messages.values()))
            max_bytes = self._session.config.limits.max_cached_bytes
            while len(self._messages) > MAX_RECORDED_MESSAGES or (
                held > max_bytes and len(self._messages) > 1
            ):
                held -= estimate_memory_bytes(self._messages.pop(next(iter(self._messages))))
        self._notify(message)

    def _end_messages(self) -> None:
        for message_id in list(self._session.pending_confirmations):
            self._session.end_confirmation(message_id, None)
        for message in self._builder.close():
            self._post(message)


async def _next(answer: Any, choice: str | None) -> Any:
    try:
        return await answer.asend(choice)
    except StopAsyncIteration:
        return END_OF_ITEMS


def _is_stop_or_cancel(error: BaseException) -> bool:
    return is_agent_stopped(error) or is_task_cancelled()
