"""`/agentstepper/api/…` over HTTP: actions, sessions and their steps."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from agentstepper_nb.protocol.runtime import AgentState, SessionStatus
from agentstepper_nb.protocol.runtime_requests import PROJECTION_SERVICE
from agentstepper_nb.rpc.persistent_connection import ReconnectingCaller
from agentstepper_nb.runtime.projection_service import ProjectionService
from agentstepper_nb.runtime.remote_queue import RemoteQueue
from agentstepper_nb.server_ext.app import AgentStepperExtension
from agentstepper_nb.store.lance.projection import Projection
from tests.server.agents import ManualSessions, Refusal, RuntimeApi, step
from tests.worker.worker_pair import LOG, WorkerConnection

CREATE = {"kind": "agent_create", "agent_id": "a1", "payload": {"moniker": "m"}}
#: Ids that a path and a query have to quote.
ODD = "ä/ö %2F?&=+#.."


# ---- actions ---------------------------------------------------------------------------------------


async def test_an_action_is_kept_as_it_was_sent(
    agents: RuntimeApi, manual_sessions: ManualSessions
) -> None:
    sent = {
        **CREATE,
        "session_id": "s1",
        "urgency": 7,
        "metadata": {"by": "Zoë", "tags": ["x", None, 1.5]},
        "idem_key": "k1",
    }
    response = await agents.fetch("POST", "actions", body=sent)
    assert response.code == 201
    (action,) = (await agents("GET", "actions"))["actions"]
    assert action.keys() == {
        *("id", "created_at", "kind", "agent_id", "session_id", "urgency", "payload", "metadata"),
        *("status", "owner", "lease_until", "attempts", "idem_key", "error", "processed_at"),
        *("retry_of", "not_before", "every", "cron", "series_id"),
    }
    told = ("kind", "agent_id", "session_id", "urgency", "metadata", "idem_key")
    assert [action[name] for name in told] == [sent[name] for name in told]
    assert action["payload"]["moniker"] == "m"
    assert (action["status"], action["owner"], action["attempts"]) == ("queued", None, 0)


async def test_creating_again_answers_the_same_session(
    agents: RuntimeApi, manual_sessions: ManualSessions
) -> None:
    first = await agents("POST", "actions", body={**CREATE, "session_id": "s1"})
    response = await agents.fetch("POST", "actions", body={**CREATE, "session_id": "s1"})
    assert response.code == 200
    again = await agents("POST", "actions", body={**CREATE, "session_id": "s1"})
    assert first == {"action": first["action"], "session_id": "s1", "fresh": True}
    assert again == {**first, "fresh": False}
    assert len((await agents("GET", "actions"))["actions"]) == 1


async def test_what_waits_for_what_no_worker_has_is_said(
    agents: RuntimeApi, manual_sessions: ManualSessions
) -> None:
    needs = {"moniker_version": "2", "requires": ["gpu", "eu"]}
    body = {**CREATE, "payload": {"moniker": "m", **needs}, "session_id": "s1"}
    await agents("POST", "actions", body=body)
    (state,) = (await agents("GET", "agent-state", session_id="s1"))["states"]
    assert (state["moniker_version"], state["requires"]) == ("2", ["gpu", "eu"])
    status = await agents("GET", "agent-status")
    assert (status["dispatchers"], status["store"]["live"]) == (0, 1)
    (waiting,) = status["waiting"]
    assert waiting["route"] == {"moniker": "m", **needs, "requires": ["eu", "gpu"]}
    assert (waiting["sessions"], waiting["reason"]) == (1, "no worker is connected")
    refused = await agents.expect_refusal("GET", "agent-status", verbose="1")
    assert (refused.status, refused.code) == (400, "invalid_message")


async def test_without_an_id_of_the_clients_it_gets_one(
    agents: RuntimeApi, manual_sessions: ManualSessions
) -> None:
    acted = [await agents("POST", "actions", body=CREATE) for _ in range(2)]
    ids = [each["session_id"] for each in acted]
    assert len(set(ids)) == 2
    listed = (await agents("GET", "agents", "a1", "sessions"))["sessions"]
    assert [each["session_id"] for each in listed] == ids[::-1]


async def test_an_action_by_its_agent_is_for_the_latest_session(
    agents: RuntimeApi, manual_sessions: ManualSessions
) -> None:
    await agents.create("a1", "s1")
    await agents.create("a1", "s2")
    pause = {"kind": "agent_pause", "agent_id": "a1"}
    assert (await agents("POST", "actions", body=pause))["session_id"] == "s2"
    resume = {"kind": "agent_resume", "session_id": "s1"}
    acted = await agents("POST", "actions", body=resume)
    assert (acted["session_id"], acted["action"]["agent_id"]) == ("s1", "a1")


async def test_of_two_actions_with_one_key_the_first_counts(
    agents: RuntimeApi, manual_sessions: ManualSessions
) -> None:
    await agents.create("a1", "s1")
    told = {"kind": "agent_interrupt", "session_id": "s1", "idem_key": "k"}
    first = await agents("POST", "actions", body={**told, "payload": {"guidance": "cats"}})
    response = await agents.fetch("POST", "actions", body={**told, "payload": {"guidance": "dogs"}})
    assert response.code == 200
    (kept,) = (await agents("GET", "actions", idem_key="k"))["actions"]
    assert kept == first["action"]
    assert kept["payload"] == {"guidance": "cats"}


async def test_actions_are_found(agents: RuntimeApi, manual_sessions: ManualSessions) -> None:
    await agents.create("a1", "s1")
    await agents.create("a2", "s2")
    pause = {"kind": "agent_pause", "session_id": "s1"}
    paused = (await agents("POST", "actions", body=pause))["action"]["id"]
    await manual_sessions.begin("s1")

    async def found(**query: Any) -> list[tuple[str, str]]:
        listed = (await agents("GET", "actions", **query))["actions"]
        return [(each["session_id"], each["kind"]) for each in listed]

    ones, twos = ("s1", "agent_create"), ("s2", "agent_create")
    assert await found() == [ones, twos, ("s1", "agent_pause")]
    assert await found(session_id="s1") == [ones, ("s1", "agent_pause")]
    assert await found(status="done") == [ones]
    assert await found(status="queued", session_id="s2") == [twos]
    assert await found(kind="agent_pause") == [("s1", "agent_pause")]
    assert await found(agent_id="a2") == [twos]
    assert await found(limit=1, offset=1) == [twos]
    assert await found(status="failed") == []

    action = await agents("GET", "actions", paused)
    assert (action["id"], action["status"]) == (paused, "queued")


# ---- sessions --------------------------------------------------------------------------------------


async def test_a_snapshot_is_given_whole(
    agents: RuntimeApi, manual_sessions: ManualSessions
) -> None:
    await agents.create("a1", "s1", config={"subject": "Füchse"}, limits={"max_steps": 5})
    (state,) = (await agents("GET", "agent-state", session_id="s1"))["states"]
    assert state.keys() == set(AgentState.__struct_fields__)
    assert (state["status"], state["iteration"], state["epoch"]) == ("created", 0, 0)
    assert state["config"] == {"subject": "Füchse"}
    assert state["limits"]["max_steps"] == 5


async def test_snapshots_are_found(agents: RuntimeApi, manual_sessions: ManualSessions) -> None:
    for agent, session in (("a1", "s1"), ("a1", "s2"), ("a2", "s3")):
        await agents.create(agent, session)
    await manual_sessions.begin("s1")
    paused = await manual_sessions.begin("s2")
    await manual_sessions.write(replace(paused, status=SessionStatus.PAUSED))

    async def found(**query: Any) -> list[str]:
        return [
            each["session_id"] for each in (await agents("GET", "agent-state", **query))["states"]
        ]

    assert await found() == ["s3", "s2", "s1"]
    assert await found(agent_id="a1") == ["s2", "s1"]
    assert await found(agent_id="a1", status="paused") == ["s2"]
    assert await found(status=["running", "paused"]) == ["s2", "s1"]
    assert await found(session_id="s3", status="running") == []
    assert await found(limit=1, offset=1) == ["s2"]


async def test_an_agents_sessions_have_their_snapshots(
    agents: RuntimeApi, manual_sessions: ManualSessions
) -> None:
    await agents.create("a1", "s1")
    await agents.create("a1", "s2")
    state = await manual_sessions.begin("s1")
    await manual_sessions.write(replace(state, iteration=1, updated_at=1000.0), step(state, 0))
    newest, oldest = (await agents("GET", "agents", "a1", "sessions"))["sessions"]
    assert (newest["session_id"], newest["status"]) == ("s2", "created")
    assert (oldest["session_id"], oldest["status"], oldest["iteration"]) == ("s1", "running", 1)
    assert oldest["state"] == (await agents("GET", "agent-state", session_id="s1"))["states"][0]
    limited = await agents("GET", "agents", "a1", "sessions", limit=1)
    assert limited == {"sessions": [newest]}


async def test_odd_ids(agents: RuntimeApi, manual_sessions: ManualSessions) -> None:
    await agents.create(ODD, ODD)
    (session,) = (await agents("GET", "agents", ODD, "sessions"))["sessions"]
    assert session["session_id"] == session["agent_id"] == ODD
    assert len((await agents("GET", "actions", session_id=ODD))["actions"]) == 1
    state = await manual_sessions.begin(ODD)
    await manual_sessions.write(replace(state, iteration=1), step(state, 0))
    (kept,) = (await agents("GET", "agent-steps", session_id=ODD))["steps"]
    assert kept["session_id"] == ODD


# ---- steps -----------------------------------------------------------------------------------------


async def create_two_sessions(agents: RuntimeApi, manual_sessions: ManualSessions) -> None:
    """Two sessions of one agent: s1 with ten steps that were kept out of order, s2 with two."""
    await agents.create("a1", "s1")
    state = await manual_sessions.begin("s1")
    order = (3, 1, 4, 0, 5, 9, 2, 6, 8, 7)
    steps = [step(state, each, status="error" if each == 9 else "running") for each in order]
    await manual_sessions.write(replace(state, iteration=10), *steps)
    await agents.create("a1", "s2")
    state = await manual_sessions.begin("s2")
    await manual_sessions.write(replace(state, iteration=2), step(state, 1), step(state, 0))


async def listed(agents: RuntimeApi, **query: Any) -> list[int]:
    return [each["iteration"] for each in (await agents("GET", "agent-steps", **query))["steps"]]


async def test_steps_come_by_iteration(agents: RuntimeApi, manual_sessions: ManualSessions) -> None:
    await create_two_sessions(agents, manual_sessions)
    assert await listed(agents, session_id="s1") == list(range(10))
    assert await listed(agents, agent_id="a1") == [*range(10), 0, 1]
    assert await listed(agents) == [*range(10), 0, 1]


async def test_pages_of_steps_are_the_whole(
    agents: RuntimeApi, manual_sessions: ManualSessions
) -> None:
    await create_two_sessions(agents, manual_sessions)
    pages = [
        await listed(agents, session_id="s1", limit=4, offset=offset) for offset in (0, 4, 8, 12)
    ]
    assert pages == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9], []]
    seen: list[int] = []
    while page := await listed(
        agents, session_id="s1", limit=3, **({"after_iteration": seen[-1]} if seen else {})
    ):
        seen += page
    assert seen == list(range(10))


FOUND: list[tuple[Any, list[int]]] = [
    ({"min_iteration": 8}, [8, 9]),
    ({"max_iteration": 1}, [0, 1]),
    ({"min_iteration": 4, "max_iteration": 5}, [4, 5]),
    ({"min_iteration": 5, "max_iteration": 4}, []),
    ({"after_iteration": 7}, [8, 9]),
    ({"since": 1008.0}, [8, 9]),
    ({"since": 1008.5}, [9]),
    ({"status": "error"}, [9]),
    ({"status": "paused"}, []),
    ({"latest": "true"}, [9]),
    ({"latest": "0", "limit": 1}, [0]),
]


async def test_steps_are_found(agents: RuntimeApi, manual_sessions: ManualSessions) -> None:
    await create_two_sessions(agents, manual_sessions)
    for query, expected in FOUND:
        assert await listed(agents, session_id="s1", **query) == expected, query


async def test_the_latest_steps_of_an_agents_sessions(
    agents: RuntimeApi, manual_sessions: ManualSessions
) -> None:
    await create_two_sessions(agents, manual_sessions)
    steps = (await agents("GET", "agent-steps", agent_id="a1", latest="true"))["steps"]
    assert [(each["session_id"], each["iteration"]) for each in steps] == [("s1", 9), ("s2", 1)]


async def test_json_comes_as_values_and_text_as_text(
    agents: RuntimeApi, manual_sessions: ManualSessions
) -> None:
    await agents.create("a1", "s1")
    state = await manual_sessions.begin("s1")
    fields = {
        "text": '{"not": "JSON"}',
        "data": {"joke": "Wörter", "n": [1, 2.5, None, True]},
        "state": "plain text",
        "guidance": "42",
        "notes": "ünïcode 🦊",
        "latency_ms": 12.5,
    }
    await manual_sessions.write(
        replace(state, iteration=1, result={"text": "…"}), step(state, 0, **fields)
    )
    (kept,) = (await agents("GET", "agent-steps", session_id="s1"))["steps"]
    assert {name: kept[name] for name in fields} == fields
    assert kept.keys() == {
        *("id", "created_at", "agent_id", "session_id", "iteration", "event_seq", "step_token"),
        *("next_step_token", "status", *fields, "error"),
    }
    (snapshot,) = (await agents("GET", "agent-state"))["states"]
    assert snapshot["result"] == {"text": "…"}


# ---- search ----------------------------------------------------------------------------------------


@pytest.mark.slow
async def test_steps_are_searched_where_a_projection_runs(
    agents: RuntimeApi,
    manual_sessions: ManualSessions,
    extension: AgentStepperExtension,
    tmp_path: Path,
) -> None:
    await agents.create("a1", "s1")
    state = await manual_sessions.begin("s1")
    await manual_sessions.write(
        replace(state, iteration=2), step(state, 0, text="A red fox"), step(state, 1, text="An owl")
    )
    query = {"text": "fox", "session_id": "s1"}
    assert await agents.expect_refusal("GET", "agent-search", **query) == Refusal(
        503, "unknown_service"
    )
    caller = ReconnectingCaller()
    service = ProjectionService(
        RemoteQueue(caller), partial(Projection.open, str(tmp_path)), LOG, 0.01, once=True
    )
    worker = WorkerConnection(extension.host.workers, {PROJECTION_SERVICE: service})
    caller.attach(worker.line)
    await service.following
    (hit,) = (await agents("GET", "agent-search", **query))["hits"]
    assert (hit["step"]["text"], hit["step"]["iteration"], hit["message"]) == ("A red fox", 0, None)
    assert hit["score"] > 0
    assert await agents("GET", "agent-search", text="fox", agent_id="a2") == {"hits": []}
    assert await agents.expect_refusal("GET", "agent-search", text="") == Refusal(
        400, "invalid_message", "text"
    )
    await service.close()
    worker.break_off()
