"""An agent's part of a turn: it is given a message, in the debugger where there is one, and answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ..errors import CommandError, ProtocolError
from ..protocol.chat import AgentOutput, ChatAgentPhase, Message, MessageType
from . import pieces
from .answer_adapter import iterate_answer
from .connector import Handoff, InterpreterABC, Turn
from .item_sources import OVER, is_task_cancelled
from .memory import MOST_HELD, estimate_memory_bytes
from .message_builder import MessageBuilder, is_emptied, to_piece
from .session import ChatSession, PendingConfirmation
from .session_agents import explain_error, is_stop
from .turn_json import (
    AnswerPart,
    TurnInput,
    decode_answer_part,
    decode_turn_input,
    encode_answer_part,
    encode_turn_input,
)

if TYPE_CHECKING:
    from ..sdk.async_stepper import AsyncAgentStepper

#: Messages of a part that are in its result in the debugger: the newest.
MOST_SHOWN: Final = 200

_NOT_THE_PERSON: Final = (
    "An agent doesn't speak as the user: its role is assistant, computer or system."
)


class AgentPart:
    """What one agent does in a turn.

    Args:
        session: The session.
        agent: The agent.
        message: What it is to answer.
        say: Says something, in the conversation and to who reads the turn.
        continues: Whether AutoChat says the message.

    Attributes:
        had_confirmation: Whether it asked the person something.
    """

    def __init__(
        self,
        session: ChatSession,
        agent: InterpreterABC,
        message: Message,
        say: Callable[[Message], None],
        *,
        continues: bool,
    ) -> None:
        self.had_confirmation = False
        self._tell = say
        self._session = session
        self._config = session.config
        self._agent = agent
        self._continuation = message if continues else None
        self._given = TurnInput(message, session.conversation.window_for(message))
        self._gathering = MessageBuilder(
            session.id, agent.name, session.config.clock, session.config.new_id
        )
        self._said: dict[str, Message] = {}  # the newest
        self._hand_on: Handoff | None = None
        self._closed = False

    async def run(self) -> Handoff | None:
        """Do it; who goes on."""
        error: str | None = None
        self._session.speaks(self._agent, ChatAgentPhase.RUNNING)
        try:
            return await self._recorded()
        except BaseException as failed:
            error = None if _is_order(failed) else explain_error(failed)
            raise
        finally:
            self.close(error)

    def close(self, error: str | None = None) -> None:
        """What isn't whole is as it is, and what waits is withdrawn. Idempotent."""
        if self._closed:
            return
        self._closed = True
        self._end_messages()
        self._session.speaks(self._agent, ChatAgentPhase.ENDED, error)

    def blank(self, content: str = "") -> Message:
        """A message of this agent's, which it hasn't said yet."""
        return self._session.message("assistant", content, agent_name=self._agent.name)

    # ---- in the debugger ----------------------------------------------------------------------------

    async def _recorded(self) -> Handoff | None:
        args = encode_turn_input(self._given)
        outcome = await self._session.recording.tool(
            self._agent.name, args, partial(self._act, args)
        )
        if self._closed or not outcome.edited:
            return self._hand_on
        was = AnswerPart(self._whole(), self._hand_on)
        part = decode_answer_part(outcome.value, was, self.blank)
        self._revise(was.messages, part.messages)
        return part.hand_on

    async def _act(self, mine: Any, dbg: AsyncAgentStepper | None, args: Any) -> Any:
        if args is not mine:
            self._take_edit(decode_turn_input(args, self._given))
        await self._ask(dbg)
        return encode_answer_part(AnswerPart(self._whole(), self._hand_on))

    def _take_edit(self, given: TurnInput) -> None:
        """What a person edited is what the agent is given, and what the conversation holds."""
        was = {each.id: each for each in (self._given.message, *self._given.window)}
        for message in (given.message, *given.window):
            if message.id in was and was[message.id] != message:
                self._tell(message)
        self._given = given

    def _revise(self, was: Sequence[Message], now: Sequence[Message]) -> None:
        """What a person made of what was said takes its place."""
        for message in now:
            if message not in was:
                self._tell(message)
        gone = {each.id for each in was} - {each.id for each in now}
        if gone:
            self._session.remove([each.id for each in was if each.id in gone])

    def _whole(self) -> tuple[Message, ...]:
        return tuple(each for each in self._said.values() if each.final)

    # ---- the agent ----------------------------------------------------------------------------------

    async def _ask(self, dbg: AsyncAgentStepper | None) -> None:
        beside = Turn(
            session_id=self._session.id,
            window=self._given.window,
            confirm=self._confirm,
            dbg=dbg,
            workspace=self._config.workspace,
            data_dir=self._config.data_dir,
            log=self._config.log,
            agents=self._session.agents.infos(),
            continues=self._given.message is self._continuation,
        )
        begin = partial(self._agent.chat, self._given.message, beside)
        choice: str | None = None
        try:
            async with aclosing(iterate_answer(begin)) as answer:
                while (item := await _next(answer, choice)) is not OVER:
                    if isinstance(item, Handoff):
                        self._hand_on = item
                        break
                    choice = await self._take(item)
                    await asyncio.sleep(0)  # an answer that waits for nothing can be stopped, too
                    if is_task_cancelled():  # and one that went on over that
                        raise asyncio.CancelledError
        finally:
            if not self._closed:
                self._end_messages()

    async def _take(self, item: Any) -> str | None:
        """Say some of the answer; the choice, where it asks for one."""
        if self._closed:
            raise CommandError("unknown_turn", "This turn is over: nothing is said in it any more.")
        if isinstance(item, Mapping):
            item = to_piece(item)
        if isinstance(item, AgentOutput) and item.role == "user":
            raise ProtocolError("invalid_message", _NOT_THE_PERSON, field="role")
        told = self._gathering.take(item)
        for message in told:
            self._say(message)
        asks = isinstance(item, AgentOutput) and item.type == MessageType.CONFIRMATION
        return await self._chosen(told[-1]) if asks else None

    async def _confirm(
        self, text: str, choices: Sequence[str] = ("Yes", "No"), *, details: object = None
    ) -> str:
        choice = await self._take(pieces.confirmation(text, choices, details=details))
        assert choice is not None
        return choice

    async def _chosen(self, message: Message) -> str:
        """Wait for a person's choice. Cancelling this withdraws the question."""
        self.had_confirmation = True
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        settle = partial(self._settle, message.id)
        self._session.waiting[message.id] = PendingConfirmation(message.choices, settle, answer)
        self._session.changed()
        try:
            return await answer
        finally:
            if message.id in self._session.waiting:
                self._session.settle(message.id, None)

    def _settle(self, message_id: str, choice: str | None) -> Message:
        message = self._gathering.chosen(message_id, choice)
        self._say(message)
        return message

    def _say(self, message: Message) -> None:
        if is_emptied(message):
            self._said.pop(message.id, None)
        elif message.final or message.id not in self._said:
            self._said[message.id] = message  # where it began
            held = sum(map(estimate_memory_bytes, self._said.values()))
            while len(self._said) > MOST_SHOWN or (held > MOST_HELD and len(self._said) > 1):
                held -= estimate_memory_bytes(self._said.pop(next(iter(self._said))))
        self._tell(message)

    def _end_messages(self) -> None:
        for message_id in list(self._session.waiting):
            self._session.settle(message_id, None)
        for message in self._gathering.close():
            self._say(message)


async def _next(answer: Any, choice: str | None) -> Any:
    try:
        return await answer.asend(choice)
    except StopAsyncIteration:
        return OVER


def _is_order(error: BaseException) -> bool:
    return is_stop(error) or is_task_cancelled()
