"""The agents that run on their own, in JupyterLab: seen live, steered by clicks, talked with."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, expect

from agentstepper_nb.hub.standalone import AgentStepperCore

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
_WAIT = "agents.wait_for(made[0], status='paused').status.value"

_numbers = itertools.count(1)


def creating() -> tuple[str, str, str]:
    """Two agents that nobody else has, and the cell that creates them."""
    number = next(_numbers)
    one, other = f"joker-{number}a", f"joker-{number}b"
    return one, other, _CREATE.format(talk=f"talk-{number}", names=(one, other))


class Sessions:
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

    def told(self, agent: str) -> Locator:
        """The field for what an agent's next step is to be told."""
        return self.root.get_by_role("textbox", name=f"What the next step of {agent} is to be told")

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


def test_agents_are_steered_and_talked_with(new_tab: NewLab) -> None:
    one, other, create = creating()
    lab = new_tab([create, "SessionsWidget()", _END])
    lab.run(0)
    lab.run(1)
    view = Sessions(lab, 1)
    expect(view.root.get_by_role("status").first).to_contain_text("2 running")

    view.pause(one)
    expect(view.steps).to_contain_text("cats")
    view.press("Interrupt")
    view.told(one).fill("lions")
    view.press("Send")
    expect(view.root).to_contain_text("Its next step is told: lions")
    view.press("Resume")
    expect(view.steps).to_contain_text("about lions")

    view.row(one).press("s")
    expect(view.root.get_by_role("radio", name="Send input")).to_be_checked()
    view.told(one).fill("tigers")
    view.told(one).press("Enter")
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
    view.press(f"Let {other} leave")
    people = view.root.get_by_role("list", name="Participants")
    expect(people).to_contain_text(one)
    expect(people).not_to_contain_text(other)
    expect_clean(lab.page)

    lab.save()
    lab.reload()
    view = Sessions(lab, 1)
    view.row(other).click()
    expect(view.steps).to_contain_text("otters")
    view.press("Open in the debugger (o)")
    panel = lab.panel_view()
    expect(panel.root).to_contain_text(other)
    panel.press("Halt")
    panel.expect_state("Halted ")  # at whichever of its breakpoints came next
    panel.press("Continue")

    view.press("Destroy")
    view.root.get_by_role("form", name=f"Destroy {other}").get_by_role(
        "button", name="Destroy"
    ).click()
    expect(view.row(other)).to_contain_text("Stopped")
    lab.run(2)
    expect(view.row(one)).to_contain_text("Stopped")
    assert lab.errors == []


@pytest.fixture
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentStepperCore]:
    """A Core beside JupyterLab, as `agentstepper serve` has it, which starts a worker."""
    folder = tmp_path_factory.mktemp("served")
    with AgentStepperCore(
        "127.0.0.1", client_port=0, ui_port=None, data=folder, worker=True
    ) as core:
        yield core


def test_the_kernel_relays_what_the_browser_cannot_reach(
    new_bare_lab: NewLab, serve: AgentStepperCore
) -> None:
    """Also while a cell keeps the kernel's main thread."""
    variables = {
        "AGENTSTEPPER_URL": f"ws://127.0.0.1:{serve.client_port}",
        "AGENTSTEPPER_TOKEN": serve.tokens.agent,
        "AGENTSTEPPER_CONTROL_TOKEN": serve.tokens.control,
    }
    url = f"import os; os.environ.update({variables!r})\n"
    one, _, create = creating()
    lab = new_bare_lab([url + create, "SessionsWidget()", _WAIT])
    lab.run(0)
    lab.run(1)
    view = Sessions(lab, 1)
    expect(view.row(one)).to_contain_text("Running")
    lab.run(2)
    view.pause(one)
    expect(lab.outputs(2)).to_contain_text("paused")
    expect(view.steps).to_contain_text("cats")
    view.press("Open in the debugger (o)")
    expect(view.root).to_contain_text("agentstepper step --run ")
    assert lab.errors == []
