"""Two sub-agents that run in parallel: told apart, filtered, and given a breakpoint each."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from .axe import AXE, expect_clean
from .jupyter import Jupyter
from .lab import DebuggerView
from .pictures import Pictures
from .test_several_agents import choose

#: A planner, and in it two researchers and a writer that run at the same time.
_AGENT = """
import asyncio
import sys
from agentstepper_nb import AsyncAgentStepper

async def work(dbg, name, topic):
    with dbg.agent(name):
        for number in range(3):
            asked = {"role": "user", "content": f"{topic} {number}?"}
            async with dbg.llm({"messages": [asked]}) as query:
                query.response = {"role": "assistant", "content": f"{topic} {number}!"}
            async with dbg.tool("search", {"topic": topic, "number": number}) as tool:
                tool.result = f"{number} hits"

async def main():
    async with AsyncAgentStepper(sys.argv[1]) as dbg:
        with dbg.agent("planner"):
            parts = ("researcher", "deploys"), ("researcher", "builds"), ("writer", "report")
            await asyncio.gather(*(work(dbg, *part) for part in parts))

asyncio.run(main())
"""


@contextmanager
def parallel_agents(jupyter: Jupyter, program: str) -> Iterator[None]:
    """The agents, in a process of their own."""
    process = subprocess.Popen([sys.executable, "-c", _AGENT, program], env=jupyter.environment())
    try:
        yield
    finally:
        process.kill()
        process.wait()


def open_view(
    context: BrowserContext, jupyter: Jupyter, theme: Any, width: int
) -> tuple[Page, DebuggerView]:
    page = context.new_page()
    page.emulate_media(color_scheme=theme)
    page.set_viewport_size({"width": width, "height": 680})
    page.goto(f"{jupyter.url}agentstepper/app?token={jupyter.token}")
    return page, DebuggerView(page.locator(".as-Root"))


def halted(view: DebuggerView, agent: str) -> Locator:
    """The rows at which an agent waits: that of its name alone, without a number."""
    return view.root.locator(".as-mod-halted").filter(
        has=view.root.page.get_by_title(f"Agent {agent}, in planner", exact=True)
    )


def choose_agents(view: DebuggerView, *titles: str) -> None:
    view.root.get_by_role("button", name="Filter by agent").click()
    listed = view.root.get_by_role("dialog", name="Agents shown")
    for title in titles:
        listed.get_by_role("checkbox", name=title, exact=True).check()
    view.root.page.keyboard.press("Escape")
    expect(listed).to_have_count(0)


def step_agent(view: DebuggerView, agent: str, words: str) -> None:
    """Step one agent alone, until it waits where its row says so."""
    before = halted(view, agent)
    before.click()
    expect(before).to_have_attribute("aria-selected", "true")
    view.press("Step")
    expect(halted(view, agent)).to_contain_text(words)


@pytest.mark.slow
@pytest.mark.skipif(not AXE.exists(), reason="the JavaScript was built without its tools")
def test_parallel_agents_are_told_apart_filtered_and_given_breakpoints(
    context: BrowserContext, jupyter: Jupyter, pictures: Pictures
) -> None:
    page, view = open_view(context, jupyter, "light", 1400)
    with parallel_agents(jupyter, "parallel"):
        choose(view, "parallel")
        view.expect_state("Halted")
        view.press("Step")
        agents = ("researcher", "researcher 2", "writer")
        for agent in agents:
            expect(halted(view, agent)).to_have_count(1)
        for words in ("deploys 0!", "search"):
            step_agent(view, "researcher", words)
        step_agent(view, "researcher 2", "builds 0!")
        step_agent(view, "researcher", "0 hits")
        step_agent(view, "writer", "report 0!")
        expect_clean(page)
        take_looks(page, view, pictures, "lanes")

        choose_agents(view, "researcher 2 in planner")
        chips = view.root.locator(".as-Row:not(.as-mod-halted) .as-Lane")
        expect(chips).to_have_text(["researcher 2"])
        for agent in agents:  # what waits is shown, whoever's it is
            expect(halted(view, agent)).to_have_count(1)
        expect_clean(page)
        step_agent(view, "researcher", "deploys 1")
        expect(chips).to_have_text(["researcher 2"])
        take_looks(page, view, pictures, "lanes-filtered")

        halted(view, "writer").click()
        page.keyboard.press("s")
        form = view.root.get_by_role("form", name="Add a breakpoint")
        expect(form.get_by_label("Agent", exact=True)).to_have_value("writer")
        offered = form.get_by_label("Agent", exact=True).evaluate(
            "field => [...field.list.options].map(({ value }) => value)"
        )
        assert offered == ["researcher", "writer"]
        form.get_by_role("button", name="Add breakpoint").click()
        row = view.root.locator(".as-BreakpointRow", has_text="by writer")
        expect(row).to_be_visible()
        expect_clean(page)
        take_looks(page, view, pictures, "lanes-breakpoint")

        for words in ("report 1!", "report 2!"):
            view.press("Continue")
            expect(halted(view, "writer")).to_contain_text(words)
            view.expect_state("at the breakpoint “After an LLM answer by writer”")
            expect(view.root.locator(".as-mod-halted")).to_have_count(1)
        view.press("Continue")
        view.expect_state("Finished")


def take_looks(page: Page, view: DebuggerView, pictures: Pictures, name: str) -> None:
    """Pictures in both themes, wide and narrow."""
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        for width in (1400, 340):
            page.set_viewport_size({"width": width, "height": 680})
            expect(view.root).to_be_visible()
            page.evaluate(
                "() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)))"
            )
            pictures.take(page, f"{name}-{width}-{theme}", kept=False)
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1400, "height": 680})
