"""The background agents, in JupyterLab: seen live, steered by clicks, talked with."""

from __future__ import annotations

import itertools

import pytest
from playwright.sync_api import Locator, expect

from .axe import expect_clean
from .conftest import NewLab
from .lab import Lab

_CREATE = """
from agentstepper_nb import Agents, SessionsWidget
agents = Agents.connect()
talk = agents.create_conversation("Which is the best?", conversation_id={talk!r}).conversation_id
made = [
    agents.create_agent(
        name, "joke", {{"subject": "cats", "interval_s": 0.2}}, conversation_id=talk, max_steps=2000
    )
    for name in {names}
]
"""
_END = "agents.destroy(session_id=made[0])"

_numbers = itertools.count(1)


def creating() -> tuple[str, str, str]:
    """Two agents that nobody else has, and the cell that creates them."""
    number = next(_numbers)
    one, other = f"joker-{number}a", f"joker-{number}b"
    return one, other, _CREATE.format(talk=f"talk-{number}", names=(one, other))


class SessionsView:
    """The view, found by what a person and a screen reader find it by.

    Args:
        lab: The tab that it is in.
        cell: The cell that it stands under.
    """

    def __init__(self, lab: Lab, cell: int) -> None:
        self.root = lab.outputs(cell).locator(".as-Root")

    def row(self, agent: str) -> Locator:
        """An agent's line in the list."""
        return self.root.get_by_role("row").filter(has_text=agent)

    @property
    def steps(self) -> Locator:
        """What the selected session's steps said."""
        return self.root.get_by_role("log", name="Steps")

    @property
    def messages(self) -> Locator:
        """What was said in the open conversation."""
        return self.root.get_by_role("log", name="Messages")

    def guidance_field(self, agent: str) -> Locator:
        """The field for what an agent's next step is to be told."""
        return self.root.get_by_role("textbox", name=f"Message to the next step of {agent}")

    def press(self, name: str) -> None:
        """Press a button once it can be pressed."""
        button = self.root.get_by_role("button", name=name, exact=True)
        expect(button).not_to_have_attribute("aria-disabled", "true")
        button.click()

    def pause(self, agent: str) -> None:
        """Select an agent and pause it."""
        self.row(agent).click()
        self.press("Pause")
        expect(self.row(agent)).to_contain_text("Paused")


@pytest.mark.slow
def test_agents_are_steered_and_talked_with(own_tab: NewLab) -> None:
    one, other, create = creating()
    lab = own_tab([create, "SessionsWidget()", _END])
    lab.run(0)
    lab.run(1)
    view = SessionsView(lab, 1)
    expect(view.root.get_by_role("status").first).to_contain_text("2 running", timeout=60_000)

    expect(view.row(one)).to_contain_text("cats")  # it runs before its first step has begun
    view.pause(one)
    expect(view.steps).to_contain_text("cats")
    view.press("Interrupt")
    view.guidance_field(one).fill("lions")
    view.press("Send")
    expect(view.root).to_contain_text("Guidance for its next step: lions")
    view.press("Resume")
    expect(view.steps).to_contain_text("about lions")

    view.row(one).press("s")
    expect(view.root.get_by_role("radio", name="Send input")).to_be_checked()
    view.guidance_field(one).fill("tigers")
    view.guidance_field(one).press("Enter")
    expect(view.steps).to_contain_text("tigers")
    expect(view.row(one)).to_be_focused()

    view.root.get_by_role("tab", name="Conversations").click()
    view.root.get_by_role("button", name="Which is the best?").first.click()
    expect(view.messages).to_contain_text("lions")
    view.root.get_by_role("textbox", name="Message to all who take part").fill("otters")
    view.press("Post")
    expect(view.messages).to_contain_text("otters")
    for agent in (one, other):
        expect(view.row(agent)).to_contain_text("otters")
    view.press(f"Remove {other}")
    people = view.root.get_by_role("list", name="Participants")
    expect(people).to_contain_text(one)
    expect(people).not_to_contain_text(other)
    expect_clean(lab.page)

    lab.save()
    lab.reload()
    view = SessionsView(lab, 1)
    view.row(other).click()
    expect(view.steps).to_contain_text("otters")
    view.press("Open in the debugger (o)")
    panel = lab.panel_view()
    expect(panel.root).to_contain_text(other)
    panel.press("Halt")
    panel.expect_state("Halted ")  # at whichever of its halt points came next
    panel.press("Continue")

    view.press("Destroy")
    view.root.get_by_role("form", name=f"Destroy {other}").get_by_role(
        "button", name="Destroy"
    ).click()
    expect(view.row(other)).to_contain_text("Stopped")
    lab.run(2)
    expect(view.row(one)).to_contain_text("Stopped")
    assert lab.errors == []
