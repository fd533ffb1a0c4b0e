"""Conversations: who takes part, what is said, and who hears it."""

from __future__ import annotations

import asyncio
import logging

import pytest
from msgspec.structs import replace

from agentstepper_nb.hub.runtime.context import RuntimeServices
from agentstepper_nb.hub.runtime.message_service import MessageService
from agentstepper_nb.protocol.runtime import (
    ActionKind,
    Delivery,
    ParticipantKind,
    ParticipantRole,
    SenderType,
    SessionStatus,
)
from agentstepper_nb.protocol.runtime_requests import (
    AdvanceCursor,
    LeaveConversation,
    NewConversation,
    NewMessage,
    NewParticipant,
    SetConversation,
)
from agentstepper_nb.protocol.runtime_store_messages import (
    CursorQuery,
    MessageQuery,
    ParticipantQuery,
)
from tests.hub.runtime.harness import LOG, RuntimeHarness, expect_refusal, run


async def close(harness: RuntimeHarness) -> None:
    await harness.runtime.set_conversation(SetConversation(conversation_id="c", status="closed"))


# ---- conversations ---------------------------------------------------------------------------------


def test_a_conversation_is_begun_once() -> None:
    async def test(harness: RuntimeHarness) -> None:
        ask = NewConversation(conversation_id="c", title="Tea", created_by="eve", tags=("a", "b"))
        first = await harness.runtime.create_conversation(ask)
        assert (first.title, first.created_by, first.tags) == ("Tea", "eve", ("a", "b"))
        again = await asyncio.gather(
            *(
                harness.runtime.create_conversation(
                    NewConversation(conversation_id="c", title=title)
                )
                for title in ("Coffee", "Milk")
            )
        )
        assert again == [first, first]
        unnamed = await harness.runtime.create_conversation(NewConversation())
        assert unnamed.conversation_id != "c"

    run(test)


def test_a_conversation_is_changed_by_what_is_given() -> None:
    async def test(harness: RuntimeHarness) -> None:
        before = await harness.runtime.create_conversation(
            NewConversation(conversation_id="c", title="Tea", tags=("a",))
        )
        titled = await harness.runtime.set_conversation(
            SetConversation(conversation_id="c", title="Coffee")
        )
        assert (titled.title, titled.tags) == ("Coffee", ("a",))
        assert titled.created_at == before.created_at
        untagged = await harness.runtime.set_conversation(
            SetConversation(conversation_id="c", tags=())
        )
        assert (untagged.title, untagged.tags) == ("Coffee", ())
        assert await harness.list_messages() == []
        with expect_refusal("unknown_conversation", "conversation_id"):
            await harness.runtime.set_conversation(SetConversation(conversation_id="gone"))

    run(test)


def test_closing_and_opening_again_are_said_once() -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.conversation()
        await close(harness)
        await close(harness)
        with expect_refusal("conversation_closed", "conversation_id"):
            await harness.post_message("too late")
        await harness.runtime.set_conversation(SetConversation(conversation_id="c", status="open"))
        await harness.post_message("in time")
        said = await harness.list_messages()
        assert [each.event_type for each in said] == ["closed", "opened", "message"]
        assert said[0].sender_type is SenderType.SYSTEM

    run(test)


# ---- participants ----------------------------------------------------------------------------------


def test_joining_and_leaving_are_said_once() -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.conversation()
        await harness.create("s")
        seat = await harness.join_session("s", role=ParticipantRole.OBSERVER)
        assert (seat.agent_id, seat.session_id, seat.role) == ("ann", "s", "observer")
        assert await harness.join_session("s") == seat
        user = await harness.join_user("eve", role=ParticipantRole.OWNER)
        assert (user.user_id, user.agent_id, user.session_id) == ("eve", None, None)
        left = await harness.runtime.leave(
            LeaveConversation(conversation_id="c", participant_id=user.participant_id)
        )
        assert left.left_at is not None
        assert (
            await harness.runtime.leave(
                LeaveConversation(conversation_id="c", participant_id=user.participant_id)
            )
            == left
        )
        back = await harness.join_user("eve")
        assert back.participant_id != user.participant_id
        assert await harness.list_texts() == [
            "ann joined.",
            "eve joined.",
            "eve left.",
            "eve joined.",
        ]
        found = await harness.runtime.participants(
            ParticipantQuery(conversation_id="c", is_present=True)
        )
        assert found.participants == (seat, back)

    run(test)


def test_an_agent_joins_by_its_latest_session() -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.conversation()
        await harness.create("s1")
        await harness.create("s2")
        ask = NewParticipant(conversation_id="c", kind=ParticipantKind.SESSION, agent_id="ann")
        assert (await harness.runtime.join(ask)).session_id == "s2"

    run(test)


