"""What the coding agent asks in a chat, and what cancelling takes back."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb.chat.connector import Item
from agentstepper_nb.protocol.chat import AgentOutput
from tests.chat.coding_chats import (
    RISKY,
    code_output,
    make_risky_model,
    open_chat,
    output,
    result,
    text,
    tool_call_output,
)
from tests.coding.scripted_parts import HANGS, FakeProvider, make_text_answer, make_tool_calls

# ---- what it asks ------------------------------------------------------------------------------------


async def test_it_asks_before_it_does_harm_after_what_it_said(tmp_path: Path) -> None:
    said_before: list[Item] = []
    asked: list[tuple[str, Sequence[str]]] = []
    async with open_chat(tmp_path, make_risky_model()) as talk:
        (talk.workspace / "build").mkdir()

        async def confirm(question: str, choices: Sequence[str], *, details: Any = None) -> str:
            said_before[:] = talk.outputs
            assert "\n\n```bash\nrm -rf build\n```" in question
            assert (details["tool"], details["args"], details["call_id"]) == (
                "run_command",
                RISKY,
                "1",
            )
            assert details["risk"] and details["why"]
            asked.append((question.partition("?")[0], choices))
            if len(asked) == 2:
                return "Yes, call it"
            assert "rm -rf build" in question.rpartition("\n\n")[2]
            return "Allow"

        said = await talk.send(confirm=confirm)
        assert said_before == [text("I clean up.")]
        assert asked == [
            ("Allow the call of `run_command`", ("Allow", "Always allow here", "Deny")),
            ("The risk is high. Call `run_command` anyway", ("Deny", "Yes, call it")),
        ]
        assert said[1:] == [
            code_output("rm -rf build"),
            output("It ended with exit code 0, and said nothing."),
            text("Done."),
        ]
        assert not (talk.workspace / "build").exists()


@pytest.mark.parametrize("choices", [("Allow", "Deny"), ("Always allow here", "Deny")])
async def test_high_risk_is_asked_twice_and_the_same_choice_twice_denies(
    tmp_path: Path, choices: tuple[str, str]
) -> None:
    again = make_tool_calls(("2", "run_command", RISKY))
    model = make_risky_model(again, make_text_answer("Done."))
    async with open_chat(tmp_path, model, *choices, "Allow", "Yes, call it") as talk:
        (talk.workspace / "build").mkdir()
        _, _, denied, _ = await talk.send()
        assert denied == result("1", "A person denied this.", ok=False)
        assert (talk.workspace / "build").exists()
        first, second = (choices for _, choices, _ in talk.choices.questions)
        assert first[0] == "Allow"
        assert second[0] == "Deny", "the same number or place twice denies"
        await talk.send()
        assert len(talk.choices.questions) == 4, "nothing is allowed from now on"


async def test_denied_it_is_a_call_that_failed(tmp_path: Path) -> None:
    async with open_chat(tmp_path, make_risky_model(), "Deny") as talk:
        (talk.workspace / "build").mkdir()
        assert await talk.send() == [
            text("I clean up."),
            tool_call_output("1", "run_command", RISKY),
            result("1", "A person denied this.", ok=False),
            text("Done."),
        ]
        assert (talk.workspace / "build").exists()


async def test_always_isnt_asked_again(tmp_path: Path) -> None:
    again = make_tool_calls(("2", "run_command", RISKY))
    model = make_risky_model(again, make_text_answer("Done."))
    async with open_chat(tmp_path, model, "Always allow here", "Yes, call it") as talk:
        await talk.send()
        await talk.send()
        assert len(talk.choices.questions) == 2


async def test_nobody_who_answers_in_time_is_a_denial(tmp_path: Path) -> None:
    async with open_chat(tmp_path, make_risky_model(), None, approval_timeout=0.01) as talk:
        _, _, denied, _ = await talk.send()
        assert isinstance(denied, AgentOutput)
        assert "Nobody answered within 0.01 seconds." in denied.result
        assert talk.choices.withdrawn.is_set()


# ---- cancelling --------------------------------------------------------------------------------------


async def test_closing_takes_the_question_to_the_model_back(tmp_path: Path) -> None:
    model = FakeProvider([*make_text_answer("Well, …")[:1], HANGS], make_text_answer("Here."))
    async with open_chat(tmp_path, model) as talk:
        answer = talk.agent.chat(talk.message("Go."), talk.turn)
        assert await anext(answer) == text("Well,")
        await answer.aclose()
        assert model.closed_early.is_set()
        assert await talk.send() == [text("Here.")]


async def test_cancelling_ends_the_command_that_runs(tmp_path: Path) -> None:
    line = "exec 3> pipe; echo here >&3; while true; do sleep 1; done"
    model = FakeProvider(make_tool_calls(("1", "run_command", {"command": line})))
    async with open_chat(tmp_path, model, auto_approve=True) as talk:
        pipe = talk.workspace / "pipe"
        os.mkfifo(pipe)
        turn = asyncio.create_task(talk.send())
        with await asyncio.to_thread(pipe.open) as told:
            assert await asyncio.to_thread(told.readline) == "here\n"
            turn.cancel()
            await asyncio.wait({turn})
            assert turn.cancelled()
            assert await asyncio.to_thread(told.read) == ""  # once nobody has its other end


async def test_cancelling_withdraws_what_it_asks(tmp_path: Path) -> None:
    async with open_chat(tmp_path, make_risky_model(), None) as talk:
        turn = asyncio.create_task(talk.send())
        await talk.choices.waits.wait()
        turn.cancel()
        await asyncio.wait({turn})
        assert talk.choices.withdrawn.is_set()
