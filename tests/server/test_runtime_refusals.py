"""`/agentstepper/api/…` over HTTP: what is refused, and how."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from agentstepper_nb.errors import StoreError
from agentstepper_nb.protocol.runtime import SessionStatus
from tests.server.agents import ManualSessions, Refusal, RuntimeApi
from tests.server.test_runtime import CREATE

NOT_THERE = "nowhere"


READS: list[tuple[list[str], Any, Refusal]] = [
    (["agent-steps"], {"session": "s1"}, Refusal(400, "invalid_message", "session")),
    (["agent-steps"], {"limit": 1001}, Refusal(400, "invalid_message", "limit")),
    (["agent-steps"], {"offset": "x"}, Refusal(400, "invalid_message", "offset")),
    (["agent-steps"], {"since": "nan"}, Refusal(400, "invalid_message", "since")),
    (
        ["agent-steps"],
        {"session_id": ["s1", "s2"]},
        Refusal(400, "invalid_message", "session_id"),
    ),
    (["agent-steps"], {"session_id": NOT_THERE}, Refusal(404, "unknown_session", "session_id")),
    (["agent-steps"], {"agent_id": NOT_THERE}, Refusal(404, "unknown_agent", "agent_id")),
    (["agent-state"], {"status": "asleep"}, Refusal(400, "invalid_message", "status")),
    (["agent-state"], {"session_id": NOT_THERE}, Refusal(404, "unknown_session", "session_id")),
    (["agent-state"], {"agent_id": NOT_THERE}, Refusal(404, "unknown_agent", "agent_id")),
    (["agents", NOT_THERE, "sessions"], {}, Refusal(404, "unknown_agent", "agent_id")),
    (
        ["agents", "a1", "sessions"],
        {"agent_id": "a2"},
        Refusal(400, "invalid_message", "agent_id"),
    ),
    (["actions"], {"status": "lost"}, Refusal(400, "invalid_message", "status")),
    (["actions"], {"session_id": NOT_THERE}, Refusal(404, "unknown_session", "session_id")),
    (["actions", NOT_THERE], {}, Refusal(404, "unknown_action", "id")),
    (["actions", NOT_THERE], {"limit": 1}, Refusal(400, "invalid_message", "limit")),
]
ACTIONS: list[tuple[Any, Refusal]] = [
    (b"", Refusal(400, "malformed")),
    (b"[]", Refusal(400, "invalid_message")),
    ({}, Refusal(400, "invalid_message", "kind")),
    ({"kind": "agent_fly"}, Refusal(400, "invalid_message", "kind")),
    ({**CREATE, "agent": "a1"}, Refusal(400, "invalid_message", "agent")),
    ({**CREATE, "agent_id": None}, Refusal(400, "invalid_message", "agent_id")),
    ({**CREATE, "payload": {}}, Refusal(400, "invalid_message", "payload.moniker")),
    (
        {**CREATE, "payload": {"moniker": "m", "limits": {"retries": -1}}},
        Refusal(400, "invalid_message", "payload.limits.retries"),
    ),
    (
        {**CREATE, "payload": {"moniker": "m", "conversation_id": NOT_THERE}},
        Refusal(404, "unknown_conversation", "payload.conversation_id"),
    ),
    ({"kind": "agent_pause"}, Refusal(400, "invalid_message", "session_id")),
    (
        {"kind": "agent_pause", "session_id": NOT_THERE},
        Refusal(404, "unknown_session", "session_id"),
    ),
    (
        {"kind": "agent_pause", "agent_id": NOT_THERE},
        Refusal(404, "unknown_agent", "agent_id"),
    ),
    (
        {"kind": "agent_interrupt", "session_id": "s1"},
        Refusal(400, "invalid_message", "payload.guidance"),
    ),
    (
        {"kind": "agent_input", "session_id": "s1", "payload": {"text": ""}},
        Refusal(400, "invalid_message", "payload.text"),
    ),
    (
        {"kind": "agent_pause", "session_id": "over"},
        Refusal(409, "session_over", "session_id"),
    ),
]


async def test_reading_what_is_not_there(
    agents: RuntimeApi, manual_sessions: ManualSessions
) -> None:
    await agents.create("a1", "s1")
    for path, query, refusal in READS:
        assert await agents.expect_refusal("GET", *path, **query) == refusal, (path, query)


async def test_actions_that_are_refused_change_nothing(
    agents: RuntimeApi, manual_sessions: ManualSessions
) -> None:
    await agents.create("a1", "over")
    state = await manual_sessions.begin("over")
    await manual_sessions.write(replace(state, status=SessionStatus.DONE))
    await agents.create("a1", "s1")
    before = await agents("GET", "actions"), await agents("GET", "agent-state")
    for body, refusal in ACTIONS:
        assert await agents.expect_refusal("POST", "actions", body=body) == refusal, body
    assert (await agents("GET", "actions"), await agents("GET", "agent-state")) == before


@pytest.mark.parametrize("max_message_bytes", [1024])
async def test_an_action_that_is_too_large(
    agents: RuntimeApi, manual_sessions: ManualSessions, max_message_bytes: int
) -> None:
    body = {**CREATE, "metadata": "x" * 1024}
    assert await agents.expect_refusal("POST", "actions", body=body) == (413, "too_large", None)


async def test_a_store_that_fails_says_so(
    agents: RuntimeApi,
    manual_sessions: ManualSessions,
    extension: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def fail(ask: Any) -> None:
        raise StoreError("The disk is full.")

    monkeypatch.setattr(extension.host.runtime, "states", fail)
    assert await agents.expect_refusal("GET", "agent-state") == (503, "store_failed", None)