def test_who_cant_join_or_leave() -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.conversation()
        await harness.conversation("other")
        await harness.create("s")
        with expect_refusal("unknown_conversation", "conversation_id"):
            await harness.join_session("s", "gone")
        with expect_refusal("unknown_session", "session_id"):
            await harness.join_session("gone")
        for kind, field in ((ParticipantKind.USER, "user_id"), ("session", "session_id")):
            with expect_refusal("invalid_message", field):
                await harness.runtime.join(
                    NewParticipant(conversation_id="c", kind=ParticipantKind(kind))
                )
        seat = await harness.join_session("s")
        with expect_refusal("unknown_participant", "participant_id"):
            await harness.runtime.leave(
                LeaveConversation(conversation_id="other", participant_id=seat.participant_id)
            )
        with expect_refusal("unknown_conversation"):
            await harness.runtime.leave(
                LeaveConversation(conversation_id="gone", participant_id=seat.participant_id)
            )
        await harness.begin("s", SessionStatus.DONE)
        with expect_refusal("session_over", "session_id"):
            await harness.join_session("s", "other")
        await close(harness)
        with expect_refusal("conversation_closed", "conversation_id"):
            await harness.join_user("eve")

    run(test)


# ---- what users say --------------------------------------------------------------------------------


def test_a_post_reaches_who_is_there_hears_by_push_and_hasnt_ended() -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.conversation()
        for session in ("over", "here", "watches", "pulls", "left", "elsewhere"):
            await harness.create(session)
        await harness.join_session("over")
        await harness.begin("over", SessionStatus.STOPPED)
        await harness.join_session("here")
        await harness.join_session("watches", role=ParticipantRole.OBSERVER)
        await harness.join_session("pulls", delivery=Delivery.PULL)
        gone = await harness.join_session("left")
        await harness.runtime.leave(
            LeaveConversation(conversation_id="c", participant_id=gone.participant_id)
        )
        message = await harness.post_message("more tea", user="eve", data={"cups": 2})
        assert (message.user_id, message.data, message.event_type) == (
            "eve",
            {"cups": 2},
            "message",
        )
        heard = [each for each in await harness.actions() if each.kind is ActionKind.INPUT]
        assert {each.session_id for each in heard} == {"here", "watches"}
        for action in heard:
            assert action.payload == {"text": "more tea", "message_id": message.message_id}
            assert action.metadata == {"conversation_id": "c", "user_id": "eve"}
        assert len({action.idem_key for action in heard}) == 2
        assert (await harness.list_messages())[-1] == message

    run(test)


def test_data_alone_is_heard_as_json() -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.conversation()
        await harness.create("s")
        await harness.join_session("s")
        await harness.post_message("", data={"tasse": "grün"})
        assert (await harness.actions("s"))[-1].payload["text"] == '{"tasse": "grün"}'

    run(test)


@pytest.mark.parametrize(
    ("message", "code", "field"),
    [
        (NewMessage(conversation_id="c"), "invalid_message", "text"),
        (NewMessage(conversation_id="c", data="x" * 1_000_000), "invalid_message", "data"),
        (NewMessage(conversation_id="gone", text="tea"), "unknown_conversation", "conversation_id"),
        (NewMessage(conversation_id="c", text="tea", user_id="eve"), "may_not_post", "user_id"),
    ],
)
def test_who_may_not_say_what(message: NewMessage, code: str, field: str) -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.conversation()
        await harness.join_user("eve", role=ParticipantRole.OBSERVER)
        await harness.create("s")
        await harness.join_session("s")
        with expect_refusal(code, field):
            await harness.runtime.say(message)
        assert len(await harness.list_messages()) == 2  # that they joined
        assert len(await harness.actions()) == 1

    run(test)


def test_who_observed_may_post_as_a_member() -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.conversation()
        seat = await harness.join_user("eve", role=ParticipantRole.OBSERVER)
        await harness.runtime.leave(
            LeaveConversation(conversation_id="c", participant_id=seat.participant_id)
        )
        await harness.join_user("eve")
        assert (await harness.post_message("tea", user="eve")).text == "tea"

    run(test)


# ---- what sessions say -----------------------------------------------------------------------------


