"""What a run's tokens and time went into, and prices that a person sets in the view."""

from __future__ import annotations

import subprocess
import sys

from playwright.sync_api import BrowserContext, expect

from .axe import AXE, expect_clean
from .jupyter import Jupyter
from .test_overview import open_run

#: Two researchers that work at the same time: each waits in its call for the other's.
_AGENT = """
import asyncio

from agentstepper_nb import AsyncAgentStepper


async def research(dbg, both, name):
    with dbg.agent(name):
        prompt = {"model": "priced-model", "messages": [{"role": "user", "content": name}]}
        async with dbg.llm(prompt, model="priced-model") as query:
            await both.wait()
            query.response = {
                "choices": [{"message": {"role": "assistant", "content": "Found."}}],
                "usage": {"prompt_tokens": 1_000_000, "completion_tokens": 500_000},
            }
        async with dbg.tool("search", {"for": name}) as tool:
            await both.wait()
            tool.result = "3 hits"


async def main():
    both = asyncio.Barrier(2)
    async with AsyncAgentStepper("usage", stop_on_entry=False, mode="continue") as dbg:
        await asyncio.gather(research(dbg, both, "north"), research(dbg, both, "south"))


asyncio.run(main())
"""


def run_agent(jupyter: Jupyter) -> None:
    subprocess.run(
        [sys.executable, "-c", _AGENT], env=jupyter.environment(), check=True, timeout=100
    )


def test_tokens_time_and_prices(context: BrowserContext, jupyter: Jupyter) -> None:
    run_agent(jupyter)
    page, view = open_run(context, jupyter, "usage")
    root = view.root
    root.get_by_role("tab", name="Overview").click()
    panel = root.get_by_role("tabpanel", name="Overview")

    columns = panel.get_by_role("group", name="Tokens of each query").get_by_role("button")
    expect(columns).to_have_count(2)
    expect(columns.first).to_have_attribute(
        "title", "Row 2, priced-model: 1.5M tokens: 1M new, 500k answer"
    )

    chart = panel.get_by_role("group", name="When each event ran")
    expect(chart.locator(".as-TimeLane-name")).to_have_text(["north", "south"])
    boxes = [
        chart.locator(".as-TimeLane", has_text=name).get_by_role("button").first.bounding_box()
        for name in ("north", "south")
    ]
    north, south = (box for box in boxes if box)
    assert north["x"] < south["x"] + south["width"] and south["x"] < north["x"] + north["width"]
    assert north["y"] + north["height"] <= south["y"]

    # A bar leads to its row, whose prompt says how much of the model's window it takes.
    panel.get_by_label("Input, $ a million tokens, priced-model").fill("0.25")
    panel.get_by_label("Output, $ a million tokens, priced-model").fill("2")
    panel.get_by_label("Context window, tokens, priced-model").fill("4000000")
    panel.get_by_role("button", name="Save prices").click()
    expect(panel.get_by_role("button", name="Save prices")).to_be_disabled()
    if AXE.exists():
        expect_clean(page)
    columns.first.focus()
    page.keyboard.press("Enter")
    expect(root.locator('.as-Row[aria-selected="true"] .as-Row-n')).to_have_text("2")
    expect(root.locator(".as-Inspector")).to_contain_text("25% used")

    # Queries cost from now on what was set.
    run_agent(jupyter)
    root.locator(".as-Run").click()
    runs = root.locator(".as-RunItem-name").filter(has_text="usage")
    expect(runs).to_have_count(2)  # the newest stands first, once it is known here
    runs.first.click()
    root.get_by_role("tab", name="Overview").click()
    expect(panel.get_by_role("region", name="Tokens")).to_contain_text("$2.50")
