"""A finished run is forked from the view: real commands on a real server, in a browser."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from .axe import expect_clean
from .conftest import NewLab
from .jupyter import Jupyter
from .lab import DebuggerView, open_page
from .test_several_agents import choose

#: Calls a tool twice, which counts its calls in a file.
AGENT = """
import sys
from agentstepper_nb import AgentStepper

def look_up(word: str) -> str:
    with open("counted", "a") as file:
        file.write(word + " ")
    return word.upper()

with AgentStepper("forked agent") as dbg:
    look = dbg.traced_tool(look_up)
    second = "b" if look("a") == "A" else "other"
    with open("answer", "w") as file:
        file.write(look(second))
"""


def record(
    view: DebuggerView, jupyter: Jupyter, folder: Path, program: str = "forked agent"
) -> None:
    """Run the command, which a person lets go on."""
    (folder / "agent.py").write_text(AGENT.replace("forked agent", program))
    command = [sys.executable, "-m", "agentstepper_nb", "run", "--", sys.executable, "agent.py"]
    process = subprocess.Popen(command, cwd=folder, env=jupyter.environment())
    try:
        choose(view, program)
        view.expect_state("Halted")
        view.press("Continue")
        view.expect_state("Finished")
        assert process.wait(timeout=20) == 0
    finally:
        process.kill()
        process.wait()


def test_a_finished_run_is_forked_at_a_row(
    context: BrowserContext, jupyter: Jupyter, tmp_path: Path
) -> None:
    page, view = open_page(context, jupyter)
    record(view, jupyter, tmp_path)
    assert (tmp_path / "counted").read_text() == "a b "
    rows = view.root.locator(".as-Row")
    rows.filter(has_text="look_up").nth(1).click()  # the end of the first call
    view.press("Fork here")
    view.expect_state("Halted after tool call")
    assert (tmp_path / "counted").read_text() == "a b "  # the first call was served
    expect(view.root.locator(".as-mod-halted")).to_contain_text("look_up")
    view.root.locator(".as-Run").click()
    items = view.root.locator(".as-RunItem")
    below = items.filter(has_text="forked agent").filter(has_text="fork at row 3")
    expect(below).to_have_count(1)
    indents = items.evaluate_all(
        "all => all.map(each => parseFloat(getComputedStyle(each.firstChild).paddingLeft))"
    )
    texts = items.all_inner_texts()
    words = {"forked agent", "fork at row 3"}
    at = next(at for at, text in enumerate(texts) if all(word in text for word in words))
    assert "Finished" in texts[at - 1]  # its parent, further to the left
    assert indents[at] > indents[at - 1]
    expect_clean(page)
    page.keyboard.press("Escape")
    view.press("Edit this result")
    field = view.root.locator(".cm-content")  # other text boxes are there before the editor
    field.press("Control+a")
    field.type('"none"')
    view.press("Step with edit")
    view.expect_state("Halted before tool call")
    view.press("Continue")
    view.expect_state("Finished")
    assert (tmp_path / "answer").read_text() == "OTHER"
    assert (tmp_path / "counted").read_text() == "a b other "


@pytest.mark.slow
def test_a_cell_is_forked_in_its_notebook(own_lab: NewLab, jupyter: Jupyter) -> None:
    cells = [
        "%load_ext agentstepper_nb\nCALLS = []\ndef look_up(word: str) -> str:\n"
        "    CALLS.append(word)\n    return word.upper()",
        "%%step cells\nlook = dbg.traced_tool(look_up)\nprint('got', look('a'), look('b'))",
    ]
    lab = own_lab(cells)
    lab.run(0)
    lab.run(1)
    view = lab.view(1)
    view.expect_state("Halted before tool call", timeout=60_000)
    view.press("Continue")
    view.expect_state("Finished")
    view.root.locator(".as-Row").filter(has_text="look_up").nth(1).click()
    view.press("Fork here")
    view.press("In this kernel")
    again = lab.view(2)
    again.expect_state("Halted after tool call")
    expect(lab.cell(2)).to_contain_text("--fork")
    expect(lab.outputs(2).first).to_contain_text("with the names of this kernel as they are now")
    again.press("Continue")
    again.expect_state("Finished")
    expect(lab.outputs(2).filter(has_text="got A B").first).to_be_visible()
    assert lab.errors == []


RESTART = "Restart, and run the cells above first"


@pytest.mark.soak  # js/tests/lab/notebooks has it without a browser
def test_a_cell_is_forked_in_a_restarted_kernel(own_tab: NewLab, jupyter: Jupyter) -> None:
    cells = [
        "%load_ext agentstepper_nb\nCALLS, WORDS = [], ['a', 'b']\ndef look_up(word: str) -> str:\n"
        "    CALLS.append(word)\n    return word.upper()",
        "%%step cells\nlook = dbg.traced_tool(look_up)\nprint('got', *map(look, WORDS), CALLS)",
        "WORDS = ['c']",
    ]
    lab = own_tab(cells)
    lab.run(0)
    lab.run(1)
    view = lab.view(1)
    view.expect_state("Halted before tool call", timeout=60_000)
    view.press("Continue")
    view.expect_state("Finished")
    lab.run(2)
    expect(lab.prompt(2)).to_have_text("[3]:")
    view.root.locator(".as-Row").filter(has_text="look_up").nth(1).click()
    view.press("Fork here")
    expect(view.root.get_by_role("dialog")).to_contain_text("its names are gone")
    view.press(RESTART)
    again = lab.view(2)  # below the recorded cell
    again.expect_state("Halted after tool call", timeout=60_000)
    expect(lab.cell(2)).to_contain_text("--fork")
    expect(lab.prompt(0)).to_have_text("[1]:")  # of the new kernel
    expect(view.root.get_by_role("dialog")).to_have_count(0)
    again.press("Continue")
    again.expect_state("Finished")
    # The first call was served, and no name is left that the kernel had.
    expect(lab.outputs(2).filter(has_text="got A B ['b']").first).to_be_visible()
    assert lab.errors == []


@pytest.mark.soak  # js/tests/lab/notebooks has it without a browser
def test_no_kernel_is_restarted_for_a_cell_that_was_changed(
    own_lab: NewLab, jupyter: Jupyter
) -> None:
    cells = [
        "%load_ext agentstepper_nb\ndef look_up(word: str) -> str:\n    return word.upper()",
        "%%step cells\nprint('got', dbg.traced_tool(look_up)('a'))",
        "1 + 1",
    ]
    lab = own_lab(cells)
    lab.run(0)
    lab.run(1)
    view = lab.view(1)
    view.expect_state("Halted before tool call", timeout=60_000)
    view.press("Continue")
    view.expect_state("Finished")
    lab.page.evaluate(
        "() => window.jupyterapp.shell.currentWidget.content.widgets[1].model.sharedModel"
        ".setSource('%%step cells\\nprint(1)')"
    )
    view.root.locator(".as-Row").filter(has_text="look_up").nth(1).click()
    view.press("Fork here")
    view.press(RESTART)
    dialog = view.root.get_by_role("dialog")
    expect(dialog.get_by_role("alert")).to_contain_text("No open notebook has the recorded cell")
    expect(dialog).to_contain_text("dbg.traced_tool")  # to be copied
    lab.run(2)
    expect(lab.prompt(2)).to_have_text("[3]:")  # the kernel is the same
    assert lab.errors == []


#: Is replayed after its program was changed: the second call is another.
CHANGED = """
from agentstepper_nb import Divergence, replay_run

