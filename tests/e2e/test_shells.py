"""The same scenario in each shell: look, edit, reload while halted, step, halt, and see it end."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.helpers.sampling import select_sample

from .lab import DebuggerView
from .pictures import Pictures
from .shells import QUESTION, SHELLS, Shell
from .test_step_in_jupyterlab import edit_field

ASKED = "What would six by nine be?"


def expect_rows(view: DebuggerView, count: int) -> None:
    """So many rows, each there once, in order."""
    expect(view.rows().locator(".as-Row-n")).to_have_text([str(n + 1) for n in range(count)])


def expect_once(shell: Shell) -> None:
    """Nothing is drawn twice, and nothing went wrong."""
    expect(shell.lab.page.locator(".as-Root")).to_have_count(shell.views)
    expect(shell.view.root).to_have_count(1)
    assert shell.errors() == []


@pytest.mark.slow
@pytest.mark.parametrize("name", select_sample(SHELLS, "notebook-inline"))
def test_the_scenario(request: pytest.FixtureRequest, pictures: Pictures, name: str) -> None:
    shell = SHELLS[name](request)
    view, spy = shell.view, shell.spy
    view.expect_state("Halted before LLM query")
    shell.expect_waiting()
    expect_rows(view, 2)

    view.rows().first.click()
    expect(view.rows().first).to_have_attribute("aria-selected", "true")
    view.rows().last.click()
    edit_field(view, QUESTION, ASKED)
    expect(view.button("Step with edit")).to_be_visible()
    if shell.reloads:
        shell.reload()
        view.expect_state("Halted before LLM query", timeout=60_000)
    shell.expect_waiting()
    expect_rows(view, 2)
    expect(view.root.locator(".as-Form textarea").last).to_have_value(ASKED)

    view.press("Step with edit")
    view.expect_state("Halted after LLM query")
    halted = view.root.locator(".as-Row.as-mod-halted")
    expect(halted).to_contain_text(f"You asked: {ASKED}")
    shell.expect_waiting()

    view.press("Step")
    view.expect_state("Halted before tool call")
    view.press("Step")
    view.expect_state("Halted after tool call")
    assert (shell.folder / "answer.txt").read_text() == f"You asked: {ASKED}"
    file = view.root.locator(".as-Row.as-mod-file")
    expect(file).to_have_count(1)
    expect(file).to_contain_text("answer.txt")
    file.click()
    expect(view.root.locator(".as-Diff")).to_contain_text(f"You asked: {ASKED}")
    shell.lab.cell(1).evaluate("cell => cell.scrollIntoView({ block: 'start' })")
    pictures.take(view.root.page, f"shell-{name}")

    spy.close_gate()
    shell.expect_waiting()
    view.press("Continue")
    view.expect_state("Tool executing")
    view.press("Halt")
    view.expect_state("Halting")
    spy.open_gate()  # the agent may come by some halt points before it hears of the halt
    view.expect_state("Halted")
    shell.expect_waiting()
    count = view.rows().count()
    expect_rows(view, count)
    spy.end_waiting_agent()
    view.press("Continue")
    view.expect_state("Finished")
    shell.lab.wait_for_kernel()  # the cell has ended, as far as a reloaded page can know
    assert view.rows().count() > count
    expect_rows(view, view.rows().count())
    expect_once(shell)
