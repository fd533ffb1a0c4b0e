"""What becomes an action, and what is refused."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentstepper_nb.errors import CommandError
from agentstepper_nb.protocol.runtime import (
    Action,
    ActionStatus,
    AgentLimits,
    Delivery,
    SenderType,
    SessionStatus,
)
from agentstepper_nb.protocol.runtime_requests import LeaveConversation, SetConversation
from agentstepper_nb.protocol.runtime_store_messages import ParticipantQuery
from tests.hub.runtime.harness import RuntimeHarness, expect_refusal, run


def test_creating_makes_the_session_its_place_and_the_action() -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.conversation()
        acted = await harness.create(
            "s",
            config={"subject": "tea"},
            conversation_id="c",
            delivery="pull",
            limits={"max_steps": 3},
            step=True,
        )
        assert acted.is_new
        assert acted.session_id == "s"
        state = await harness.state("s")
        assert (state.agent_id, state.moniker, state.status) == ("ann", "joke", "created")
        assert state.config == {"subject": "tea"}
        assert state.limits == AgentLimits(max_steps=3)
        assert state.step
        assert state.conversation_id == "c"
        assert await harness.actions() == [acted.action]
        assert acted.action.payload["limits"]["retries"] == 0  # what was left out stands there
        found = await harness.store.participants(ParticipantQuery(conversation_id="c"))
        (seat,) = found.participants
        assert (seat.session_id, seat.agent_id, seat.role) == ("s", "ann", "member")
        assert seat.delivery is Delivery.PULL
        (joined,) = await harness.list_messages()
        assert (joined.text, joined.event_type) == ("ann joined.", "joined")
        assert joined.sender_type is SenderType.SYSTEM
        assert harness.worker_requests == 1

    run(test)


def test_a_second_creation_answers_the_first() -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.conversation()
        first = await harness.create("s", conversation_id="c")
        await harness.runtime.set_conversation(
            SetConversation(conversation_id="c", status="closed")
        )
        for again in (
            await harness.create("s", conversation_id="c"),  # which one may not join any more
            await harness.create("s", conversation_id="gone"),
        ):
            assert (again.action, again.session_id, again.is_new) == (first.action, "s", False)
        with pytest.raises(CommandError) as refused:
            await harness.create("s", agent="bob")
        assert (refused.value.code, refused.value.field) == ("session_exists", "session_id")
        assert await harness.actions() == [first.action]

    run(test)


def test_a_key_makes_a_creation_one_even_at_the_same_time() -> None:
    async def test(harness: RuntimeHarness) -> None:
        asks = [
            harness.enqueue(
                "agent_create", agent_id="ann", idem_key="once", payload={"moniker": "joke"}
            )
            for _ in range(5)
        ]
        acted = await asyncio.gather(*asks)
        assert len({each.session_id for each in acted}) == 1
        assert [each.is_new for each in acted].count(True) == 1
        assert len(await harness.actions()) == 1
        other = await harness.enqueue("agent_create", agent_id="ann", payload={"moniker": "joke"})
        assert other.is_new
        assert other.session_id != acted[0].session_id

    run(test)


@pytest.mark.parametrize(
    ("kind", "payload", "field"),
    [
        ("agent_create", None, "payload.moniker"),
        ("agent_create", {"moniker": ""}, "payload.moniker"),
        ("agent_create", {"moniker": "joke", "limits": {"retries": -1}}, "payload.limits.retries"),
        ("agent_create", {"moniker": "joke", "limits": {"max_step": 3}}, "payload.limits.max_step"),
        ("agent_create", {"moniker": "joke", "delivery": "shout"}, "payload.delivery"),
        ("agent_create", {"moniker": "joke", "stop": True}, "payload.stop"),
        ("agent_create", "joke", "payload"),
        ("agent_pause", {"why": "tea"}, "payload.why"),
        ("agent_resume", [], "payload"),
        ("agent_interrupt", None, "payload.guidance"),
        ("agent_interrupt", {"guidance": 7}, "payload.guidance"),
        ("agent_input", {"text": ""}, "payload.text"),
        ("agent_destroy", {"timeout_s": -1}, "payload.timeout_s"),
        ("agent_destroy", 10, "payload"),
    ],
)
def test_a_payload_of_another_form_is_refused_with_its_field(
    kind: str, payload: Any, field: str
) -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.create("s")
        with expect_refusal("invalid_message", field) as caught:
            await harness.enqueue(kind, "s", agent_id="ann", payload=payload)
        assert field in caught.value.message
        assert len(await harness.actions()) == 1

    run(test)


@pytest.mark.parametrize(
    ("ask", "code", "field"),
    [
        ({"kind": "agent_create", "payload": {"moniker": "joke"}}, "invalid_message", "agent_id"),
        ({"kind": "agent_pause"}, "invalid_message", "session_id"),
        ({"kind": "agent_pause", "session": "gone"}, "unknown_session", "session_id"),
        ({"kind": "agent_pause", "agent_id": "gone"}, "unknown_agent", "agent_id"),
        ({"kind": "agent_pause", "session": "s", "agent_id": "bob"}, "unknown_session", "agent_id"),
        (
            {
                "kind": "agent_create",
                "agent_id": "ann",
                "payload": {"moniker": "joke", "conversation_id": "gone"},
            },
            "unknown_conversation",
            "payload.conversation_id",
        ),
        (
            {
                "kind": "agent_create",
                "agent_id": "ann",
                "payload": {"moniker": "joke", "conversation_id": "c"},
            },
            "conversation_closed",
            "payload.conversation_id",
        ),
    ],
)
def test_what_isnt_there_is_refused(ask: dict[str, Any], code: str, field: str) -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.create("s")
        await harness.conversation()
        await harness.runtime.set_conversation(
            SetConversation(conversation_id="c", status="closed")
        )
        with expect_refusal(code, field):
            await harness.enqueue(**ask)
        assert len(await harness.actions()) == 1

    run(test)


def test_an_agents_latest_session_is_meant() -> None:
    async def test(harness: RuntimeHarness) -> None:
        for session, agent in (("s1", "ann"), ("s2", "ann"), ("s3", "bob")):
            await harness.create(session, agent)
        acted = await harness.enqueue(
            "agent_pause", agent_id="ann", urgency=5, metadata={"by": "me"}
        )
        assert acted.session_id == "s2"
        assert (acted.action.urgency, acted.action.metadata) == (5, {"by": "me"})
        assert acted.action.status is ActionStatus.QUEUED
        both = await harness.enqueue("agent_resume", "s1", agent_id="ann")
        assert both.session_id == "s1"

    run(test)


@pytest.mark.parametrize("status", ["stopped", "done", "error"])
def test_a_session_that_has_ended_takes_only_its_end(status: str) -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.create("s")
        await harness.begin("s", SessionStatus(status))
        for kind, payload in (
            ("agent_pause", None),
            ("agent_resume", None),
            ("agent_interrupt", {"guidance": "tea"}),
            ("agent_input", {"text": "tea"}),
        ):
            with expect_refusal("session_over", "agent_id"):
                await harness.enqueue(kind, agent_id="ann", payload=payload)
        acted = await harness.enqueue("agent_destroy", "s")
        assert acted.is_new
        assert acted.action.payload == {"timeout_s": 10.0}
        claimed = await harness.claim()
        assert claimed is not None
        assert claimed.id == acted.action.id

    run(test)


def test_a_key_that_is_known_answers_its_action() -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.create("s")
        await harness.begin("s")
        first = await harness.enqueue("agent_pause", "s", idem_key="k")
        again = await harness.enqueue("agent_pause", "s", idem_key="k")
        assert (again.action.id, again.is_new) == (first.action.id, False)
        at_once = await asyncio.gather(
            *(harness.enqueue("agent_resume", "s", idem_key="r") for _ in range(5))
        )
        assert [each.is_new for each in at_once].count(True) == 1
        assert len({each.action.id for each in at_once}) == 1
        paused = await harness.claim()
        assert paused is not None
        await harness.finish(paused, SessionStatus.DONE)
        over = await harness.enqueue(
            "agent_pause", "s", idem_key="k"
        )  # also where it would be refused
        assert over.action.status is ActionStatus.DONE

    run(test)


# ---- input -----------------------------------------------------------------------------------------


async def receive(harness: RuntimeHarness, text: str, **fields: Any) -> Action:
    acted = await harness.enqueue("agent_input", "s", payload={"text": text}, **fields)
    return acted.action


def test_input_stands_in_the_conversation_of_its_session() -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.conversation()
        await harness.create("s", conversation_id="c")
        action = await receive(harness, "more tea")
        message = (await harness.list_messages())[-1]
        assert (message.text, message.event_type, message.user_id) == ("more tea", "input", "user")
        assert action.payload == {"text": "more tea", "message_id": message.message_id}
        at_once = await asyncio.gather(*(receive(harness, "again", idem_key="k") for _ in range(5)))
        assert len({each.id for each in at_once}) == 1
        assert (await harness.list_texts()).count("again") == 1

    run(test)


def test_input_doesnt_stand_where_its_session_takes_no_part() -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.conversation()
        await harness.create("s", conversation_id="c")
        seat = await harness.join_session("s")
        await harness.runtime.leave(
            LeaveConversation(conversation_id="c", participant_id=seat.participant_id)
        )
        left = await receive(harness, "after it left")
        await harness.join_session("s")
        await harness.runtime.set_conversation(
            SetConversation(conversation_id="c", status="closed")
        )
        closed = await receive(harness, "after it was closed")
        assert left.payload["message_id"] is None
        assert closed.payload["message_id"] is None
        assert not any(text.startswith("after") for text in await harness.list_texts())

    run(test)


def test_what_is_too_large_for_a_row_is_refused() -> None:
    """A claim gives an action with its session: what doesn't fit would stop the queue."""

    async def test(harness: RuntimeHarness) -> None:
        await harness.conversation()
        large = "x" * 8_000_000
        with expect_refusal("too_large", "payload"):
            await harness.create("s", config=large)
        with expect_refusal("too_large", "metadata"):
            await harness.enqueue("agent_pause", "s", metadata=[large])
        with expect_refusal("too_large", "data"):
            await harness.post_message("Look!", data={"it": large})
        assert await harness.actions() == []
        assert await harness.list_messages() == []
        assert (await harness.create("s", config=large[:-1000])).is_new

    run(test)
