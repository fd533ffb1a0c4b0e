"""Breakpoints in a real JupyterLab: a dry run on an ended run, and the next run halts there."""

from __future__ import annotations

import itertools

import pytest
from playwright.sync_api import Locator, expect

from .axe import expect_clean
from .conftest import NewLab
from .lab import DebuggerView, Lab

_numbers = itertools.count(1)

#: Twenty calls, of which one is the eighth.
_AGENT = """%%step {program}
for number in range(20):
    with dbg.tool("count", {{"number": number}}) as tool:
        tool.result = tool.args["number"]
"""


def opened(new_lab: NewLab, runs: int) -> Lab:
    """A notebook with the same agent in some cells, none of which has run."""
    program = f"counting-{next(_numbers)}"
    cells = ["%load_ext agentstepper_nb", *[_AGENT.format(program=program)] * runs]
    lab = new_lab(cells)
    lab.run(0)
    expect(lab.prompt(0)).to_have_text("[1]:", timeout=60_000)
    return lab


def begin(lab: Lab, cell: int) -> DebuggerView:
    """Run an agent up to its first halt."""
    lab.run(cell)
    view = lab.view(cell)
    view.expect_state("Halted before tool call", timeout=60_000)
    return view


def open_breakpoints(view: DebuggerView) -> Locator:
    """Go to the breakpoints; gives the bar."""
    view.root.get_by_role("tab", name="Breakpoints").click()
    return view.root.get_by_role("form", name="Add a breakpoint")


def breakpoint_row(view: DebuggerView, words: str) -> Locator:
    return view.root.locator(".as-BreakpointRow").filter(has_text=words)


@pytest.mark.slow
def test_a_breakpoint_from_a_dry_run_halts_the_next_run(new_lab: NewLab) -> None:
    lab = opened(new_lab, runs=2)
    view = begin(lab, 1)
    view.press("Continue")
    view.expect_state("Finished")

    bar = open_breakpoints(view)
    condition = bar.get_by_label("Condition")
    condition.fill("args.number ==")
    expect(bar.get_by_role("alert")).to_be_visible()
    expect(bar.get_by_role("button", name="Add breakpoint")).to_have_attribute(
        "aria-disabled", "true"
    )
    condition.fill("args.number == 7")
    expect(bar).to_contain_text("Would have hit 1 time in this run")
    bar.get_by_role("button", name="Event 16", exact=True).click()
    selected = view.root.locator(".as-Row[aria-selected='true']")
    expect(selected).to_contain_text("count 7")

    bar = open_breakpoints(view)
    expect(condition).to_have_value("args.number == 7")
    bar.get_by_role("button", name="Dry run on past runs").click()
    expect(bar.get_by_role("list", name="Past runs")).to_contain_text("1 hit")
    condition.press("Enter")
    expect(breakpoint_row(view, "args.number == 7")).to_be_visible()
    expect_clean(lab.page)

    view = begin(lab, 2)
    view.press("Continue")
    expect(view.root.locator(".as-Row.as-mod-halted")).to_contain_text("count 7")
    view.expect_state("at the breakpoint")
    expect(view.root.get_by_role("img", name="hit by a breakpoint")).to_have_count(1)
    open_breakpoints(view)
    row = breakpoint_row(view, "args.number == 7")
    expect(row.get_by_role("button", name="event 16")).to_be_visible()
    view.press("Continue")
    view.expect_state("Finished")
    assert lab.errors == []


@pytest.mark.soak  # js/tests has its parts
def test_a_breakpoint_like_a_row_that_only_logs(new_lab: NewLab) -> None:
    """Made by the key `s` while the agent is halted; disabled, it logs no more."""
    lab = opened(new_lab, runs=2)
    view = begin(lab, 1)
    view.root.locator(".as-Row.as-mod-halted").focus()
    lab.page.keyboard.press("s")
    bar = view.root.get_by_role("form", name="Add a breakpoint")
    condition = bar.get_by_label("Condition")
    expect(condition).to_be_focused()
    expect(bar.get_by_label("Tool")).to_have_value("count")
    lab.page.keyboard.type("args.number in [3, 4]")
    bar.get_by_label("Then").select_option("Log message")
    bar.get_by_role("button", name="Add breakpoint").click()
    row = breakpoint_row(view, "args.number in [3, 4]")
    expect(row).to_contain_text("Log")
    view.press("Continue")
    view.expect_state("Finished")
    expect(row.locator(".as-BreakpointRow-figure")).to_have_text("2")
    row.get_by_role("button", name="event 10").click()
    expect(view.root.get_by_role("img", name="logged by a breakpoint")).to_have_count(2)

    open_breakpoints(view)
    row.focus()
    lab.page.keyboard.press("Space")
    expect(row.get_by_role("switch")).to_have_attribute("aria-checked", "false")
    view = begin(lab, 2)
    view.press("Continue")
    view.expect_state("Finished")
    open_breakpoints(view)
    row = breakpoint_row(view, "args.number in [3, 4]")
    expect(row.locator(".as-BreakpointRow-figure")).to_have_text("0")
    assert lab.errors == []
