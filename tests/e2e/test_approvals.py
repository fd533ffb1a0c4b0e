"""What an agent asks before a call, answered in a browser: edited, denied, and allowed for good."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import BrowserContext, Locator, expect

from .axe import AXE, expect_clean
from .jupyter import Jupyter
from .lab import DebuggerView
from .test_accessibility import PLACES
from .test_several_agents import choose

#: It runs on, asks three times, and prints what came of each.
AGENT = """
import json, sys
from agentstepper_nb import AgentStepper, Approval, ToolDeniedError
with AgentStepper(sys.argv[1], mode="continue") as dbg:
    for folder in ("build", "src", "dist"):
        approval = Approval("It deletes a folder and all in it.", "high", rule="remove " + folder)
        try:
            with dbg.tool("remove", {"folder": folder}, approval=approval) as tool:
                tool.result = None
                said = [tool.args, approval.always]
        except ToolDeniedError as error:
            said = str(error)
        print(json.dumps(said), flush=True)
"""


@contextmanager
def asking(jupyter: Jupyter, program: str) -> Iterator[Iterator[Any]]:
    """An agent in a process of its own; gives what came of what it asked, one after the other."""
    process = subprocess.Popen(
        [sys.executable, "-c", AGENT, program],
        env=jupyter.environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield map(json.loads, process.stdout)
    finally:
        process.kill()
        process.communicate()


def approve(bar: Locator, name: str) -> None:
    """Approve what is of high risk: once more than a double click does."""
    first = bar.get_by_role("button", name=name)
    expect(first).not_to_have_attribute("aria-disabled", "true")
    first.dblclick()
    expect(bar.get_by_role("group", name="Confirm the approval")).to_contain_text("High risk")
    bar.get_by_role("button", name="Yes, approve remove").click()


def expect_asked(view: DebuggerView, folder: str) -> Locator:
    """It waits for an approval to remove a folder; gives the bar that asks."""
    view.expect_state("Waiting for approval")
    halted = view.root.locator(".as-Row.as-mod-halted")
    expect(halted).to_contain_text(f"remove {folder}")
    expect(halted.get_by_role("img", name="asks for approval")).to_be_visible()
    bar = view.root.get_by_role("region", name="Approval")
    expect(bar).to_contain_text("It deletes a folder and all in it.")
    expect(bar).to_contain_text(f"Also allow from now on: remove {folder}")
    return bar


@pytest.mark.parametrize(
    ("width", "theme"),
    [(1000, "light"), pytest.param(340, "dark", marks=pytest.mark.soak)],
)
def test_a_call_is_edited_denied_and_allowed_for_good(
    context: BrowserContext,
    jupyter: Jupyter,
    screenshots: Path,
    width: int,
    theme: Literal["light", "dark"],
) -> None:
    page = context.new_page()
    page.emulate_media(color_scheme=theme)
    page.set_viewport_size({"width": width, "height": 640})
    page.goto(f"{jupyter.url}agentstepper/app?token={jupyter.token}")
    view = DebuggerView(page.locator(".as-Root"))
    with asking(jupyter, f"asking-{width}") as came:
        choose(view, f"asking-{width}")
        bar = expect_asked(view, "build")
        places, first = page.evaluate(PLACES), view.rows().first.bounding_box()
        expect(view.button("Continue")).to_have_attribute("aria-disabled", "true")
        page.screenshot(path=screenshots / f"asked-{width}-{theme}.png")
        if AXE.exists():
            expect_clean(page)

        view.root.locator(".as-mod-halted").focus()
        page.keyboard.press("e")
        view.root.get_by_label("folder").fill("build/old")
        approve(bar, "Approve edited…")
        assert next(came) == [{"folder": "build/old"}, False]

        bar = expect_asked(view, "src")
        assert page.evaluate(PLACES) == places
        assert view.rows().first.bounding_box() == first
        view.root.locator(".as-mod-halted").focus()
        page.keyboard.press("d")
        expect(bar.get_by_role("textbox", name="Reason for the denial")).to_be_focused()
        page.keyboard.type("The sources stay.")
        page.screenshot(path=screenshots / f"denying-{width}-{theme}.png")
        page.keyboard.press("Enter")
        assert next(came) == "The sources stay."
        expect(view.root.get_by_role("img", name="denied: The sources stay.")).to_be_visible()

        bar = expect_asked(view, "dist")
        bar.get_by_role("checkbox").check()
        approve(bar, "Approve…")
        assert next(came) == [{"folder": "dist"}, True]
        view.expect_state("Finished")
        assert page.evaluate(PLACES) == places

        view.root.get_by_role("img", name="approved").last.click()
        expect(bar).to_contain_text("Approved, and allowed from now on: remove dist")
        page.screenshot(path=screenshots / f"answered-{width}-{theme}.png")