source = open("agent.py").read().replace('"b" if', '"c" if')

def agent():
    exec(compile(source, "agent.py", "exec"), {"__name__": "agent"})

try:
    replay_run("changed agent", agent, halts=True)
except Divergence as error:
    open("divergence", "w").write(str(error))
"""


@pytest.mark.slow
def test_a_replay_halts_where_its_program_does_something_else(
    context: BrowserContext, jupyter: Jupyter, tmp_path: Path
) -> None:
    page, view = open_page(context, jupyter)
    record(view, jupyter, tmp_path, "changed agent")
    (tmp_path / "changed.py").write_text(CHANGED)
    process = subprocess.Popen(
        [sys.executable, "changed.py"], cwd=tmp_path, env=jupyter.environment()
    )
    try:
        view.root.locator(".as-Run").click()
        replay = view.root.locator(".as-RunItem").filter(has_text="changed agent")
        replay.filter(has_text="replay").locator(".as-RunItem-name").click()
        view.expect_state("Halted before tool call")
        row = view.root.locator(".as-mod-halted")
        expect(row.get_by_text("Diverged")).to_be_visible()
        expect_clean(page)
        view.press("Continue")
        assert process.wait(timeout=20) == 0
    finally:
        process.kill()
        process.wait()
    assert (tmp_path / "counted").read_text() == "a b "  # nothing was called
    told = (tmp_path / "divergence").read_text()
    assert '-  "word": "b"' in told or '-    "word": "b"' in told
