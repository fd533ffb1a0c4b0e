"""Chats with a coding agent: what a model plays in one, who answers, and what it says as pieces."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from agentstepper_nb.chat import outputs
from agentstepper_nb.chat.connector import Item, Turn
from agentstepper_nb.chat.connectors.coding_agent import CodingAgent
from agentstepper_nb.llm_wire.conversation import ModelRequest, UserMessage
from agentstepper_nb.protocol.chat import AgentOutput, Message
from tests.chat.chats import ScriptedChoices
from tests.coding.scripted_parts import FakeProvider, make_text_answer, make_tool_calls


class CodingConversation:
    """A chat session with a coding agent.

    Args:
        folder: Where its workspace is, and what is kept.
        model: Who answers.
        options: The agent's.
    """

    def __init__(self, folder: Path, model: Any, *choices: str | None, **options: Any) -> None:
        self.workspace = folder / "ws"
        self.workspace.mkdir(exist_ok=True)
        self.choices = ScriptedChoices(*choices)
        self.agent = CodingAgent(provider=model, model="m", **options)
        self.turn = Turn(
            session_id="5d6a",
            window=(),
            confirm=self.choices,
            dbg=None,
            workspace=self.workspace,
            data_dir=folder / "data",
        )
        self.outputs: list[Item] = []

    def message(self, text: str) -> Message:
        return Message(
            id="m", session_id="5d6a", role="user", content=text, agent_name="coder", created_at=0
        )

    async def send(self, text: str = "Go.", **turn: Any) -> list[Item]:
        """Say something; what it answers, with text that belongs together in one."""
        self.outputs = []
        answer = self.agent.chat(self.message(text), replace(self.turn, **turn))
        async with aclosing(answer) as items:
            async for item in items:
                self.outputs.append(item)
        return join_outputs(self.outputs)


@asynccontextmanager
async def open_chat(
    folder: Path, model: Any, *choices: str | None, **options: Any
) -> AsyncGenerator[CodingConversation, None]:
    talk = CodingConversation(folder, model, *choices, **options)
    try:
        yield talk
    finally:
        await talk.agent.close()


def join_outputs(items: Sequence[Item]) -> list[Item]:
    whole: list[Item] = []
    for item in items:
        last = whole[-1] if whole else None
        if _is_text(item) and _is_text(last) and item.role == last.role:  # type: ignore[union-attr]
            whole[-1] = AgentOutput(content=last.content + item.content, role=last.role)  # type: ignore
        else:
            whole.append(item)
    return whole


def _is_text(item: Item | None) -> bool:
    return isinstance(item, AgentOutput) and item.type == "MESSAGE"


def prompts(request: ModelRequest) -> list[str]:
    return [each.content for each in request.messages if isinstance(each, UserMessage)]


text, result, output = outputs.text, outputs.result, outputs.console


def tool_call_output(id: str, name: str, arguments: Any) -> AgentOutput:
    return outputs.call(name, arguments, call_id=id)


def code_output(line: str) -> AgentOutput:
    return outputs.code(line, "bash")


RISKY = {"command": "rm -rf build"}


def make_risky_model(*more: Any) -> FakeProvider:
    return FakeProvider(
        make_tool_calls(("1", "run_command", RISKY), text="I clean up."),
        make_text_answer("Done."),
        *more,
    )
