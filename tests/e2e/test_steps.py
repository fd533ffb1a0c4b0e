"""Steps over, into and out by their keys, to an event by the menu, and of one agent beside another."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from .axe import AXE, expect_clean
from .jupyter import Jupyter
from .lab import DebuggerView, open_page
from .test_several_agents import choose

#: A sub-agent that calls tools of its own, and then another call.
_NESTED = """
import sys
from agentstepper_nb import AgentStepper

with AgentStepper(sys.argv[1], stop_on_entry=False) as dbg:
    with dbg.tool("delegate", {"to": "researcher"}), dbg.agent("researcher"):
        for number in range(30):
            with dbg.tool("look", {"number": number}):
                pass
    with dbg.tool("write", {}):
        pass
    with dbg.llm("What now?", model="m"):
        pass
"""

#: An agent whose first call lets a second begin beside it, and whose second call a third.
_PARALLEL = """
import asyncio
import sys
from agentstepper_nb import AsyncAgentStepper

async def work(dbg, name, waits_for, lets_go):
    with dbg.agent(name):
        if waits_for is not None:
            await waits_for.wait()
        for number in range(3):
            async with dbg.tool(f"{name}_{number}", {}):
                pass
            if number < len(lets_go):
                lets_go[number].set()

async def main():
    go = asyncio.Event(), asyncio.Event()
    async with AsyncAgentStepper(sys.argv[1], stop_on_entry=False) as dbg:
        async with asyncio.TaskGroup() as group:
            group.create_task(work(dbg, "first", None, go))
            group.create_task(work(dbg, "second", go[0], ()))
            group.create_task(work(dbg, "third", go[1], ()))

asyncio.run(main())
"""


@contextmanager
def program(jupyter: Jupyter, code: str, name: str) -> Iterator[None]:
    """An agent in a process of its own."""
    process = subprocess.Popen([sys.executable, "-c", code, name], env=jupyter.environment())
    try:
        yield
    finally:
        process.kill()
        process.wait()


def expect_halted(view: DebuggerView, *texts: str) -> None:
    """Wait until exactly these rows are halted at, by their text, and one of them can be answered."""
    halted = view.root.locator(".as-Row.as-mod-halted")
    expect(halted.locator(".as-Row-what")).to_contain_text(list(texts))
    # The run's header comes after its rows, and the selection with the header.
    expect(halted.and_(view.root.locator("[aria-selected=true]"))).to_have_count(1)


@pytest.mark.skipif(not AXE.exists(), reason="the JavaScript was built without its tools")
def test_a_sub_agent_is_stepped_over_by_keys(context: BrowserContext, jupyter: Jupyter) -> None:
    page, view = open_page(context, jupyter)
    with program(jupyter, _NESTED, "nested"):
        choose(view, "nested")
        expect_halted(view, "delegate")
        view.root.locator(".as-Row").last.focus()
        page.keyboard.press("F11")
        expect_halted(view, "look")
        page.keyboard.press("F10")
        expect(view.root.locator(".as-Row.as-mod-halted .as-Row-n")).to_have_text("4")
        expect_halted(view, "look")
        page.keyboard.press("Shift+F11")
        # After the start, its begin, and begin and end of the thirty calls inside.
        expect(view.root.locator(".as-Row.as-mod-halted .as-Row-n")).to_have_text("63")
        expect_halted(view, "delegate")
        page.keyboard.press("F10")
        expect_halted(view, "write")
        run_to_by_keyboard(page, view)
        expect_halted(view, "What now?")
        expect_clean(page)
        page.keyboard.press("F9")
        view.expect_state("Finished")


def run_to_by_keyboard(page: Page, view: DebuggerView) -> None:
    """Choose "Next query" in the menu."""
    view.button("Run to an event").focus()
    page.keyboard.press("Enter")
    item = view.root.get_by_role("menuitem", name="Run to here")
    expect(item).to_be_focused()
    expect_clean(page)
    page.keyboard.press("ArrowDown")
    expect(view.root.get_by_role("menuitem", name="Next query")).to_be_focused()
    page.keyboard.press("Enter")
    expect(item).to_have_count(0)


def test_one_agent_steps_and_the_other_goes_on_or_is_frozen(
    context: BrowserContext, jupyter: Jupyter
) -> None:
    page, view = open_page(context, jupyter)
    with program(jupyter, _PARALLEL, "beside"):
        choose(view, "beside")
        expect_halted(view, "first_0")
        view.step_to("first_1")
        # The second agent went on to its end meanwhile.
        expect(view.rows().filter(has_text="second_2")).to_have_count(2)
        expect_halted(view, "first_1")
        switch_freeze(view, on=True)
        view.press("Step over")
        expect_halted(view, "Returned nothing")
        view.press("Step over")
        expect_halted(view, "first_2", "third_0")
        page.keyboard.press("F9")
        view.expect_state("Finished")


def switch_freeze(view: DebuggerView, *, on: bool) -> None:
    view.press("Run to an event")
    switch = view.root.get_by_role("menuitemcheckbox", name="Freeze others")
    switch.click()
    expect(switch).to_have_attribute("aria-checked", str(on).lower())
    view.root.page.keyboard.press("Escape")
