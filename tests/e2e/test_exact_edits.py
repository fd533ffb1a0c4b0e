"""An edit that the agent's own types refuse, and a value that can only be looked at, in a browser."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import BrowserContext, expect

from .axe import AXE, expect_clean
from .jupyter import Jupyter
from .lab import DebuggerView
from .test_several_agents import choose

AGENT = """
import dataclasses, json, sys
from agentstepper_nb import AgentStepper

@dataclasses.dataclass
class Order:
    customer: str
    amount: int
    def __post_init__(self):
        if self.amount < 1:
            raise ValueError("an order has an amount")

class Shop:
    def __repr__(self):
        return "<the shop>"

with AgentStepper(sys.argv[1], mode="step", stop_on_entry=False) as dbg:
    @dbg.traced_tool
    def buy(order, shop):
        return [type(order).__name__, order.customer, order.amount, repr(shop)]
    print(json.dumps(buy(Order("bob", 1), Shop())), flush=True)
"""


@contextmanager
def buying(jupyter: Jupyter, program: str) -> Iterator[subprocess.Popen[str]]:
    """An agent in a process of its own, which prints what it bought."""
    process = subprocess.Popen(
        [sys.executable, "-c", AGENT, program],
        env=jupyter.environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_an_edit_is_refused_and_stays_until_it_is_right(
    context: BrowserContext, jupyter: Jupyter, screenshots: Path
) -> None:
    page = context.new_page()
    page.set_viewport_size({"width": 1000, "height": 640})
    page.goto(f"{jupyter.url}agentstepper/app?token={jupyter.token}")
    view = DebuggerView(page.locator(".as-Root"))
    with buying(jupyter, "buying") as agent:
        choose(view, "buying")
        halted = view.root.locator(".as-Row.as-mod-halted")
        expect(halted).to_contain_text("buy")
        view.expect_state("Halted before tool call")  # which keys wait for, after the row
        halted.focus()
        page.keyboard.press("e")

        shop = view.root.get_by_label("shop")
        expect(shop).to_have_value("<the shop>")
        expect(shop).not_to_be_editable()
        expect(view.root).to_contain_text("Read-only: its type, Shop, has no fields.")

        order = view.root.get_by_label("order")
        order.fill('{"customer": "bob", "amount": 0}')
        view.press("Step with edit")
        expect(view.root).to_contain_text("Argument.order: ValueError: an order has an amount.")
        expect(order).to_have_value(re.compile('"amount": 0'))
        expect(halted).to_contain_text("shop=<the shop>")
        page.screenshot(path=screenshots / "edit-refused.png")
        if AXE.exists():
            expect_clean(page)

        order.fill('{"customer": "eve", "amount": 2}')
        view.press("Step with edit")
        view.expect_state("Halted after tool call")
        expect(halted).to_contain_text("eve")
        view.press("Step")
        assert agent.stdout is not None
        assert json.loads(agent.stdout.readline()) == ["Order", "eve", 2, "<the shop>"]
