"""Agents of LangGraph and OpenAI Agents in JupyterLab, of which no line knows the debugger."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from agentstepper_nb.models.scripted import ScriptedServer
from tests.frameworks.agent_process import SCRIPT

from .axe import AXE, expect_clean
from .conftest import NewLab
from .pictures import Pictures
from .test_step_in_jupyterlab import edit_field

AGENTS = Path(__file__).parents[1] / "frameworks" / "agents"


@pytest.fixture
def model() -> Iterator[ScriptedServer]:
    with ScriptedServer(SCRIPT) as server:
        yield server


# tests/frameworks has all of them each time, in processes; OpenAI Agents also in cells.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("framework", "mode"),
    [
        ("langgraph", "sync"),
        pytest.param("openai-agents", "asynchronous", marks=pytest.mark.soak),
        pytest.param("langgraph", "asynchronous", marks=pytest.mark.soak),
        pytest.param("openai-agents", "sync", marks=pytest.mark.soak),
    ],
)
def test_an_agent_is_stepped_and_edited(
    framework: str, mode: str, new_lab: NewLab, model: ScriptedServer, pictures: Pictures
) -> None:
    file = AGENTS / f"{framework}.py"
    source = file.read_text()
    is_async = mode == "asynchronous"
    call = "print(await agent.asynchronous('add'))" if is_async else "print(agent.sync('add'))"
    # A cell that awaits, and the SDK's run_sync, can't be on the thread that has the kernel's loop. The
    # kernel's main thread is blocked in any case: it waits for the cell.
    is_main = framework == "langgraph" and not is_async
    magic = "%%step --main" if is_main else "%%step"
    cells = [
        "%load_ext agentstepper_nb",
        f"__file__ = {str(file)!r}\n{source}\n\nagent = Agent({model.base_url!r})",
        f"{magic} {framework}\n{call}",
    ]
    lab = new_lab(cells, "agents")
    lab.run(0)
    lab.run(1)
    expect(lab.prompt(1)).to_have_text("[2]:", timeout=60_000)
    lab.run(2)
    view = lab.view(2)
    view.expect_state("Halted before LLM query", timeout=60_000)
    edit_field(view, "add", "add, please")
    view.press("Step with edit")
    view.expect_state("Halted after LLM query")
    view.press("Step")
    view.expect_state("Halted before tool call")
    edit_field(view, "3", "40")
    lab.cell(2).evaluate("node => node.scrollIntoView({block: 'center'})")
    pictures.take(lab.page, f"{framework}-{mode}")
    if AXE.exists():
        expect_clean(lab.page)
    view.press("Step with edit")
    view.expect_state("Halted after tool call")
    view.press("Continue")
    view.expect_state("Finished")
    expect(lab.outputs(2)).to_contain_text("The tools say: 42")
    assert "add, please" in str(model.exchanges[0].json)
    library = {"langgraph": "langchain-core", "openai-agents": "openai-agents"}[framework]
    expect(lab.outputs(2)).to_contain_text("Halting at queries of httpx")
    expect(lab.outputs(2)).to_contain_text(f"tools of {library}")
    view.root.get_by_role("button", name="Seams: ").click()
    seams = view.root.get_by_role("dialog", name="Seams and tools")
    expect(seams.get_by_role("listitem").filter(has_text=library)).to_contain_text("tool calls")
    expect(seams.get_by_role("listitem").filter(has_text="adapter")).to_have_text("addadapter")
    assert lab.errors == []
