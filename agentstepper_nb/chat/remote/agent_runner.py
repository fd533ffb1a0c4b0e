"""An agent that answers in a chat from outside: its own end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import aclosing, suppress
from functools import partial
from typing import Final

from ... import discover
from ...errors import AgentStepperError, CommandError
from ...protocol.chat import (
    AgentOutput,
    AgentTurnEnded,
    AgentTurnRequest,
    MessageType,
    OptionChosen,
    SendAgentOutput,
    ServeChatAgent,
)
from .. import outputs
from ..answer_adapter import iterate_answer
from ..connector import Handoff, InterpreterABC, Turn
from ..message_builder import to_agent_output
from ..session_agents import explain_error
from .session_connection import ChatConnection

_log: Final = logging.getLogger("agentstepper_nb.chat.remote.client")
_log.addHandler(logging.NullHandler())


class RemoteAgentRunner:
    """Answers what a session asks its agent, one message at a time.

    Args:
        connection: The session.
        agent: What answers.
    """

    def __init__(self, connection: ChatConnection, agent: InterpreterABC) -> None:
        self._connection = connection
        self._agent = agent
        self._answering: tuple[str, asyncio.Task[None]] | None = None

    async def run(self) -> None:
        """Answer requests until the task is cancelled.

        Raises:
            CommandError: The token isn't valid any more, or another program uses the token.
            ConnectionLostError: The chat can't be reached.
        """
        attend = ServeChatAgent(
            session=self._connection.admission.session,
            role=self._agent.role,
            type=self._agent.agent_type,
            description=self._agent.description,
        )
        try:
            async with aclosing(
                self._connection.stream("attend", attend, AgentTurnRequest)
            ) as request:
                async for each in request:
                    await self._run_turn(each)
        finally:
            await self._cancel_answer()
            await self._agent.on_session_closed(attend.session)
            await self._agent.close()

    async def _run_turn(self, request: AgentTurnRequest) -> None:
        if not request.cancelled:
            await (
                self._cancel_answer()
            )  # an answer of before the connection broke: nobody wants it any more
            self._answering = request.turn, asyncio.create_task(self._answer(request))
        elif self._answering is not None and self._answering[0] == request.turn:
            await self._cancel_answer()

    async def _cancel_answer(self) -> None:
        """End the answer that is under way."""
        answering, self._answering = self._answering, None
        if answering is not None:
            answering[1].cancel()
            await asyncio.wait((answering[1],))

    async def _answer(self, request: AgentTurnRequest) -> None:
        try:
            done = await self._answer_turn(request)
        except CommandError as error:
            if error.code == "unknown_turn":
                return
            done = AgentTurnEnded(turn=request.turn, error=explain_error(error))
        except Exception as error:
            _log.warning("the agent %s failed", self._agent.name, exc_info=error)
            done = AgentTurnEnded(turn=request.turn, error=explain_error(error))
        try:
            await self._connection.send_command("done", done, type(None))
        except AgentStepperError as error:
            _log.info("the end of an answer wasn't taken: %s", error)

    async def _answer_turn(self, request: AgentTurnRequest) -> AgentTurnEnded:
        """Give the answer, piece by piece; how it ends."""
        turn = Turn(
            session_id=request.message.session_id,
            window=request.window,
            confirm=partial(self._confirm, request.turn),
            dbg=None,
            workspace=None,
            data_dir=discover.data_dir(),
            log=_log,
        )
        async with aclosing(
            iterate_answer(partial(self._agent.chat, request.message, turn))
        ) as answer:
            choice: str | None = None
            with suppress(StopAsyncIteration):
                while True:
                    item = await answer.asend(choice)
                    if isinstance(item, Handoff):
                        return AgentTurnEnded(
                            turn=request.turn, handoff_agent=item.agent_name, text=item.text
                        )
                    choice = await self._give(request.turn, to_agent_output(item))
        return AgentTurnEnded(turn=request.turn)

    async def _give(self, turn: str, piece: AgentOutput) -> str | None:
        give = SendAgentOutput(turn=turn, piece=piece)
        if piece.type == MessageType.CONFIRMATION:
            return (await self._connection.send_command("give", give, OptionChosen)).choice
        await self._connection.send_command("give", give, type(None))
        return None

    async def _confirm(
        self,
        turn: str,
        text: str,
        choices: Sequence[str] = ("Yes", "No"),
        *,
        details: object = None,
    ) -> str:
        choice = await self._give(turn, outputs.confirmation(text, choices, details=details))
        assert choice is not None  # else it was refused
        return choice
