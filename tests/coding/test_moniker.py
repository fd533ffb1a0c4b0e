"""The coding agent as a background agent: a prompt a step, inside of its session's run."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb import AgentStepperCore
from agentstepper_nb.coding.moniker import CodingMoniker
from agentstepper_nb.coding.session_list import CodingDataPaths
from agentstepper_nb.protocol.data_model import EventKind, RunEnding
from agentstepper_nb.protocol.runtime import SessionStatus
from tests.coding import repair_scenarios
from tests.coding.debugged_agent import AsyncLiveView
from tests.runtime.live_sessions import harness

pytestmark = pytest.mark.usefixtures("cached_python")

#: Says how many messages it was sent, and keeps going at “on and on”.
COUNTS = """\
from agentstepper_nb.models.scripted import *

def answer(request):
    if any("on and on" in m.text for m in request.messages if m.role == "user"):
        if find_turn(request) < 3:
            return say("More.", ScriptedCall("list_files", {}))
    return say(f"I have {len([m for m in request.messages if m.role == 'user'])} prompts.")

script = Script("counts", [ScriptRule(always, answer)])
"""
SILENT = "from agentstepper_nb.models.scripted import *\nscript = Script('silent', [])\n"


@pytest.fixture(autouse=True)
def own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in repair_scenarios.environment().items():
        monkeypatch.setenv(name, value)
    folder = tmp_path / "scripts"
    folder.mkdir()
    shutil.copy(repair_scenarios.script("bill"), folder)
    (folder / "counts.py").write_text(COUNTS)
    (folder / "silent.py").write_text(SILENT)
    monkeypatch.setenv("AGENTSTEPPER_SCRIPTS", str(folder))


@pytest.fixture
def found(core: AgentStepperCore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTSTEPPER_URL", f"ws://127.0.0.1:{core.client_port}")


def config(folder: Path, **given: Any) -> dict[str, Any]:
    workspace = folder / "ws"
    workspace.mkdir(exist_ok=True)
    return {
        "workspace": str(workspace),
        "prompt": "Hello.",
        "provider": "scripted",
        "model": "counts",
    } | given


@pytest.mark.slow
@pytest.mark.usefixtures("found")
async def test_it_mends_a_repository_with_an_approval_of_a_person(
    tmp_path: Path, view: AsyncLiveView
) -> None:
    copy = repair_scenarios.prepare("bill", tmp_path)
    given = config(tmp_path, workspace=str(copy), prompt=repair_scenarios.PROMPT, model="bill")
    async with harness(tmp_path / "data", debugger=True) as home:
        agent = await home.start_agent(CodingMoniker, moniker="coding", config=given)
        asked = await view.wait_for_halt()
        assert asked == {"Tool": "run_command", "Argument": repair_scenarios.ASKED}
        await view.approve_async({"Tool": "run_command", "Argument": repair_scenarios.EDITED})
        await agent.join()
        state, (row,) = await home.state(), await home.steps()
    assert repair_scenarios.is_mended(copy)
    assert (state.status, row.data["reason"]) == (SessionStatus.DONE, "done")
    assert row.text is not None and row.text.startswith("All tests pass.")
    # All of it is one run: the step, and in it the model's questions and the tools' calls.
    run = await asyncio.to_thread(view.wait_until_ended)
    assert (len(view.runs), run.program, run.ending) == (1, "a · coding", RunEnding.FINISHED)
    rows = await asyncio.to_thread(view.list_rows)
    assert {EventKind.LLM_QUERY, EventKind.TOOL_INVOCATION} <= {row.kind for row in rows}
    names = {row.name for row in rows if row.kind is EventKind.TOOL_INVOCATION}
    assert {"coding", "run_command", "write_file"} <= names


@pytest.mark.slow
@pytest.mark.usefixtures("found")
async def test_nothing_but_an_approval_approves_what_it_asks(
    tmp_path: Path, view: AsyncLiveView
) -> None:
    """No resumed session, no guidance, no step, and no Continue."""
    copy = repair_scenarios.prepare("bill", tmp_path)
    before = sorted((copy / "build").rglob("*"))
    given = config(tmp_path, workspace=str(copy), prompt=repair_scenarios.PROMPT, model="bill")
    async with harness(tmp_path / "data", debugger=True) as home:
        agent = await home.start_agent(CodingMoniker, moniker="coding", config=given)
        assert await view.wait_for_halt() == {
            "Tool": "run_command",
            "Argument": repair_scenarios.ASKED,
        }
        await home.pause(agent)
        await home.resume(agent)
        await home.input(agent, "Yes, approve it.")
        for _ in range(3):
            with pytest.raises(AssertionError, match="needs_approval"):
                await view.step_async()
            await asyncio.to_thread(view.resume)
        assert await view.wait_for_halt() == {
            "Tool": "run_command",
            "Argument": repair_scenarios.ASKED,
        }
        assert sorted((copy / "build").rglob("*")) == before != []
        await asyncio.to_thread(view.stop)
        await agent.join()
    assert sorted((copy / "build").rglob("*")) == before


async def test_guidance_is_a_prompt_and_a_new_life_knows_what_was_said(tmp_path: Path) -> None:
    async with harness(tmp_path / "data") as home:
        keeps_on = {"stop_on_done": False}
        agent = await home.start_agent(CodingMoniker, config=config(tmp_path), limits=keeps_on)
        await home.wait_for_iteration(1)
        await home.input(agent, "And now?")
        await home.wait_for_iteration(2)
        await agent.suspend()
        again = home.agent(await home.take_over(), CodingMoniker)
        again.start()  # which waits on, until it is told something
        await home.input(again, "And then?")
        await home.wait_for_iteration(3)
        rows, (kept,) = await home.steps(), CodingDataPaths(tmp_path / "data").sessions()
        assert [row.text for row in rows] == [
            "I have 1 prompts.",
            "I have 2 prompts.",
            "I have 3 prompts.",
        ]
        assert [row.guidance for row in rows] == [None, "And now?", "And then?"]
        assert rows[2].state == {"coding_session": kept.id, "cut": False}


async def test_a_prompt_that_was_cut_goes_on_in_the_next_step(tmp_path: Path) -> None:
    async with harness(tmp_path / "data") as home:
        given = config(tmp_path, prompt="Go on and on.", max_iterations=2)
        agent = await home.start_agent(CodingMoniker, config=given)
        await agent.join()
        rows = await home.steps()
        assert [row.data["reason"] for row in rows] == ["max_iterations", "done"]
        assert rows[1].text == "I have 2 prompts."


async def test_a_model_that_gives_no_answer_is_an_error_step(tmp_path: Path) -> None:
    async with harness(tmp_path / "data") as home:
        given = config(tmp_path, model="silent")
        agent = await home.start_agent(CodingMoniker, config=given)
        await agent.join()
        (row,) = await home.steps()
        assert "No rule of the script" in (row.error or "")


@pytest.mark.slow
@pytest.mark.usefixtures("found")
async def test_stop_at_what_it_asks_stops_the_session(tmp_path: Path, view: AsyncLiveView) -> None:
    copy = repair_scenarios.prepare("bill", tmp_path)
    given = config(tmp_path, workspace=str(copy), prompt=repair_scenarios.PROMPT, model="bill")
    async with harness(tmp_path / "data", debugger=True) as home:
        agent = await home.start_agent(CodingMoniker, moniker="coding", config=given)
        await view.wait_for_halt()
        await asyncio.to_thread(view.stop)
        await agent.join()
        assert (await home.state()).status is SessionStatus.STOPPED
        assert await home.steps() == []
    assert (await asyncio.to_thread(view.wait_until_ended)).ending is RunEnding.STOPPED
