"""The coding agent as an agent of a chat: what it says."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb.chat.connectors.model_prompts import shorten_text
from agentstepper_nb.coding.session_list import CodingDataPaths
from agentstepper_nb.errors import CodingSessionError
from agentstepper_nb.protocol.chat import AgentOutput, Message
from tests.chat.coding_chats import (
    code_output,
    open_chat,
    output,
    prompts,
    result,
    text,
    tool_call_output,
)
from tests.coding.scripted_parts import (
    HANGS,
    FakeProvider,
    make_failure,
    make_text_answer,
    make_tool_calls,
)

PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)


async def test_text_comes_as_it_is_said(tmp_path: Path) -> None:
    async with open_chat(tmp_path, FakeProvider(make_text_answer("Hello to you."))) as talk:
        assert await talk.send("Hello.") == [text("Hellotoyou.")]
        assert [item.content for item in talk.outputs if isinstance(item, AgentOutput)] == [
            "Hello",
            "to",
            "you.",
        ]


async def test_a_command_is_code_and_then_its_output(tmp_path: Path) -> None:
    model = FakeProvider(
        make_tool_calls(
            ("1", "run_command", {"command": "echo one"}),
            ("2", "run_command", {"command": "true", "folder": "src"}),
            ("3", "run_command", {"command": "false"}),
            text="Look: ",
        ),
        make_text_answer("Done."),
    )
    async with open_chat(tmp_path, model, auto_approve=True) as talk:
        (talk.workspace / "src").mkdir()
        assert await talk.send() == [
            text("Look: "),
            code_output("echo one"),
            output("one"),
            code_output("# in src\ntrue"),
            output("It ended with exit code 0, and said nothing."),
            code_output("false"),
            output("It ended with exit code 1."),
            text("Done."),
        ]


async def test_a_change_is_a_call_with_its_diff_and_a_failure_says_why(tmp_path: Path) -> None:
    write = {"path": "a.txt", "content": "two\n"}
    model = FakeProvider(
        make_tool_calls(
            ("1", "write_file", write),
            ("2", "read_file", {"path": "gone"}),
            ("3", "no_such", None),
            ("4", "read_file", "no json"),
            ("5", "list_files", {}),
        ),
        make_text_answer("Done."),
    )
    async with open_chat(tmp_path, model, auto_approve=True) as talk:
        (talk.workspace / "a.txt").write_text("one\n")
        said = await talk.send()
    assert said[:2] == [
        tool_call_output("1", "write_file", write),
        result("1", "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n"),
    ]
    assert said[2:4] == [
        tool_call_output("2", "read_file", {"path": "gone"}),
        result("2", "No such file or directory: 'gone'.", ok=False),
    ]
    assert said[4] == tool_call_output("3", "no_such", {})
    assert isinstance(said[5], AgentOutput)
    assert (said[5].ok, "There is no tool" in said[5].result) == (False, True)
    assert said[6] == tool_call_output("4", "read_file", "no json")
    assert said[8:10] == [
        tool_call_output("5", "list_files", {}),
        result("5", {"path": ".", "entries": ["a.txt"]}),
    ]


async def test_what_a_model_makes_too_large_or_too_deep_is_cut(tmp_path: Path) -> None:
    deep = "[" * 60 + "]" * 60
    model = FakeProvider(
        make_tool_calls(
            ("i" * 999, "n" * 999, {"x": "y" * 300_000}),
            ("2", "list_files", f'{{"x": {deep}}}'),
        ),
        make_text_answer("Done."),
    )
    async with open_chat(tmp_path, model) as talk:
        first, _, second, *_ = await talk.send()
    assert isinstance(first, AgentOutput) and isinstance(second, AgentOutput)
    assert (len(first.call_id or ""), len(first.name or "")) == (200, 200)
    assert first.arguments.endswith("[… 300,008 characters in all]")
    assert second.arguments.startswith('{"x":[[')


async def test_a_picture_is_shown_by_its_path(tmp_path: Path) -> None:
    model = FakeProvider(
        make_tool_calls(
            ("1", "show_image", {"path": "a.png"}), ("2", "show_image", {"path": "gone.png"})
        ),
        make_text_answer("There."),
    )
    async with open_chat(tmp_path, model) as talk:
        (talk.workspace / "a.png").write_bytes(PNG)
        assert await talk.send() == [
            AgentOutput(type="IMAGE", path="a.png", media_type="image/png", content="a.png"),
            tool_call_output("2", "show_image", {"path": "gone.png"}),
            result("2", "No such file or directory: 'gone.png'.", ok=False),
            text("There."),
        ]


async def test_a_picture_of_a_folder_that_isnt_the_chats_has_its_whole_path(tmp_path: Path) -> None:
    model = FakeProvider(
        make_tool_calls(("1", "show_image", {"path": "a.png"})), make_text_answer("There.")
    )
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "a.png").write_bytes(PNG)
    async with open_chat(tmp_path, model, workspace=elsewhere) as talk:
        picture, _ = await talk.send()
    assert isinstance(picture, AgentOutput)
    assert (picture.path, picture.content) == (str(elsewhere / "a.png"), "a.png")


async def test_an_answer_that_is_cut_at_its_limit_says_so_and_goes_on(tmp_path: Path) -> None:
    model = FakeProvider(make_tool_calls(("1", "list_files", {})), make_text_answer("Done."))
    async with open_chat(tmp_path, model, max_iterations=1) as talk:
        *_, told = await talk.send()
        assert isinstance(told, AgentOutput)
        assert (told.role, "after 1 question " in told.content) == ("system", True)
        prompt = talk.agent.continuation_prompt
        assert prompt is not None
        assert await talk.send(prompt) == [text("Done.")]
    assert prompts(model.requests[1]) == ["Go.", "Go on."]


async def test_a_model_that_fails_ends_the_turn_and_the_next_one_is_answered(
    tmp_path: Path,
) -> None:
    async with open_chat(
        tmp_path, FakeProvider(make_failure("No money left."), make_text_answer("Yes."))
    ) as talk:
        with pytest.raises(CodingSessionError, match="No money left"):
            await talk.send()
        assert await talk.send("Again?") == [text("Yes.")]


async def test_without_a_folder_it_says_what_is_missing(tmp_path: Path) -> None:
    async with open_chat(tmp_path, FakeProvider()) as talk:
        with pytest.raises(CodingSessionError, match="name one by `workspace=`"):
            await talk.send(workspace=None)


async def test_an_opened_again_chat_goes_on_with_its_session(tmp_path: Path) -> None:
    async with open_chat(tmp_path, FakeProvider(make_text_answer("One."))) as talk:
        await talk.send("First.")
    second = FakeProvider(make_text_answer("Two."))
    async with open_chat(tmp_path, second) as talk:
        await talk.send("Second.")
        await talk.agent.on_session_closed("5d6a")
        await talk.agent.on_session_closed("another")
    assert [message.content for message in second.requests[0].messages] == [
        "First.",
        "One.",
        "Second.",
    ]
    (kept,) = CodingDataPaths(
        tmp_path / "data"
    ).sessions()  # which `agentstepper code --resume` finds
    assert kept.workspace == str(tmp_path / "ws")


async def test_what_is_wrong_with_its_log_is_said_with_the_first_answer(tmp_path: Path) -> None:
    async with open_chat(tmp_path, FakeProvider(make_text_answer("One."))) as talk:
        await talk.send("First.")
    (log,) = (tmp_path / "data" / "coding" / "sessions").iterdir()
    lines = log.read_text().splitlines()
    log.write_text("\n".join([*lines[:2], "{ torn", *lines[2:]]) + "\n")
    async with open_chat(
        tmp_path, FakeProvider(make_text_answer("Two."), make_text_answer("Three."))
    ) as talk:
        warning, said = await talk.send("Second.")
        assert isinstance(warning, AgentOutput)
        assert (warning.role, said) == ("system", text("Two."))
        assert await talk.send("Third.") == [text("Three.")]


async def test_two_sessions_are_answered_at_once_and_know_nothing_of_each_other(
    tmp_path: Path,
) -> None:
    model = FakeProvider([HANGS], make_text_answer("Two."))
    async with open_chat(tmp_path, model) as talk:
        first = asyncio.create_task(talk.send("First."))
        await model.hanging.wait()
        answer = talk.agent.chat(talk.message("Second."), replace(talk.turn, session_id="77"))
        assert [item async for item in answer] == [text("Two.")]
        assert [message.content for message in model.requests[1].messages] == ["Second."]
        first.cancel()
        await asyncio.wait({first})


async def test_what_others_said_meanwhile_it_is_told_once(tmp_path: Path) -> None:
    model = FakeProvider(make_text_answer("I see."), make_text_answer("Yes."))

    def said(role: Any, agent: str, content: str) -> Message:
        return Message(
            id="x", session_id="5d6a", role=role, agent_name=agent, content=content, created_at=0
        )

    plan = f"1. Do it.{' ' * 30_000}2. Rest."
    window = (said("user", "planner", "Plan."), said("assistant", "planner", plan))
    async with open_chat(tmp_path, model) as talk:
        await talk.send("Do that.", window=window)
        own = (said("user", "coder", "Do that."), said("assistant", "coder", "I see."))
        await talk.send("Done?", window=(*window, *own))
    assert prompts(model.requests[1]) == [
        "Meanwhile this was said in the conversation that you take part in:\n\n"
        f"The person, to planner: Plan.\n\nplanner: {shorten_text(plan)}\n\n"
        "Now you are told:\n\nDo that.",
        "Done?",
    ]
    assert len(prompts(model.requests[1])[0]) < len(plan)


async def test_the_provider_is_closed_with_the_agent_and_not_with_a_session(tmp_path: Path) -> None:
    class ClosingProvider(FakeProvider):
        closed = 0

        async def close(self) -> None:
            self.closed += 1

    model = ClosingProvider(make_text_answer("One."))
    async with open_chat(tmp_path, model) as talk:
        await talk.send()
        await talk.agent.on_session_closed("5d6a")
        assert model.closed == 0
    assert model.closed == 1
