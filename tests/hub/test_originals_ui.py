"""What the original's UI is told, as far as it understands it.

It takes the message that it lets a person edit from the snapshot's `activeRun` and `haltedAt` and from
`update_run_state`; it shows an edit when it sends it, and it has never heard of errors.
"""

from __future__ import annotations

import pytest

from tests.hub.conftest import SocketHarness
from tests.hub.socket_agents import AgentV2, Json
from tests.hub.socket_uis import ViewV1


class OriginalsUi(ViewV1):
    """A UI that reads no more than the original's does."""

    editable: dict[str, str | None]

    def apply(self, message: Json) -> None:
        if message["event"] == "error":
            return
        super().apply(message)
        content = message["content"]
        if message["event"] == "init_app_state":
            self.editable = {content["activeRun"]: content["haltedAt"]}
        elif message["event"] == "update_run_state":
            self.editable[content["run"]] = content["haltedAt"]

    def message(self, run: str, id: str) -> Json:
        """A message as it is shown."""
        return next(each for each in self.runs[run]["messages"] if each["uuid"] == id)

    def wait_until_recorded(self, run: str) -> str:
        """Wait for what the Core has to say of a run, which is about no message of the agent's."""
        while self.runs[run]["messages"][-1]["content"] is not None:
            self.apply(self.receive())
        return str(self.runs[run]["messages"][-1]["summary"])


@pytest.fixture
def ui(socket_harness: SocketHarness) -> OriginalsUi:
    return loaded(socket_harness)


def loaded(socket_harness: SocketHarness) -> OriginalsUi:
    """The page is loaded, or again."""
    found = socket_harness.ui(1)
    assert isinstance(found, ViewV1)
    ui = OriginalsUi(found.socket)
    ui.runs, ui.active, ui.halted_at = found.runs, found.active, found.halted_at
    ui.editable = {ui.active: ui.halted_at}
    return ui


def test_after_a_reload_each_halted_agent_can_be_edited(
    socket_harness: SocketHarness, ui: OriginalsUi
) -> None:
    agents = [socket_harness.started(version, f"P{version}") for version in (1, 2)]
    runs = [ui.find_run(f"P{version}") for version in (1, 2)]
    points = [agent.begin_query("hi") for agent in agents]
    for run, point in zip(runs, points, strict=True):
        ui.wait_until_halted(run, point)

    again = loaded(socket_harness)
    told: list[str] = []
    while len(again.editable) < 2 or told[-1:] != [again.active]:
        message = again.receive()
        again.apply(message)
        told.append(message["content"]["run"])
    assert again.editable == dict(zip(runs, points, strict=True))
    for run, point, agent in zip(runs, points, agents, strict=True):
        again.edit(run, point, f"edited {run}")
        again.step(run)
        assert agent.receive_answer() == f"edited {run}"


def test_one_halted_agent_is_in_the_snapshot_alone(
    socket_harness: SocketHarness, ui: OriginalsUi
) -> None:
    agent = socket_harness.started(1)
    point = agent.begin_query()
    run = ui.find_run("P")
    ui.wait_until_halted(run, point)
    again = loaded(socket_harness)
    assert again.editable == {run: point}
    again.send_event("barrier", {})
    assert again.receive()["event"] == "error"


@pytest.mark.parametrize("content", ["rm", {"Tool": "rm"}, {"Tool": 1, "Argument": {}}])
def test_a_refused_edit_is_taken_back_where_it_was_shown(
    socket_harness: SocketHarness, ui: OriginalsUi, content: Json
) -> None:
    agent = socket_harness.started(1)
    run = ui.find_run("P")
    point = agent.begin_tool_call("ls", {"path": "."})
    ui.wait_until_halted(run, point)
    ui.message(run, point)["content"] = content  # as it shows what it sends
    ui.send_event("update_msg_content", {"run": run, "message": point, "content": content})
    assert ui.wait_until_recorded(run).startswith("The edit was refused, nothing has changed: ")
    assert ui.message(run, point)["content"] == {"Tool": "ls", "Argument": {"path": "."}}
    assert ui.editable[run] == point
    ui.step(run)
    assert agent.receive_answer() == {"Tool": "ls", "Argument": {"path": "."}}


def test_a_step_at_an_approval_is_explained_once(
    socket_harness: SocketHarness, ui: OriginalsUi
) -> None:
    """It shows no errors: without a note the person would press Step for ever."""
    agent = socket_harness.agent()
    assert isinstance(agent, AgentV2)
    agent.start()
    run = ui.find_run("P")
    agent.begin("tool_invocation", name="shell")
    call = {"Tool": "shell", "Argument": "rm -r build"}
    asked = agent.reach(call, approval={"risk": "high", "why": "It deletes files."})
    ui.wait_until_halted(run, asked)
    for _ in range(3):
        ui.send_event("step", {"run": run})
    assert ui.wait_until_recorded(run).startswith(
        "The call shell(rm -r build) asks for approval, and a view"
    )
    ui.send_event("barrier", {})
    while (message := ui.receive())["content"].get("code") != "unknown_command":
        assert message["content"]["code"] == "needs_approval", "it is said once"
    assert ui.editable[run] == asked
