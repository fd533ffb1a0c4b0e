"""What the coding agent remembers of a chat, and what it keeps."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

from agentstepper_nb.chat.connectors.prompting import shortened
from agentstepper_nb.coding.folders import Folders
from agentstepper_nb.protocol.chat import Message, Piece
from tests.chat.coder import prompts, talking, text
from tests.coding.playing import HANGS, Playing, says
from tests.helpers.loops import on_loop


@on_loop
async def test_an_opened_again_chat_goes_on_with_its_session(tmp_path: Path) -> None:
    async with talking(tmp_path, Playing(says("One."))) as talk:
        await talk.send("First.")
    second = Playing(says("Two."))
    async with talking(tmp_path, second) as talk:
        await talk.send("Second.")
        await talk.agent.ended("5d6a")
        await talk.agent.ended("another")
    assert [message.content for message in second.requests[0].messages] == [
        "First.",
        "One.",
        "Second.",
    ]
    (kept,) = Folders(tmp_path / "data").sessions()  # which `agentstepper code --resume` finds
    assert kept.workspace == str(tmp_path / "ws")


@on_loop
async def test_what_is_wrong_with_its_log_is_said_with_the_first_answer(tmp_path: Path) -> None:
    async with talking(tmp_path, Playing(says("One."))) as talk:
        await talk.send("First.")
    (log,) = (tmp_path / "data" / "coding" / "sessions").iterdir()
    lines = log.read_text().splitlines()
    log.write_text("\n".join([*lines[:2], "{ torn", *lines[2:]]) + "\n")
    async with talking(tmp_path, Playing(says("Two."), says("Three."))) as talk:
        warning, said = await talk.send("Second.")
        assert isinstance(warning, Piece)
        assert (warning.role, said) == ("system", text("Two."))
        assert await talk.send("Third.") == [text("Three.")]


@on_loop
async def test_two_sessions_are_answered_at_once_and_know_nothing_of_each_other(
    tmp_path: Path,
) -> None:
    model = Playing([HANGS], says("Two."))
    async with talking(tmp_path, model) as talk:
        first = asyncio.create_task(talk.send("First."))
        await model.hanging.wait()
        answer = talk.agent.chat(talk.message("Second."), replace(talk.turn, session_id="77"))
        assert [item async for item in answer] == [text("Two.")]
        assert [message.content for message in model.requests[1].messages] == ["Second."]
        first.cancel()
        await asyncio.wait({first})


@on_loop
async def test_what_others_said_meanwhile_it_is_told_once(tmp_path: Path) -> None:
    model = Playing(says("I see."), says("Yes."))

    def said(role: Any, agent: str, content: str) -> Message:
        return Message(
            id="x", session_id="5d6a", role=role, agent_name=agent, content=content, created_at=0
        )

    plan = f"1. Do it.{' ' * 30_000}2. Rest."
    window = (said("user", "planner", "Plan."), said("assistant", "planner", plan))
    async with talking(tmp_path, model) as talk:
        await talk.send("Do that.", window=window)
        own = (said("user", "coder", "Do that."), said("assistant", "coder", "I see."))
        await talk.send("Done?", window=(*window, *own))
    assert prompts(model.requests[1]) == [
        "Meanwhile this was said in the conversation that you take part in:\n\n"
        f"The person, to planner: Plan.\n\nplanner: {shortened(plan)}\n\nNow you are told:\n\nDo that.",
        "Done?",
    ]
    assert len(prompts(model.requests[1])[0]) < len(plan)


@on_loop
async def test_the_provider_is_closed_with_the_agent_and_not_with_a_session(tmp_path: Path) -> None:
    class Closing(Playing):
        closed = 0

        async def close(self) -> None:
            self.closed += 1

    model = Closing(says("One."))
    async with talking(tmp_path, model) as talk:
        await talk.send()
        await talk.agent.ended("5d6a")
        assert model.closed == 0
    assert model.closed == 1
