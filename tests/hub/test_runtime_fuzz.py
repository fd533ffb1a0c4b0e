"""Broken messages on a client's line to the runtime: none raises, all are answered or passed by."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from agentstepper_nb.hub.runtime import MethodRight
from agentstepper_nb.protocol.runtime_store_messages import AgentStateList, StateQuery
from tests.helpers.fuzz import MANY_MESSAGES, MESSAGES, CountingTransport, send_broken_messages
from tests.hub.runtime_hosts import open_runtime_host


def messages(turn: int) -> list[dict[str, Any]]:
    """What a client might say next, whole; ids are few, so that they collide."""
    session, talk = f"s{turn % 7}", f"c{turn % 3}"
    create = {"moniker": "joke", "limits": {"max_steps": 3}, "delivery": "pull"}
    asked: list[tuple[str, dict[str, Any]]] = [
        (
            "act",
            {"kind": "agent_create", "agent_id": "a", "session_id": session, "payload": create},
        ),
        ("act", {"kind": "agent_pause", "session_id": session}),
        (
            "act",
            {"kind": "agent_input", "agent_id": "a", "payload": {"text": "x"}, "urgency": turn},
        ),
        ("states", {"session_id": session, "status": ["running"], "limit": 1 + turn % 1000}),
        ("steps", {"session_id": session, "min_iteration": 1, "latest": True}),
        ("actions", {"agent_id": "a", "status": "queued", "offset": turn % 5}),
        ("create_conversation", {"title": "t", "tags": ["x"], "conversation_id": talk}),
        ("join", {"conversation_id": talk, "kind": "session", "session_id": session}),
        ("say", {"conversation_id": talk, "text": "x", "data": {"y": [1]}}),
        ("messages", {"conversation_id": talk, "last": True}),
        ("claim", {"owner": "w", "now": 1.0, "lease_until": 2.0}),
    ]
    said = [
        ("request", {"service": "runtime", "method": method, "params": params})
        for method, params in asked
    ]
    watch = {"service": "runtime", "method": "watch", "window": turn % 5}
    said += [
        ("request", watch | {"params": {"topic": f"session:{session}"}}),
        ("request", watch | {"params": {"topic": "sessions"}}),
        ("cancel", {}),
        ("more", {"items": turn % 9}),
    ]
    return [{"n": turn, "type": type, "id": f"{turn % 13}", "body": body} for type, body in said]


def fuzz(count: int) -> None:
    async def test() -> None:
        async with open_runtime_host() as core:
            ear = CountingTransport()
            session = core.host.connect(ear, MethodRight.CONTROL)
            session.receive(
                '{"n":1,"type":"hello","body":{"version":1,"worker":"w","pid":1,"services":[]}}'
            )
            await send_broken_messages(count, 3, messages, session.receive)
            said = {"malformed", "unknown_message", "invalid_message", "watch_only"}
            assert said <= set(ear.codes)
            assert ear.codes["internal"] == 0
            session.on_closed()
            client = core.client()
            assert (await client.create("after it")).is_new
            states = await client.request("states", StateQuery(limit=1000), AgentStateList)
            assert "after it" in {state.session_id for state in states.states}

    asyncio.run(test())


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Refusals are warnings, and so many aren't kept; an error would be ours."""
    caplog.set_level(logging.ERROR, "agentstepper_nb")
    yield
    assert [each for each in caplog.records if each.levelno >= logging.ERROR] == []


def test_a_client_that_talks_nonsense() -> None:
    fuzz(MESSAGES)


@pytest.mark.soak
def test_a_client_that_talks_nonsense_for_long() -> None:
    fuzz(MANY_MESSAGES)
