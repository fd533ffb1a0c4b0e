"""Two agents and two UIs: one pair that is spoken to badly, and one that must not notice."""

from __future__ import annotations

from typing import Any

from tests.hub.conftest import SocketHarness
from tests.hub.socket_agents import SocketAgent
from tests.hub.socket_uis import SocketView


class TwoRuns:
    """A subject of any version, and bystanders of both.

    Args:
        socket_harness: The Core.
        agent: The version of the subject's agent.
        ui: The version of the subject's UI.
    """

    def __init__(self, socket_harness: SocketHarness, agent: int = 2, ui: int = 2) -> None:
        self.stand = socket_harness
        self.other_agent = socket_harness.started(3 - agent, "Other")
        self.other_ui = socket_harness.ui(3 - ui)
        self.other_run = self.other_ui.find_run("Other")
        # With this token it may say all that programs may.
        control = {"Authorization": f"Bearer {socket_harness.core.tokens.control}"}
        self.agent: SocketAgent = socket_harness.agent(agent, additional_headers=control)
        self.ui: SocketView = socket_harness.ui(ui)
        self._turn = 0

    def start(self) -> str:
        """The subject's program starts: its run."""
        self.agent.start("Subject")
        self.run = self.ui.find_run("Subject")
        return self.run

    def check_isolation(self) -> None:
        """The subject and the bystanders are stepped as ever, on the connections they have."""
        if self.ui.runs.get(getattr(self, "run", ""), {}).get("state") in (
            None,
            "idle",
            "detached",
        ):
            self.agent.start("Subject again")
            self.run = self.ui.find_run("Subject again")
        self.steps(self.agent, self.ui, self.run)
        self.steps(self.other_agent, self.other_ui, self.other_run)

    def steps(self, agent: SocketAgent, ui: SocketView, run: str) -> None:
        """What is pending goes on, and then a query is halted and stepped."""
        self._turn += 1
        agent.begin()
        asked = agent.reach(self._turn)
        while ui.pending(run) != asked:
            if ui.pending(run) is None:
                ui.wait_until_halted(run)
                continue
            ui.step(run)
            agent.receive()
        ui.step(run)
        assert agent.receive_answer() == self._turn


def is_well_formed(error: dict[str, Any]) -> None:
    """An error's text is a sentence or two for a person."""
    text = error["message"]
    assert 20 < len(text) < 500, text
    assert text[0].isupper() or text[0] in "“" or ": " in text, text
    assert text.endswith((".", ".)")), text
    assert "Traceback" not in text
    assert "object at 0x" not in text
