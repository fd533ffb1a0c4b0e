"""The coding agent as an agent of a chat, in the debugger."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb import AgentStepperCore, AsyncAgentStepper
from agentstepper_nb.chat.connector import TextReplacement
from agentstepper_nb.errors import AgentStopped, ToolDeniedError
from agentstepper_nb.protocol.data_model import EventKind
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
from tests.coding.debugged_agent import AsyncLiveView
from tests.coding.scripted_parts import FakeProvider, make_text_answer, make_tool_calls

Run = Callable[..., AsyncAgentStepper]


@pytest.fixture
def run(core: AgentStepperCore) -> Run:
    def made(mode: Any = "continue") -> AsyncAgentStepper:
        return AsyncAgentStepper(
            "chat", "127.0.0.1", core.client_port, stop_on_entry=False, mode=mode
        )

    return made


async def test_its_turn_stands_in_the_chats_run(
    tmp_path: Path, run: Run, view: AsyncLiveView
) -> None:
    async with open_chat(tmp_path, make_risky_model(), "Allow", "Yes, call it") as talk:
        async with run() as dbg, dbg.tool("coder", {}) as turn:
            assert (await talk.send(dbg=dbg))[-1] == text("Done.")
            turn.result = "Done."
        await asyncio.to_thread(view.wait_until_ended)
    rows = await asyncio.to_thread(view.list_rows)
    assert len(view.runs) == 1
    names = [row.name for row in rows if row.kind is EventKind.TOOL_INVOCATION]
    assert names == ["coder", "run_command", "run_command", "coder"]
    assert [row.kind for row in rows].count(EventKind.LLM_QUERY) == 4


async def test_an_answer_that_a_person_edits_is_what_is_said(
    tmp_path: Path, run: Run, view: AsyncLiveView
) -> None:
    model = FakeProvider(
        make_tool_calls(("1", "list_files", {}), ("2", "run_command", RISKY), text="Both."),
        make_text_answer("Bye."),
    )
    mine = {
        "role": "assistant",
        "content": "Only this.",
        "tool_calls": [
            {
                "id": "2",
                "type": "function",
                "function": {"name": "read_file", "arguments": '{"path": "a"}'},
            }
        ],
    }
    async with open_chat(tmp_path, model) as talk:
        (talk.workspace / "a").write_text("x\n")
        async with run("step") as dbg:
            turn = asyncio.create_task(talk.send(dbg=dbg))
            await view.wait_for_halt()
            await view.step_async()  # the question
            await view.wait_for_halt()
            await view.step_async(mine)
            await view.wait_for_halt()
            await asyncio.to_thread(view.resume)
            said = await turn
    assert said == [
        text("Both."),
        TextReplacement("Only this."),
        tool_call_output("2", "read_file", {"path": "a"}),
        result("2", "1\tx\n"),
        text("Bye."),
    ]


async def test_calls_are_shown_as_a_person_made_them(
    tmp_path: Path, run: Run, view: AsyncLiveView
) -> None:
    async with open_chat(tmp_path, make_risky_model(), None) as talk:
        async with run() as dbg:
            turn = asyncio.create_task(talk.send(dbg=dbg))
            await view.wait_for_halt()
            await talk.choices.waits.wait()
            made = {"Tool": "run_command", "Argument": {"command": "echo no"}}
            await view.approve_async(made)  # and who answers in the chat is too late
            said = await turn
        assert talk.choices.withdrawn.is_set()
    assert said == [text("I clean up."), code_output("echo no"), output("no"), text("Done.")]


async def test_stop_ends_the_turn_and_the_next_is_in_another_run(
    tmp_path: Path, run: Run, view: AsyncLiveView
) -> None:
    async with open_chat(
        tmp_path, make_risky_model(make_text_answer("Again."), make_text_answer("Bye.")), None
    ) as talk:
        dbg = run()
        with pytest.raises(AgentStopped):
            async with dbg:
                turn = asyncio.create_task(talk.send(dbg=dbg))
                await view.wait_for_halt()
                await asyncio.to_thread(view.stop)
                await turn
        async with run() as again:
            assert await talk.send(dbg=again) == [text("Done.")]
            run_id = again.run_id
        await asyncio.to_thread(view.wait_until_ended)
        rows = await asyncio.to_thread(view.list_rows)
        assert view.run.id == run_id
        assert EventKind.LLM_QUERY in {row.kind for row in rows}
        assert await talk.send(dbg=None) == [text("Again.")]  # and where there is none any more


async def test_a_denied_question_to_the_model_ends_the_turn(
    tmp_path: Path, run: Run, view: AsyncLiveView
) -> None:
    async with open_chat(tmp_path, make_risky_model()) as talk:
        async with run("step") as dbg:
            turn = asyncio.create_task(talk.send(dbg=dbg))
            await view.wait_for_halt()
            await view.deny_async("Not now.")
            with pytest.raises(ToolDeniedError, match=r"denied the query: Not now\."):
                await turn
