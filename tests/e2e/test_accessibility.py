"""What a person looks at: nothing that axe finds, and nothing in the header that moves."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.helpers.sampling import select_sample

from .axe import AXE, expect_clean
from .jupyter import Jupyter
from .lab import DebuggerView
from .test_page import edit_argument
from .test_several_agents import agent, choose

#: Where each thing stands whose place must not depend on what a run does.
PLACES = """() => Object.fromEntries(
    [...document.querySelectorAll(
        '.as-Header button, .as-Header a, .as-Tab, .as-Search, .as-Segments button, .as-EditButton'
    )].map((each, at) => {
        const { x, y, width, height } = each.getBoundingClientRect();
        return [at, [x, y, width, height]];
    })
)"""


@pytest.mark.skipif(not AXE.exists(), reason="the JavaScript was built without its tools")
@pytest.mark.parametrize("theme", select_sample(("light", "dark"), "light"))
def test_the_main_states_are_accessible(
    context: BrowserContext, jupyter: Jupyter, theme: Any
) -> None:
    page = context.new_page()
    page.emulate_media(color_scheme=theme)
    page.goto(f"{jupyter.url}agentstepper/app?token={jupyter.token}")
    view = DebuggerView(page.locator(".as-Root"))
    program = f"looked-at-{theme}"
    with agent(jupyter, program):
        choose(view, program)
        view.expect_state("Halted")
        view.press("Step")
        view.expect_state("Halted before tool call")
        expect_clean(page)
        edit_argument(view, "{")
        expect(view.root).to_contain_text("Not JSON")
        expect_clean(page)
        view.root.get_by_label("number").fill("41")
        view.press("Step with edit")
        view.expect_state("Halted after tool call")
        view.rows().nth(1).click()
        view.root.get_by_role("tab", name="Diff", exact=True).click()
        expect(view.root.locator(".as-Diff")).to_contain_text("41")
        expect_clean(page)
        view.root.locator(".as-Run").click()
        expect(view.root.get_by_role("dialog")).to_be_visible()
        expect_clean(page)
        page.keyboard.press("Escape")
        view.rows().nth(1).focus()
        page.keyboard.press("r")
        expect(view.root.get_by_role("grid", name="Runs")).to_be_visible()
        expect_clean(page)
        page.keyboard.press("1")
    view.expect_state("Crashed")
    expect_clean(page)


@pytest.mark.parametrize("width", select_sample((340, 1000), 340))
def test_nothing_in_the_header_moves(context: BrowserContext, jupyter: Jupyter, width: int) -> None:
    page = context.new_page()
    page.set_viewport_size({"width": width, "height": 640})
    page.goto(f"{jupyter.url}agentstepper/app?token={jupyter.token}")
    view = DebuggerView(page.locator(".as-Root"))
    program = f"unmoved-{width}"
    halted = view.root.locator(".as-mod-halted .as-Row-n")
    with agent(jupyter, program):
        choose(view, program)
        expect(halted).to_have_text("1")
        before = page.evaluate(PLACES)
        first = view.rows().first.bounding_box()
        for number in range(2, 8):
            view.press("Step")
            expect(halted).to_have_text(str(number))
            assert page.evaluate(PLACES) == before
            assert view.rows().first.bounding_box() == first
        # What is filled may change; where it stands may not.
        view.press("Continue")
        view.expect_state("Finished")
        assert page.evaluate(PLACES) == before
