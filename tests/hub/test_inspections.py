"""Who may see the stack of an agent that waits, as the Core decides it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from agentstepper_nb.hub import view_inspections
from agentstepper_nb.hub.agent_questions import AgentQuestions
from agentstepper_nb.hub.connection import AccessRights
from agentstepper_nb.protocol.inspection import GetStack, InspectHaltPoint, StackRequest
from tests.hub.conftest import SocketHarness
from tests.hub.socket_agents import AgentV2
from tests.hub.socket_uis import ViewV2

Json = Any
STACK = {"kind": "stack", "frames": [], "thread": "MainThread"}


def halted(harness: SocketHarness, **hello: Json) -> tuple[AgentV2, ViewV2, dict[str, str]]:
    """An agent that waits at a query, a view, and what names the halt point."""
    agent, ui = harness.agent(2), harness.ui(2)
    assert isinstance(agent, AgentV2) and isinstance(ui, ViewV2)
    agent.send_hello("P", **hello)
    assert agent.receive()["type"] == "welcome"
    agent.begin("program_started", "P")
    point = agent.begin_query("hello")
    run = ui.find_run("P")
    ui.wait_until_halted(run, point)
    return agent, ui, {"run": run, "breakpoint": point}


def refusal(ui: ViewV2, named: dict[str, str]) -> str:
    """Why a view isn't told of the stack."""
    answer = ui.receive_result(ui.send_command("get_stack", **named))
    assert answer["type"] == "error", answer
    assert answer["body"]["code"] == "inspection_refused"
    return str(answer["body"]["message"])


def test_the_agent_is_asked_and_its_answer_is_the_views_alone(
    socket_harness: SocketHarness,
) -> None:
    agent, ui, named = halted(socket_harness, inspects=True)
    asked = ui.send_command("get_stack", **named)
    question = agent.receive()
    assert (question["type"], question["body"]["what"]) == ("inspect", {"kind": "stack"})
    assert question["body"]["breakpoint"] == named["breakpoint"]
    agent.send_message("inspected", request=question["body"]["request"], result=STACK)
    answer = ui.receive_result(asked)
    assert (answer["type"], answer["body"]["thread"]) == ("stack", "MainThread")
    # Nothing of it is in the run.
    assert "MainThread" not in json.dumps(ui.open_run(named["run"]))


def test_the_agents_refusal_is_passed_on(socket_harness: SocketHarness) -> None:
    agent, ui, named = halted(socket_harness, inspects=True)
    asked = ui.send_command("get_stack", **named)
    agent.send_message("inspected", request=agent.receive()["body"]["request"], refusal="not now")
    assert ui.receive_result(asked)["body"]["message"] == "not now"


@pytest.mark.parametrize("hello", [{}, {"inspects": False}])
def test_an_agent_that_does_not_offer_it_is_not_asked(
    socket_harness: SocketHarness, hello: dict[str, bool]
) -> None:
    _, ui, named = halted(socket_harness, **hello)
    assert refusal(ui, named) == view_inspections.NOT_OFFERED


def test_a_core_may_switch_it_off(new_socket_harness: Callable[..., SocketHarness]) -> None:
    _, ui, named = halted(new_socket_harness(inspect=False), inspects=True)
    assert refusal(ui, named) == view_inspections.SWITCHED_OFF


def test_only_what_waits_is_looked_at(socket_harness: SocketHarness) -> None:
    _, ui, named = halted(socket_harness, inspects=True)
    assert refusal(ui, {**named, "breakpoint": "other"}) == view_inspections.NOT_PENDING


def test_an_agent_that_goes_away_leaves_nobody_waiting(socket_harness: SocketHarness) -> None:
    agent, ui, named = halted(socket_harness, inspects=True)
    asked = ui.send_command("get_stack", **named)
    agent.receive()
    agent.disconnect()
    assert "disconnected before it answered" in ui.receive_result(asked)["body"]["message"]


class SilentConnection:
    """Keeps what a view is sent."""

    def __init__(self) -> None:
        self.sent: list[Json] = []

    def send(self, text: str) -> None:
        self.sent.append(json.loads(text))

    def close(self, code: int, reason: str) -> None:
        """Nobody is there."""


@pytest.mark.parametrize(
    ("rights", "code", "said"),
    [
        (AccessRights(has_login=False), "inspection_refused", view_inspections.NO_TOKEN),
        (AccessRights(can_control=False), "watch_only", "This login may watch, not control"),
    ],
)
def test_who_has_no_right_to_it(
    socket_harness: SocketHarness, rights: AccessRights, code: str, said: str
) -> None:
    """A Jupyter server without a token; a login that may only watch."""
    _, _, named = halted(socket_harness, inspects=True)
    core, connection = socket_harness.core, SilentConnection()

    async def ask() -> None:
        view = core.hub.connect_view(connection, 2, rights)
        for number, (kind, body) in enumerate(
            [("hello", {"version": 2, "client": "t"}), ("get_stack", named)], 1
        ):
            view.receive(json.dumps({"n": number, "type": kind, "id": kind, "body": body}))
        while not any(message.get("id") == "get_stack" for message in connection.sent):
            await asyncio.sleep(0)

    asyncio.run_coroutine_threadsafe(ask(), core.loop).result(30)
    (answer,) = (message for message in connection.sent if message.get("id") == "get_stack")
    assert answer["body"]["code"] == code
    assert answer["body"]["message"].startswith(said)


async def test_an_agent_that_does_not_answer_in_time() -> None:
    sent: list[Any] = []
    questions = AgentQuestions(lambda: "q", sent.append, timeout_s=0.01)
    with pytest.raises(ValueError, match="didn't answer within"):
        await questions.inspect("b", StackRequest())
    assert [(type(message), message.halt_point) for message in sent] == [(InspectHaltPoint, "b")]


def test_a_view_of_version_1_has_no_word_for_it(socket_harness: SocketHarness) -> None:
    assert GetStack.__struct_config__.tag is None  # a command as any other of version 2
    ui = socket_harness.ui(1)
    assert ui.expect_refusal("get_stack", run="r", breakpoint="b")["code"] == "unknown_command"
