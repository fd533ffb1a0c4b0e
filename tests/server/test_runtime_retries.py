"""What failed, over HTTP: sessions that are retried, and actions that are dead letters."""

from __future__ import annotations

from msgspec.structs import replace

from agentstepper_nb.protocol.runtime import SessionStatus
from tests.server.agents import ManualSessions, Refusal, RuntimeApi


async def test_session_that_ended_as_an_error_goes_on(
    agents: RuntimeApi, manual_sessions: ManualSessions
) -> None:
    await agents.create("a1", "s1")
    running = await manual_sessions.begin("s1")
    path = ("POST", "agent-state", "s1", "retry")
    assert (await agents(*path, body={}))["status"] == "running"  # it does already
    failed = replace(running, status=SessionStatus.ERROR, last_error="it broke")
    await manual_sessions.write(failed)
    retried = await agents(*path, body={})
    assert (retried["status"], retried["attempt"], retried["losses"]) == ("running", 0, [])
    refused = await agents.expect_refusal("POST", "agent-state", "none", "retry", body={})
    assert refused == Refusal(404, "unknown_session")


async def test_session_that_is_done_is_not_retried(
    agents: RuntimeApi, manual_sessions: ManualSessions
) -> None:
    await agents.create("a1", "s1")
    running = await manual_sessions.begin("s1")
    await manual_sessions.write(replace(running, status=SessionStatus.DONE))
    refused = await agents.expect_refusal("POST", "agent-state", "s1", "retry", body={})
    assert refused == Refusal(409, "session_over")


async def test_dead_letters_are_retried_or_discarded(
    agents: RuntimeApi, manual_sessions: ManualSessions
) -> None:
    await agents.create("a1", "s1")
    await manual_sessions.begin("s1")
    for text in ("one", "two"):
        body = {"kind": "agent_input", "session_id": "s1", "payload": {"text": text}}
        await agents("POST", "actions", body=body)
        await manual_sessions.fail("s1")
    one, two = (await agents("GET", "actions", status="failed"))["actions"]
    response = await agents.fetch("POST", "actions", one["id"], "retry", body={})
    assert response.code == 201
    (again,) = (await agents("GET", "actions", status="queued"))["actions"]
    assert (again["retry_of"], again["payload"]) == (one["id"], one["payload"])
    (discarded,) = (await agents("POST", "actions", two["id"], "discard", body={}))["actions"]
    assert discarded["status"] == "discarded"
    assert (await agents("GET", "actions", status="failed"))["actions"] == []
    refused = await agents.expect_refusal("POST", "actions", again["id"], "retry", body={})
    assert refused == Refusal(409, "action_not_failed")
    refused = await agents.expect_refusal("POST", "actions", "none", "discard", body={})
    assert refused == Refusal(404, "unknown_action")