def test_what_a_step_says_is_posted_by_members_alone(caplog: pytest.LogCaptureFixture) -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.conversation()
        for session in ("member", "observer", "left", "never"):
            await harness.create(session)
            await harness.begin(session)
        await harness.join_session("member")
        await harness.join_session("observer", role=ParticipantRole.OBSERVER)
        seat = await harness.join_session("left")
        await harness.runtime.leave(
            LeaveConversation(conversation_id="c", participant_id=seat.participant_id)
        )
        for session in ("member", "observer", "left", "never"):
            written = await harness.step(session, messages=(harness.make_message(session),))
            assert len(written.steps) == 1
            assert len(written.messages) == (1 if session == "member" else 0)
        await close(harness)
        written = await harness.step("member", messages=(harness.make_message("member", "ho"),))
        assert written.messages == ()
        agents = [
            each for each in await harness.list_messages() if each.sender_type is SenderType.AGENT
        ]
        assert [each.session_id for each in agents] == ["member"]

    with caplog.at_level(logging.INFO):
        run(test)
    assert caplog.text.count("a message of session") == 4


# ---- reading on ------------------------------------------------------------------------------------


async def read(harness: RuntimeHarness, limit: int = 100) -> list[str]:
    ask = AdvanceCursor(session_id="s", conversation_id="c", limit=limit)
    return [message.text for message in (await harness.runtime.read_on(ask)).messages]


def test_a_session_that_pulls_reads_on_where_it_was() -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.conversation()
        await harness.post_message("before it came")
        await harness.create("s")
        await harness.join_session("s", delivery=Delivery.PULL)
        await harness.begin("s")
        for text in ("one", "two", "three"):
            await harness.post_message(text)
        assert await read(harness, 2) == ["before it came"]  # its own "joined" isn't for it
        assert await read(harness, 2) == ["one", "two"]
        cursor = await harness.runtime.cursor(CursorQuery(session_id="s", conversation_id="c"))
        assert cursor.cursor is not None
        assert cursor.cursor.last_message_id == (await harness.list_messages())[3].message_id
        for text in ("a", "b", "c", "d"):
            await harness.step("s", messages=(harness.make_message("s", text),))
        await harness.post_message("four")
        assert await read(harness, 2) == ["three"]
        assert await read(harness, 2) == ["four"]  # beyond a page of its own
        assert await read(harness, 2) == []

    run(test)


def test_what_an_answer_has_no_room_for_is_read_next() -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.conversation()
        await harness.create("s")
        await harness.join_session("s", delivery=Delivery.PULL)
        texts = [letter * 1000 for letter in "abcde"]
        for text in texts:
            await harness.post_message(text)
        context = RuntimeServices(
            harness.store, LOG, harness.clock, str, lambda updates: None, lambda: None
        )
        service = MessageService(context, max_answer_bytes=3000)
        ask = AdvanceCursor(session_id="s", conversation_id="c")
        read: list[list[str]] = []
        while found := (await service.read_on(ask)).messages:
            read.append([message.text for message in found])
        assert read == [texts[:2], texts[2:4], texts[4:]]

    run(test)


def test_only_who_takes_part_reads_on() -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.conversation()
        await harness.create("s")
        seat = await harness.join_session("s")
        await harness.runtime.leave(
            LeaveConversation(conversation_id="c", participant_id=seat.participant_id)
        )
        with expect_refusal("unknown_participant", "session_id"):
            await read(harness)
        with expect_refusal("unknown_session", "session_id"):
            await harness.runtime.read_on(AdvanceCursor(session_id="gone", conversation_id="c"))
        with expect_refusal("unknown_conversation", "conversation_id"):
            await harness.runtime.read_on(AdvanceCursor(session_id="s", conversation_id="gone"))

    run(test)


def test_a_post_with_a_known_key_is_the_one_that_was() -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.conversation()
        await harness.conversation("d")
        await harness.create("s", conversation_id="c")
        first, second = await asyncio.gather(
            *(harness.post_message(text, idem_key="k") for text in ("Hello.", "Hello again."))
        )
        assert first == second
        await harness.runtime.set_conversation(
            SetConversation(conversation_id="c", status="closed")
        )
        assert await harness.post_message("Hello.", idem_key="k") == first
        assert [said for said in await harness.list_messages() if said.event_type == "message"] == [
            first
        ]
        inputs = [each for each in await harness.actions("s") if each.kind == "agent_input"]
        assert len(inputs) == 1
        elsewhere = await harness.runtime.say(
            NewMessage(conversation_id="d", text="Hello.", idem_key="k")
        )
        assert elsewhere.message_id != first.message_id

    run(test)


def test_one_message_by_its_id() -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.conversation()
        said = [await harness.post_message(text) for text in ("a", "b")]
        ask = MessageQuery(conversation_id="c", message_id=said[1].message_id)
        assert (await harness.runtime.messages(ask)).messages == (said[1],)
        with expect_refusal("unknown_message_id", "message_id"):
            await harness.runtime.messages(replace(ask, message_id="nobody's"))

    run(test)
