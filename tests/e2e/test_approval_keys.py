"""Which keys and buttons answer what an agent asks, and that no other does, in JupyterLab."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from .conftest import NewLab
from .jupyter import Jupyter
from .lab import DebuggerView, Lab

#: Asks four times, on the kernel's main thread; keeps what came of each.
AGENT = """
%load_ext agentstepper_nb
from agentstepper_nb import AgentStepper, Approval, ToolDeniedError
def request_approval(dbg, name, risk):
    try:
        with dbg.tool(name, {"folder": "build"}, approval=Approval("It deletes.", risk)) as tool:
            tool.result = None
            return name
    except ToolDeniedError as error:
        return f"{name}: {error}"
"""
ASKING = """
%%step asking
risks = {"one": "low", "two": "medium", "three": "high", "four": "high"}
came = [request_approval(dbg, *each) for each in risks.items()]
print(came)
"""


def asking(new_lab: NewLab) -> tuple[Lab, DebuggerView, Locator]:
    """A notebook whose agent asks, halted there; with its view and the bar that asks."""
    lab = new_lab([AGENT, ASKING.lstrip(), "pass"])
    lab.run(0)
    expect(lab.prompt(0)).to_have_text("[1]:", timeout=60_000)
    lab.run(1)
    view = lab.view(1)
    view.expect_state("Waiting for approval", timeout=60_000)
    return lab, view, view.root.get_by_role("region", name="Approval")


def expect_asks(view: DebuggerView, tool: str) -> None:
    """The agent still waits for an answer about a tool."""
    view.expect_state("Waiting for approval")
    expect(view.root.locator(".as-Row.as-mod-halted")).to_contain_text(tool)


def press_all(lab: Lab, view: DebuggerView) -> None:
    """Press whatever answers nothing, where the focus is on the halted row of the view."""
    for key in ["F10"] * 20 + ["F9", "Enter", " ", "a", "A", "y"]:
        view.root.locator(".as-Row.as-mod-halted").focus()
        lab.page.keyboard.press(key)


@pytest.mark.slow
def test_no_key_but_its_own_approves(new_lab: NewLab, jupyter: Jupyter) -> None:
    lab, view, bar = asking(new_lab)
    page = lab.page
    approve = bar.get_by_role("button", name="Approve")
    expect(approve).not_to_have_attribute("aria-disabled", "true")
    cells = page.locator(".jp-Notebook .jp-Cell")
    count = cells.count()

    # In the view.
    press_all(lab, view)
    expect_asks(view, "one")
    expect(cells).to_have_count(count)  # nor did JupyterLab take the letters
    view.root.locator(".as-Row.as-mod-halted").focus()
    page.keyboard.press("F10")
    expect(bar).to_be_focused()
    expect(bar).to_contain_text("The call is not approved yet: approve or deny it")
    step = view.button("Step")
    expect(step).to_have_attribute("aria-disabled", "true")
    expect(step).to_have_attribute("title", re.compile("approve or deny"))
    step.click(force=True)
    page.keyboard.press("Enter")
    page.keyboard.press(" ")
    expect_asks(view, "one")

    # In the notebook: the debugger's keys, JupyterLab's commands, and the letter that adds a cell.
    lab.cell(2).locator(".cm-content").click()
    for _ in range(20):
        page.keyboard.press("F10")
    expect(bar).to_be_focused()
    for command in ("step", "continue"):
        lab.execute(f"agentstepper:{command}")
    lab.cell(2).locator(".cm-content").click()
    page.keyboard.press("Escape")
    page.keyboard.press("Alt+a")
    page.keyboard.press("a")
    expect(cells).to_have_count(count + 1)
    expect_asks(view, "one")
    assert lab.errors == []


@pytest.mark.soak  # js/tests/approval has each risk's gestures
def test_low_and_medium_risk_take_one_gesture_and_high_risk_two(
    new_lab: NewLab, jupyter: Jupyter
) -> None:
    lab, view, bar = asking(new_lab)
    page = lab.page
    view.root.locator(".as-Row.as-mod-halted").focus()
    approve = bar.get_by_role("button", name="Approve")
    expect(approve).not_to_have_attribute("aria-disabled", "true")
    page.keyboard.press("Alt+a")
    view.step_to("Agent → Tools two")
    expect_asks(view, "two")
    expect(approve).not_to_be_focused()
    expect(approve).not_to_have_attribute("aria-disabled", "true")
    approve.dblclick()
    view.step_to("Agent → Tools three")

    expect_asks(view, "three")
    press_all(lab, view)
    expect_asks(view, "three")
    view.root.locator(".as-Row.as-mod-halted").focus()
    expect(approve).not_to_have_attribute("aria-disabled", "true")
    before = approve.bounding_box()
    for _ in range(3):
        page.keyboard.press("Alt+a")
    confirm = bar.get_by_role("group", name="Confirm the approval")
    expect(confirm).to_be_visible()
    yes = bar.get_by_role("button", name="Yes, approve three")
    expect(yes).not_to_have_attribute("aria-disabled", "true")
    for key in ("Alt+a", "Enter", " ", "F10"):
        page.keyboard.press(key)
    expect_asks(view, "three")
    after = yes.bounding_box()
    assert before and after
    assert after["x"] > before["x"] + before["width"]  # no press at one place is both
    view.root.locator(".as-Row.as-mod-halted").focus()
    page.keyboard.press("Alt+y")

    expect_asks(view, "four")  # F9 has let it run on
    view.root.locator(".as-Row.as-mod-halted").focus()
    page.keyboard.press("d")
    expect(bar.get_by_role("textbox")).to_be_focused()
    page.keyboard.type("Not this one.")
    page.keyboard.press("Enter")
    expect(lab.outputs(1)).to_contain_text("['one', 'two', 'three', 'four: ")
    expect(lab.outputs(1)).to_contain_text("Not this one.")
    assert lab.errors == []
