"""The main job: an agent on the kernel's main thread, stepped in JupyterLab."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from agentstepper_nb.models.scripted.scripts.fix_tests import GUESSED_LINE, RIGHT_LINE

from .agents import QUEUED, KernelProbe, setup, step
from .conftest import NewLab
from .jupyter import Jupyter
from .lab import DebuggerView, Lab

_names = (f"cart-{number}" for number in itertools.count(1))


class BlockedKernelNotebook:
    """A notebook in which the agent runs on the main thread, and a cell is queued behind it."""

    def __init__(self, new_lab: NewLab, jupyter: Jupyter, *options: str, lines: int = 0) -> None:
        name = next(_names)
        self.folder = jupyter.folder / name
        port = jupyter.folder / f"{name}.port"
        head, code = step(name, *options).split("\n", 1)
        stepped = "\n".join([head, *["# a long cell"] * lines, code])
        self.lab: Lab = new_lab([setup(name, str(port)), stepped, QUEUED])
        self.lab.run(0)
        expect(self.lab.prompt(0)).to_have_text("[1]:", timeout=60_000)
        self.spy = KernelProbe(port)
        self.lab.run(1)
        self.view: DebuggerView = self.lab.view(1)
        self.view.expect_state("Halted before LLM query", timeout=60_000)
        self.lab.run(2)
        expect(self.lab.prompt(2)).to_have_text("[*]:")

    def press(self, name: str) -> None:
        """Press a button while the main thread is blocked in the SDK."""
        self.spy.expect_blocked()
        self.view.press(name)

    def expect_end(self, words: str) -> None:
        """Wait for the run's end, and for the queued cell, which now runs."""
        self.view.expect_state(words)
        expect(self.lab.prompt(2)).to_have_text("[3]:", timeout=30_000)
        assert self.spy.read_state()["ran"] == ["queued"]


def edit_json(view: DebuggerView, old: str, new: str) -> None:
    """Replace a text in the editor's JSON, by keyboard."""
    view.press(re.compile("^Edit this"))
    view.root.get_by_role("tab", name="JSON", exact=True).click()
    editor = view.root.locator(".cm-content")
    text = editor.evaluate("node => node.cmView?.view?.state.doc.toString() ?? node.innerText")
    assert old in text
    editor.click()
    editor.press("ControlOrMeta+a")
    editor.page.keyboard.insert_text(text.replace(old, new))


def edit_field(view: DebuggerView, old: str, new: str) -> None:
    """Replace a text in the field that holds it."""
    view.press(re.compile("^Edit this"))
    view.root.get_by_role("tab", name="Fields", exact=True).click()
    expect(view.root.locator(".as-Form").first).to_be_visible()
    for field in view.root.locator(".as-Form textarea, .as-Form input").all():
        if old in field.input_value():
            field.fill(field.input_value().replace(old, new))
            return
    raise AssertionError(f"no field holds {old!r}")


def test_step_edit_continue_halt_and_changes(
    new_lab: NewLab, jupyter: Jupyter, screenshots: Path
) -> None:
    corridor = BlockedKernelNotebook(new_lab, jupyter, "--main")
    view, spy, page = corridor.view, corridor.spy, corridor.lab.page
    corridor.lab.cell(1).scroll_into_view_if_needed()
    page.screenshot(path=screenshots / "lab-halted-light.png")

    view.step_to("Agent → Tools write_file", before=spy.expect_blocked)
    edit_json(view, GUESSED_LINE, RIGHT_LINE)
    page.screenshot(path=screenshots / "lab-edit-light.png")
    corridor.press("Step with edit")
    view.expect_state("Halted after tool call")
    assert RIGHT_LINE in (corridor.folder / "cart.py").read_text()

    view.step_to("Agent → Tools run_tests")
    spy.close_gate()
    corridor.press("Step")
    view.expect_state("Tool executing")
    spy.expect_queued()
    spy.open_gate()
    view.expect_state("Halted after tool call")

    view.root.get_by_role("tab", name="Changes").click()
    expect(view.root).to_contain_text("cart.py")
    expect(view.root.locator(".as-Diff")).to_contain_text("items), 2)")
    page.screenshot(path=screenshots / "lab-changes-light.png")
    corridor.lab.set_theme("JupyterLab Dark")
    page.screenshot(path=screenshots / "lab-changes-dark.png")
    view.root.get_by_role("tab", name="Timeline").click()
    page.screenshot(path=screenshots / "lab-halted-dark.png")
    corridor.press("Continue")
    corridor.expect_end("Finished")
    expect(corridor.lab.outputs(1)).to_contain_text("True")
    page.screenshot(path=screenshots / "lab-finished-dark.png")
    assert corridor.lab.errors == []


@pytest.mark.soak
def test_without_an_edit_the_tests_stay_red(new_lab: NewLab, jupyter: Jupyter) -> None:
    corridor = BlockedKernelNotebook(new_lab, jupyter, "--main")
    corridor.press("Continue")
    corridor.expect_end("Gave up")  # by its last words
    expect(corridor.lab.outputs(1)).to_contain_text("False")
    assert GUESSED_LINE in (corridor.folder / "cart.py").read_text()
    assert corridor.lab.errors == []


@pytest.mark.soak  # test_panel stops, tests/widgets/test_step has the line
def test_stop_ends_the_cell_with_a_line(new_lab: NewLab, jupyter: Jupyter) -> None:
    corridor = BlockedKernelNotebook(new_lab, jupyter, "--main")
    corridor.press("Stop")
    corridor.expect_end("Stopped")
    expect(corridor.lab.outputs(1)).to_contain_text("Stopped")
    expect(corridor.lab.outputs(1)).not_to_contain_text("Traceback")
    assert corridor.lab.errors == []
