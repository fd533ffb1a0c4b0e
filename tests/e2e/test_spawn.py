"""`dbg.spawn` from a cell: the child is stepped like any agent, and its output is the cell's."""

from __future__ import annotations

import os
import re
import signal

import pytest
from playwright.sync_api import expect

from agentstepper_nb.protocol.data_model import RunEnding

from .conftest import NewLab
from .jupyter import Jupyter
from .lab import DebuggerView, Lab
from .test_several_agents import api, choose

CHILD = """
import os
from agentstepper_nb import AgentStepper

print("child", os.getpid(), flush=True)
with AgentStepper("by the program") as dbg:
    with dbg.llm({"q": "what?"}) as q:
        q.response = "forty-two"
    print("the answer is", q.response, flush=True)
raise SystemExit(5)
"""
LOAD = "%load_ext agentstepper_nb\nimport sys"
SPAWN = """%%step parent
child = dbg.spawn([sys.executable, {program!r}], name={name!r})
print("exit code", child.wait())
"""


def started(new_lab: NewLab, jupyter: Jupyter, name: str) -> tuple[Lab, DebuggerView]:
    """A notebook whose cell waits for its child, which is halted at its start, and looked at."""
    program = f"{name}.py"
    (jupyter.folder / program).write_text(CHILD)
    lab = new_lab([LOAD, SPAWN.format(program=program, name=name)])
    lab.run(0)
    lab.run(1)
    view = lab.view(1)
    expect(lab.outputs(1)).to_contain_text(re.compile(r"child \d+"), timeout=60_000)
    choose(view, name)
    view.expect_state("Halted at the start")
    return lab, view


def ending_of(jupyter: Jupyter, name: str) -> str | None:
    (run,) = [run for run in api(jupyter, "runs")["runs"] if run["program"] == name]
    ending: str | None = run["ending"]
    return ending


@pytest.mark.soak  # tests/sdk/test_spawn_in_kernel has it without a browser
def test_a_child_is_stepped_and_its_output_stands_below_its_cell(
    new_lab: NewLab, jupyter: Jupyter
) -> None:
    lab, view = started(new_lab, jupyter, "stepped-child")
    view.press("Step")
    view.expect_state("Halted before LLM query")
    expect(lab.outputs(1)).not_to_contain_text("forty-two")
    view.press("Continue")
    view.expect_state("Finished")
    expect(lab.outputs(1)).to_contain_text("the answer is forty-two")
    expect(lab.outputs(1)).to_contain_text("exit code 5")
    expect(lab.prompt(1)).to_have_text("[2]:")
    choose(view, "parent")
    view.expect_state("Finished")
    assert lab.errors == []


@pytest.mark.soak  # tests/sdk/test_spawn has it without a browser
def test_an_interrupt_ends_the_child(new_lab: NewLab, jupyter: Jupyter) -> None:
    lab, view = started(new_lab, jupyter, "interrupted-child")
    found = re.search(r"child (\d+)", lab.outputs(1).inner_text())
    assert found
    lab.interrupt()
    view.expect_state("Stopped")
    expect(lab.prompt(1)).to_have_text("[2]:")
    expect(lab.outputs(1)).to_contain_text("KeyboardInterrupt")
    assert ending_of(jupyter, "interrupted-child") == RunEnding.STOPPED
    with pytest.raises(ProcessLookupError):
        os.kill(int(found[1]), 0)
    choose(view, "parent")
    view.expect_state("Stopped")


@pytest.mark.soak  # tests/sdk/test_spawn_in_kernel has its like without a browser
def test_a_child_that_is_killed_has_crashed_by_that_signal(
    new_lab: NewLab, jupyter: Jupyter
) -> None:
    lab, view = started(new_lab, jupyter, "killed-child")
    view.press("Step")
    view.expect_state("Halted before LLM query")
    found = re.search(r"child (\d+)", lab.outputs(1).inner_text())
    assert found
    os.kill(int(found[1]), signal.SIGKILL)
    view.expect_state("Crashed")
    expect(view.root).to_contain_text("The agent’s process was killed by SIGKILL")
    expect(view.root).to_contain_text("Its last event: LLM query")
    expect(lab.outputs(1)).to_contain_text("exit code -9")
