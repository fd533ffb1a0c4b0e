"""Whose queries a view may have asked again, as the Core decides it, and what that costs a run."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb.hub import view_samples
from agentstepper_nb.hub.agent_questions import AgentQuestions
from agentstepper_nb.hub.connection import AccessRights
from agentstepper_nb.protocol.query_samples import RequestSample
from tests.hub.conftest import SocketHarness
from tests.hub.socket_agents import AgentV2
from tests.hub.socket_uis import ViewV2
from tests.hub.test_inspections import SilentConnection, halted

Json = Any
USAGE = {"input_tokens": 5, "output_tokens": 2, "cost": 0.5}


def sample(agent: AgentV2, ui: ViewV2, named: dict[str, str], **sample: Json) -> Json:
    """What a view is answered where the agent's client got this."""
    asked = ui.send_command("sample_query", **named)
    question = agent.receive()
    assert question["type"] == "sample"
    body = {"request": question["body"]["request"], "left": 7, "sample": sample}
    agent.send_message("sampled", **body)
    return ui.receive_result(asked)


def refusal(ui: ViewV2, named: dict[str, str], command: str = "sample_query") -> str:
    """Why a query isn't asked again."""
    answer = ui.receive_result(ui.send_command(command, **named))
    assert answer["type"] == "error", answer
    assert answer["body"]["code"] == "resample_refused"
    return str(answer["body"]["message"])


def test_the_agent_is_asked_and_the_answer_is_described(socket_harness: SocketHarness) -> None:
    agent, ui, named = halted(socket_harness, samples=True)
    answer = sample(agent, ui, named, data={"content": "Hello.", "role": "assistant"})
    assert answer["type"] == "sampled"
    assert (answer["body"]["summary"], answer["body"]["left"]) == ("Hello.", 7)
    assert json.loads(answer["body"]["action"]) == ["text", "Hello."]
    # Nothing of it is in the run.
    assert "Hello." not in json.dumps(ui.open_run(named["run"]))


def test_whether_it_can_be_asked_costs_nothing(socket_harness: SocketHarness) -> None:
    agent, ui, named = halted(socket_harness, samples=True)
    asked = ui.send_command("get_sampling", **named)
    question = agent.receive()
    assert question["body"]["is_dry"] is True
    agent.send_message("sampled", request=question["body"]["request"], left=20)
    assert ui.receive_result(asked)["body"] == {"left": 20}
    assert "samples" not in ui.open_run(named["run"])["run"]


def test_a_runs_cost_has_its_samples(socket_harness: SocketHarness) -> None:
    agent, ui, named = halted(socket_harness, samples=True)
    sample(agent, ui, named, data="a", usage=USAGE)
    sample(agent, ui, named, data="b", usage=USAGE)
    failed = sample(agent, ui, named, data=None, failure={"type": "E", "message": "m"})
    assert failed["body"]["summary"] == "Failed: E: m"
    run = ui.open_run(named["run"])["run"]
    total = {"input_tokens": 10, "output_tokens": 4, "cost": 1.0, "estimated": False}
    assert run["samples"] == {"count": 3, "usage": total}
    assert run["usage"] == total


def test_they_count_after_the_core_was_started_again(
    new_socket_harness: Callable[..., SocketHarness], tmp_path: Path
) -> None:
    first = new_socket_harness(data=tmp_path)
    agent, ui, named = halted(first, samples=True)
    sample(agent, ui, named, data="a", usage=USAGE)
    first.core.stop()
    second = new_socket_harness(data=tmp_path)
    view = second.ui(2)
    assert isinstance(view, ViewV2)
    run = view.open_run(named["run"])["run"]
    assert (run["usage"]["cost"], run["samples"]["count"]) == (0.5, 1)


def test_an_older_agent_is_not_asked(socket_harness: SocketHarness) -> None:
    _, ui, named = halted(socket_harness)
    assert refusal(ui, named) == view_samples.NOT_OFFERED
    assert refusal(ui, named, "get_sampling") == view_samples.NOT_OFFERED


def test_only_a_query_that_waits_is_asked_again(socket_harness: SocketHarness) -> None:
    _, ui, named = halted(socket_harness, samples=True)
    assert refusal(ui, {**named, "breakpoint": "other"}) == view_samples.NOT_PENDING


def test_the_agents_refusal_is_passed_on(socket_harness: SocketHarness) -> None:
    agent, ui, named = halted(socket_harness, samples=True)
    asked = ui.send_command("sample_query", **named)
    agent.send_message("sampled", request=agent.receive()["body"]["request"], refusal="not now")
    assert ui.receive_result(asked)["body"]["message"] == "not now"


def test_an_agent_that_goes_away_leaves_nobody_waiting(socket_harness: SocketHarness) -> None:
    agent, ui, named = halted(socket_harness, samples=True)
    asked = ui.send_command("sample_query", **named)
    agent.receive()
    agent.disconnect()
    assert "disconnected before it answered" in ui.receive_result(asked)["body"]["message"]


def test_who_may_only_watch_asks_no_model(socket_harness: SocketHarness) -> None:
    _, _, named = halted(socket_harness, samples=True)
    core, connection = socket_harness.core, SilentConnection()

    async def ask() -> None:
        view = core.hub.connect_view(connection, 2, AccessRights(can_control=False))
        for number, (kind, body) in enumerate(
            [("hello", {"version": 2, "client": "t"}), ("sample_query", named)], 1
        ):
            view.receive(json.dumps({"n": number, "type": kind, "id": kind, "body": body}))
        while not any(message.get("id") == "sample_query" for message in connection.sent):
            await asyncio.sleep(0)

    asyncio.run_coroutine_threadsafe(ask(), core.loop).result(30)
    (answer,) = (message for message in connection.sent if message.get("id") == "sample_query")
    assert answer["body"]["code"] == "watch_only"


async def test_a_model_that_does_not_answer_in_time() -> None:
    sent: list[Any] = []
    questions = AgentQuestions(lambda: "q", sent.append, timeout_s=0.01)
    with pytest.raises(ValueError, match="didn't answer within"):
        await questions.sample("b", None)
    assert [(type(message), message.halt_point) for message in sent] == [(RequestSample, "b")]
