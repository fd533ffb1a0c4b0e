"""All agents at once, in JupyterLab: who halted is found in the inbox, edited, and continued."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Browser, Locator, WebSocket, expect

from .axe import expect_clean
from .conftest import NewLab
from .lab import Lab, listen
from .planted_fleet import draw_fleet, open_fleet_page, running_planted_server

#: Sessions of a large fleet, and what of it may be in the document and in one message.
SESSIONS: Final = 10_000
MAX_ROWS: Final = 200
MAX_MESSAGE_BYTES: Final = 100_000

#: Two of the agents meet a breakpoint after their first step, and do the next one far later.
_CREATE = """
%load_ext agentstepper_nb
from agentstepper_nb import Agents, Breakpoint, add_breakpoint
agents = Agents.connect()
rule = add_breakpoint(Breakpoint("after tool joke", program="lion-{number}-*"))
made = [
    agents.create_agent(
        f"{{name}}-{number}-{{at}}", "joke", {{"subject": "cats", "interval_s": pause}}, max_steps=2000
    )
    for name, pause in (("lion", 600), ("mouse", 0.2))
    for at in range(2)
]
"""
_END = """
rule.delete()
agents.continue_runs()
for session in made:
    agents.destroy(session_id=session)
"""

_numbers = itertools.count(1)


class FleetView:
    """The view, found by what a person and a screen reader find it by.

    Args:
        lab: The tab that it is in.
        cell: The cell that it stands under.
    """

    def __init__(self, lab: Lab, cell: int) -> None:
        self.root = lab.outputs(cell).locator(".as-Root")
        self.inbox = self.root.get_by_role("grid", name="Halted runs")
        self.sessions = self.root.get_by_role("grid", name="Sessions")

    def halted(self, agent: str) -> Locator:
        """An agent's line in the inbox."""
        return self.inbox.get_by_role("row").filter(has_text=agent)

    def session(self, agent: str) -> Locator:
        """An agent's line in the list of sessions."""
        return self.sessions.get_by_role("row").filter(has_text=agent)

    def press(self, name: str | re.Pattern[str]) -> None:
        """Press a button once it can be pressed."""
        button = self.root.get_by_role("button", name=name, exact=True)
        expect(button).not_to_have_attribute("aria-disabled", "true")
        button.click()


@pytest.mark.slow
def test_halted_agents_are_found_edited_and_continued(own_tab: NewLab) -> None:
    number = next(_numbers)
    lion, other = (f"lion-{number}-{at}" for at in range(2))
    mouse = f"mouse-{number}-0"
    lab = own_tab([_CREATE.format(number=number), "%agentstepper fleet", _END])
    lab.run(0)
    lab.run(1)
    view = FleetView(lab, 1)

    for agent in (lion, other):
        expect(view.halted(agent)).to_contain_text("tool result joke", timeout=60_000)
        expect(view.halted(agent)).to_contain_text("Breakpoint")
        expect(view.session(agent)).to_contain_text("Halted")
    expect(view.root.get_by_role("status").first).to_contain_text("wait for you")
    expect(view.session(mouse)).to_contain_text("Running")
    expect_clean(lab.page)

    view.halted(lion).click()
    panel = lab.panel_view()
    expect(panel.root).to_contain_text(lion)
    panel.expect_state("Halted after tool call")
    panel.press(re.compile("^Edit this"))
    panel.root.get_by_label("text", exact=True).fill("One on otters")
    panel.press(re.compile("^Step with edit"))
    expect(view.halted(lion)).to_have_count(0)
    expect(view.session(lion)).to_contain_text("One on otters")

    view.press("Halt all")
    expect(view.halted(mouse)).to_be_visible()
    view.halted(other).get_by_role("checkbox").check()
    view.press("Continue all but 1")
    expect(view.halted(mouse)).to_have_count(0)
    expect(view.halted(other)).to_be_visible()
    lab.run(2)
    for agent in (lion, other, mouse):
        expect(view.session(agent)).to_contain_text("Stopped")
    expect(view.halted(other)).to_have_count(0)
    expect(lab.prompt(2)).to_have_text("[3]:")  # no session is left running for other tests
    assert lab.errors == []


@pytest.mark.slow
def test_of_ten_thousand_sessions_those_in_sight_are_in_the_document(
    browser: Browser, tmp_path: Path
) -> None:
    """`bench.open_fleet` says how soon they are seen."""
    with running_planted_server(tmp_path, SESSIONS) as jupyter:
        page = open_fleet_page(browser, jupyter)
        errors = listen(page)
        frames: list[int] = []
        page.on("websocket", lambda socket: record_sizes(socket, frames))
        _, rows = draw_fleet(page, jupyter)
        assert 10 < rows <= MAX_ROWS
        grid = page.get_by_role("grid", name="Sessions")
        expect(grid).to_have_attribute("aria-rowcount", f"{SESSIONS + 1}")
        expect(page.get_by_role("status").first).to_contain_text(f"{SESSIONS:,} sessions")
        grid.get_by_role("row").nth(1).focus()
        page.keyboard.press("End")
        expect(grid.get_by_role("row").filter(has_text="ticket-0")).to_be_focused()
        assert page.get_by_role("row").count() <= MAX_ROWS
        page.get_by_role("searchbox").fill("ticket-4711")
        expect(grid).to_have_attribute("aria-rowcount", "2")
        page.get_by_role("tab", name="Errors").click()
        errors_list = page.get_by_role("region", name="Errors of sessions")
        expect(errors_list.get_by_role("listitem")).to_have_count(1)
        expect(errors_list).to_contain_text(f"{SESSIONS // 8:,}")
        assert max(frames) < MAX_MESSAGE_BYTES
        assert errors == []
        page.close()


def record_sizes(socket: WebSocket, sizes: list[int]) -> None:
    """Note how large each message is that comes."""
    socket.on("framereceived", lambda frame: sizes.append(len(frame)))
