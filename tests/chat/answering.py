"""Agents asked without an interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

from agentstepper_nb.chat.connector import InterpreterABC, Turn
from agentstepper_nb.chat.gathering import Gathered
from agentstepper_nb.chat.streams import items
from agentstepper_nb.protocol.chat import AgentInfo, Message
from agentstepper_nb.sdk.aclient import AsyncAgentStepper


def said(content: str = "Hello.", **fields: Any) -> Message:
    """A message that an agent is to answer."""
    given = {"id": "q", "session_id": "s", "role": "user", "created_at": 1.0, **fields}
    return Message(content=content, **given)


class Person:
    """Chooses what a test says, and keeps what was asked."""

    def __init__(self, *choices: str) -> None:
        self.asked: list[tuple[str, tuple[str, ...], object]] = []
        self._choices = list(choices)

    async def __call__(
        self, text: str, choices: Sequence[str] = ("Yes", "No"), *, details: object = None
    ) -> str:
        self.asked.append((text, tuple(choices), details))
        return self._choices.pop(0)


def a_turn(
    *window: Message,
    person: Person | None = None,
    dbg: AsyncAgentStepper | None = None,
    agents: Sequence[AgentInfo] = (),
) -> Turn:
    """What there is beside the message."""
    return Turn(
        session_id="s",
        window=window,
        confirm=person or Person(),
        dbg=dbg,
        workspace=None,
        data_dir=Path("nowhere"),
        agents=tuple(agents),
    )


async def answered(
    agent: InterpreterABC,
    message: Message | str = "Hello.",
    turn: Turn | None = None,
    *,
    choice: str | None = None,
) -> list[Any]:
    """What it yields, to its end; each yield gives it the choice."""
    message = said(message) if isinstance(message, str) else message
    got: list[Any] = []
    async with aclosing(items(agent.chat(message, turn or a_turn()))) as answer:
        sent = None
        while True:
            try:
                got.append(await answer.asend(sent))
            except StopAsyncIteration:
                return got
            sent = choice


def whole(given: Sequence[Any]) -> list[Message]:
    """The messages that items become."""
    gathered = Gathered()
    for item in given:
        gathered.take(item)
    gathered.close()
    return list(gathered.messages)
