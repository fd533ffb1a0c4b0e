"""Reads: an empty list says that there is nothing, an error that what is named isn't there."""

from __future__ import annotations

from typing import Any

import pytest

from agentstepper_nb.protocol.runtime import ActionStatus, ConversationStatus, SessionStatus
from agentstepper_nb.protocol.runtime_store_messages import (
    ActionQuery,
    AgentSessionQuery,
    ConversationQuery,
    CursorQuery,
    CursorResult,
    MessageQuery,
    ParticipantQuery,
    StateQuery,
    StepQuery,
)
from tests.hub.runtime.harness import RuntimeHarness, expect_refusal, run

GONE: list[tuple[str, Any, str, str]] = [
    ("actions", ActionQuery(id="gone"), "unknown_action", "id"),
    ("actions", ActionQuery(session_id="gone"), "unknown_session", "session_id"),
    ("actions", ActionQuery(agent_id="gone"), "unknown_agent", "agent_id"),
    ("states", StateQuery(session_id="gone"), "unknown_session", "session_id"),
    ("states", StateQuery(agent_id="gone"), "unknown_agent", "agent_id"),
    ("steps", StepQuery(session_id="gone"), "unknown_session", "session_id"),
    ("steps", StepQuery(agent_id="gone", latest=True), "unknown_agent", "agent_id"),
    ("sessions", AgentSessionQuery(agent_id="gone"), "unknown_agent", "agent_id"),
    (
        "conversations",
        ConversationQuery(conversation_id="gone"),
        "unknown_conversation",
        "conversation_id",
    ),
    (
        "participants",
        ParticipantQuery(conversation_id="gone"),
        "unknown_conversation",
        "conversation_id",
    ),
    ("messages", MessageQuery(conversation_id="gone"), "unknown_conversation", "conversation_id"),
    (
        "messages",
        MessageQuery(conversation_id="gone", after="m"),
        "unknown_conversation",
        "conversation_id",
    ),
    ("messages", MessageQuery(conversation_id="c", after="m"), "unknown_message_id", "after"),
    ("cursor", CursorQuery(session_id="gone", conversation_id="c"), "unknown_session", ""),
    ("cursor", CursorQuery(session_id="s", conversation_id="gone"), "unknown_conversation", ""),
]
EMPTY: list[tuple[str, Any]] = [
    ("actions", ActionQuery(session_id="s", status=ActionStatus.DONE)),
    ("actions", ActionQuery(idem_key="gone")),
    ("states", StateQuery(agent_id="ann", status=(SessionStatus.DONE,))),
    ("steps", StepQuery(session_id="s")),
    ("steps", StepQuery(agent_id="ann", min_iteration=3)),
    ("conversations", ConversationQuery(conversation_id="c", status=ConversationStatus.CLOSED)),
    ("participants", ParticipantQuery(conversation_id="c")),
    ("messages", MessageQuery(conversation_id="c")),
]


@pytest.mark.parametrize(("method", "ask", "code", "field"), GONE)
def test_what_is_named_and_isnt_there(method: str, ask: Any, code: str, field: str) -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.create("s")
        await harness.conversation()
        with expect_refusal(code, field or None):
            await getattr(harness.runtime, method)(ask)

    run(test)


@pytest.mark.parametrize(("method", "ask"), EMPTY)
def test_what_is_there_and_has_nothing(method: str, ask: Any) -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.create("s")
        await harness.conversation()
        found = await getattr(harness.runtime, method)(ask)
        assert getattr(found, method) == ()

    run(test)


def test_what_is_there() -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.create("s")
        await harness.begin("s")
        await harness.step("s")
        await harness.conversation()
        await harness.join_session("s")
        ask = harness.runtime
        assert len((await ask.actions(ActionQuery(session_id="s"))).actions) == 1
        assert (await ask.states(StateQuery(agent_id="ann"))).states[0].session_id == "s"
        assert len((await ask.steps(StepQuery(agent_id="ann"))).steps) == 1
        (session,) = (await ask.sessions(AgentSessionQuery(agent_id="ann"))).sessions
        assert (session.session_id, session.iteration) == ("s", 1)
        assert len((await ask.conversations(ConversationQuery())).conversations) == 1
        assert (
            len((await ask.participants(ParticipantQuery(conversation_id="c"))).participants) == 1
        )
        assert len((await ask.messages(MessageQuery(conversation_id="c"))).messages) == 1
        assert await ask.cursor(CursorQuery(session_id="s", conversation_id="c")) == CursorResult(
            cursor=None
        )

    run(test)
