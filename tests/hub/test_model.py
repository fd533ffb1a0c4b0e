"""A Core whose summaries a model makes, from the agent's socket to the view's, over real HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agentstepper_nb.hub.limits import HubLimits
from agentstepper_nb.hub.model_summaries import ModelSummaries
from agentstepper_nb.models.scripted import (
    ErrorFault,
    PauseFault,
    Script,
    ScriptedServer,
    ScriptRule,
    always,
    last_says,
    say,
)
from tests.hub.conftest import SocketHarness
from tests.hub.socket_uis import SocketView, ViewV1, ViewV2

RULES = [
    ScriptRule(last_says("lunch"), say("Asks for lunch. It is noon.")),
    ScriptRule(last_says("never"), say("Too late."), PauseFault("never")),
    ScriptRule(last_says("fail"), say("x"), ErrorFault(401, times=None)),
    ScriptRule(last_says("cart.py"), say("Round once.")),
    ScriptRule(always, say("Says something else.")),
]

NewStand = Callable[..., SocketHarness]


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(Script("labels", RULES)) as server:
        yield server


@pytest.fixture
def socket_harness(
    server: ScriptedServer, new_socket_harness: NewStand, monkeypatch: pytest.MonkeyPatch
) -> SocketHarness:
    for name in ("AGENTSTEPPER_BASE_URL", "AGENTSTEPPER_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    limits = HubLimits(snapshot_pause_s=0.0)
    return new_socket_harness(limits, model="small", extensions=[])


def wait_for_summary(ui: SocketView, id: str, summary: str) -> None:
    """Wait until a row is told with this summary."""
    assert isinstance(ui, ViewV2)
    while ui.rows.get(id, {}).get("summary") != summary:
        ui.apply(ui.receive())


def settle(socket_harness: SocketHarness) -> None:
    """Wait until nothing is to be asked."""
    (sentences,) = socket_harness.core.hub.listeners
    assert isinstance(sentences, ModelSummaries)
    asyncio.run_coroutine_threadsafe(sentences.wait_idle(), socket_harness.core.loop).result(30)


def test_a_sentence_takes_the_rules_place(
    socket_harness: SocketHarness, server: ScriptedServer
) -> None:
    agent, ui = socket_harness.started(), socket_harness.ui()
    run = ui.find_run("P")
    ui.open_run(run)
    first = agent.begin_query("What is for lunch?")
    wait_for_summary(ui, first, "What is for lunch?")
    wait_for_summary(ui, first, "Asks for lunch")
    assert ui.rows[first]["pending"]
    ui.step(run)
    assert agent.receive_answer() == "What is for lunch?"
    end = agent.reach("soup")
    wait_for_summary(ui, end, "Says something else")
    assert {row["summary"] for row in ui.open_run(run)["rows"]} >= {"Asks for lunch"}
    ui.step(run)
    agent.receive_answer()
    again = agent.begin_query("What is for lunch?")
    wait_for_summary(ui, again, "Asks for lunch")
    assert len(server.exchanges) == 2  # the third was known
    request = server.exchanges[0].json
    assert request["model"] == "small"
    assert request["messages"][1]["content"] == (
        'The LLM query:\n<data>\n"What is for lunch?"\n</data>'
    )


def test_an_old_view_sees_it_when_it_comes(socket_harness: SocketHarness) -> None:
    agent, ui = socket_harness.started(), socket_harness.ui()
    run = ui.find_run("P")
    ui.open_run(run)
    wait_for_summary(ui, agent.begin_query("lunch"), "Asks for lunch")
    old = socket_harness.ui(1)
    assert isinstance(old, ViewV1)
    assert old.runs[run]["messages"][-1]["summary"] == "Asks for lunch"


@pytest.mark.parametrize("version", [1, 2])
def test_it_comes_to_an_old_view_too(socket_harness: SocketHarness, version: int) -> None:
    old, agent = socket_harness.ui(1), socket_harness.started(version)
    run, point = old.find_run("P"), agent.begin_query("lunch")
    old.wait_until_halted(run, point)
    while old.runs[run]["messages"][-1]["summary"] != "Asks for lunch":
        old.apply(old.receive())
    assert old.wait_until_halted(run) == point


def test_a_commits_title_comes_to_an_old_view_too(socket_harness: SocketHarness) -> None:
    old, agent = socket_harness.ui(1), socket_harness.started()
    change = {"path": "cart.py", "kind": "changed", "added": 1, "removed": 1}
    agent.commit("Change cart.py", ruled=True, changes=[change])  # type: ignore[call-arg]
    run = old.find_run("P")
    while not old.runs[run]["commits"] or old.runs[run]["commits"][-1]["title"] != "Round once":
        old.apply(old.receive())


def test_a_commits_title(socket_harness: SocketHarness) -> None:
    agent, ui = socket_harness.started(), socket_harness.ui()
    run = ui.find_run("P")
    ui.open_run(run)
    change = {"path": "cart.py", "kind": "changed", "added": 1, "removed": 1}
    fields: dict[str, Any] = {"ruled": True, "changes": [change]}
    commit = agent.commit("Change cart.py", **fields)  # type: ignore[call-arg]
    while (message := ui.receive())["type"] != "commit_changed":
        ui.apply(message)
    told = message["body"]["commit"]
    assert (told["id"], told["title"], told["sentence"]) == (
        commit,
        "Change cart.py",
        "Round once",
    )
    assert ui.open_run(run)["commits"][-1]["sentence"] == "Round once"


def test_an_edit_is_summarised_in_its_place(socket_harness: SocketHarness) -> None:
    agent, ui = socket_harness.started(), socket_harness.ui()
    run = ui.find_run("P")
    ui.open_run(run)
    point = agent.begin_query("lunch")
    wait_for_summary(ui, point, "Asks for lunch")
    ui.edit(run, point, "never mind")
    wait_for_summary(ui, point, "never mind")  # the model has still to say something on it
    ui.edit(run, point, "tea")
    wait_for_summary(ui, point, "Says something else")


def test_agents_and_the_core_dont_wait_for_it(
    socket_harness: SocketHarness, server: ScriptedServer
) -> None:
    """The model never answers; the Core stops with requests on their way."""
    agent, ui = socket_harness.started(), socket_harness.ui()
    run = ui.find_run("P")
    ui.wait_until_halted(run, agent.begin_query("never 0"))
    assert server.gate("never").wait_reached(30)
    ui.resume(run)
    agent.receive_answer()
    for n in range(1, 20):
        agent.begin_query(f"never {n}")
        assert agent.receive_answer() == f"never {n}"
    assert len(ui.open_run(run)["rows"]) >= 20
    assert {row["summary"] for row in ui.open_run(run)["rows"]} >= {"never 0", "never 19"}


def test_a_deleted_runs_questions_are_taken_back(
    socket_harness: SocketHarness, server: ScriptedServer
) -> None:
    agent, ui = socket_harness.started(), socket_harness.ui()
    run = ui.find_run("P")
    ui.wait_until_halted(run, agent.begin_query("never"))
    assert server.gate("never").wait_reached(30)
    agent.finish()
    ui.wait_for_state(run, "idle")
    ui.run_command("delete_run", run=run)
    settle(socket_harness)  # though the gate stays closed
    assert ui.expect_refusal("open_run", run=run)["code"] == "unknown_run"


def test_an_endpoint_that_refuses_changes_nothing(
    socket_harness: SocketHarness, caplog: pytest.LogCaptureFixture
) -> None:
    agent, ui = socket_harness.started(), socket_harness.ui()
    run = ui.find_run("P")
    ui.wait_until_halted(run, agent.begin_query("fail"))
    settle(socket_harness)
    assert ui.open_run(run)["rows"][-1]["summary"] == "fail"
    assert (
        "a summary is made by rule, since the model failed: The model small at http://"
        in caplog.text
    )
    ui.step(run)
    assert agent.receive_answer() == "fail"


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("", "summaries are made by rule: the model small needs OPENAI_API_KEY"),
        (
            "http://x:y",
            "summaries are made by rule: The request to the model small can't be sent: Invalid port",
        ),
    ],
)
def test_without_an_endpoint_it_is_told(
    url: str,
    why: str,
    new_socket_harness: NewStand,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    for name in ("AGENTSTEPPER_BASE_URL", "AGENTSTEPPER_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    assert new_socket_harness(model="small").core.hub.listeners == []
    assert why in caplog.text
