"""Conversations: who takes part, what is said, and who hears it."""

from __future__ import annotations

import asyncio
import logging

import pytest
from msgspec.structs import replace

from agentstepper_nb.protocol.runtime import (
    ActionKind,
    Delivery,
    ParticipantKind,
    ParticipantRole,
    SenderType,
    SessionStatus,
)
from agentstepper_nb.protocol.runtime_store_messages import (
    CursorQuery,
    MessageQuery,
    ParticipantQuery,
)
from agentstepper_nb.protocol.runtime_wire import (
    AdvanceCursor,
    LeaveConversation,
    NewConversation,
    NewMessage,
    NewParticipant,
    SetConversation,
)
from tests.hub.runtime.desk import Desk, refused, run


async def close(desk: Desk) -> None:
    await desk.runtime.set_conversation(SetConversation(conversation_id="c", status="closed"))


# ---- conversations ---------------------------------------------------------------------------------


def test_a_conversation_is_begun_once() -> None:
    async def test(desk: Desk) -> None:
        ask = NewConversation(conversation_id="c", title="Tea", created_by="eve", tags=("a", "b"))
        first = await desk.runtime.create_conversation(ask)
        assert (first.title, first.created_by, first.tags) == ("Tea", "eve", ("a", "b"))
        again = await asyncio.gather(
            *(
                desk.runtime.create_conversation(NewConversation(conversation_id="c", title=title))
                for title in ("Coffee", "Milk")
            )
        )
        assert again == [first, first]
        unnamed = await desk.runtime.create_conversation(NewConversation())
        assert unnamed.conversation_id != "c"

    run(test)


def test_a_conversation_is_changed_by_what_is_given() -> None:
    async def test(desk: Desk) -> None:
        before = await desk.runtime.create_conversation(
            NewConversation(conversation_id="c", title="Tea", tags=("a",))
        )
        titled = await desk.runtime.set_conversation(
            SetConversation(conversation_id="c", title="Coffee")
        )
        assert (titled.title, titled.tags) == ("Coffee", ("a",))
        assert titled.created_at == before.created_at
        untagged = await desk.runtime.set_conversation(
            SetConversation(conversation_id="c", tags=())
        )
        assert (untagged.title, untagged.tags) == ("Coffee", ())
        assert await desk.said() == []
        with refused("unknown_conversation", "conversation_id"):
            await desk.runtime.set_conversation(SetConversation(conversation_id="gone"))

    run(test)


def test_closing_and_opening_again_are_said_once() -> None:
    async def test(desk: Desk) -> None:
        await desk.conversation()
        await close(desk)
        await close(desk)
        with refused("conversation_closed", "conversation_id"):
            await desk.say("too late")
        await desk.runtime.set_conversation(SetConversation(conversation_id="c", status="open"))
        await desk.say("in time")
        said = await desk.said()
        assert [each.event_type for each in said] == ["closed", "opened", "message"]
        assert said[0].sender_type is SenderType.SYSTEM

    run(test)


# ---- participants ----------------------------------------------------------------------------------


def test_joining_and_leaving_are_said_once() -> None:
    async def test(desk: Desk) -> None:
        await desk.conversation()
        await desk.create("s")
        seat = await desk.join("s", role=ParticipantRole.OBSERVER)
        assert (seat.agent_id, seat.session_id, seat.role) == ("ann", "s", "observer")
        assert await desk.join("s") == seat
        user = await desk.join_user("eve", role=ParticipantRole.OWNER)
        assert (user.user_id, user.agent_id, user.session_id) == ("eve", None, None)
        left = await desk.runtime.leave(
            LeaveConversation(conversation_id="c", participant_id=user.participant_id)
        )
        assert left.left_at is not None
        assert (
            await desk.runtime.leave(
                LeaveConversation(conversation_id="c", participant_id=user.participant_id)
            )
            == left
        )
        back = await desk.join_user("eve")
        assert back.participant_id != user.participant_id
        assert await desk.texts() == ["ann joined.", "eve joined.", "eve left.", "eve joined."]
        found = await desk.runtime.participants(ParticipantQuery(conversation_id="c", here=True))
        assert found.participants == (seat, back)

    run(test)


def test_an_agent_joins_by_its_latest_session() -> None:
    async def test(desk: Desk) -> None:
        await desk.conversation()
        await desk.create("s1")
        await desk.create("s2")
        ask = NewParticipant(conversation_id="c", kind=ParticipantKind.SESSION, agent_id="ann")
        assert (await desk.runtime.join(ask)).session_id == "s2"

    run(test)


def test_who_cant_join_or_leave() -> None:
    async def test(desk: Desk) -> None:
        await desk.conversation()
        await desk.conversation("other")
        await desk.create("s")
        with refused("unknown_conversation", "conversation_id"):
            await desk.join("s", "gone")
        with refused("unknown_session", "session_id"):
            await desk.join("gone")
        for kind, field in ((ParticipantKind.USER, "user_id"), ("session", "session_id")):
            with refused("invalid_message", field):
                await desk.runtime.join(
                    NewParticipant(conversation_id="c", kind=ParticipantKind(kind))
                )
        seat = await desk.join("s")
        with refused("unknown_participant", "participant_id"):
            await desk.runtime.leave(
                LeaveConversation(conversation_id="other", participant_id=seat.participant_id)
            )
        with refused("unknown_conversation"):
            await desk.runtime.leave(
                LeaveConversation(conversation_id="gone", participant_id=seat.participant_id)
            )
        await desk.begin("s", SessionStatus.DONE)
        with refused("session_over", "session_id"):
            await desk.join("s", "other")
        await close(desk)
        with refused("conversation_closed", "conversation_id"):
            await desk.join_user("eve")

    run(test)


# ---- what users say --------------------------------------------------------------------------------


def test_a_post_reaches_who_is_there_hears_by_push_and_hasnt_ended() -> None:
    async def test(desk: Desk) -> None:
        await desk.conversation()
        for session in ("over", "here", "watches", "pulls", "left", "elsewhere"):
            await desk.create(session)
        await desk.join("over")
        await desk.begin("over", SessionStatus.STOPPED)
        await desk.join("here")
        await desk.join("watches", role=ParticipantRole.OBSERVER)
        await desk.join("pulls", delivery=Delivery.PULL)
        gone = await desk.join("left")
        await desk.runtime.leave(
            LeaveConversation(conversation_id="c", participant_id=gone.participant_id)
        )
        message = await desk.say("more tea", user="eve", data={"cups": 2})
        assert (message.user_id, message.data, message.event_type) == (
            "eve",
            {"cups": 2},
            "message",
        )
        heard = [each for each in await desk.actions() if each.kind is ActionKind.INPUT]
        assert {each.session_id for each in heard} == {"here", "watches"}
        for action in heard:
            assert action.payload == {"text": "more tea", "message_id": message.message_id}
            assert action.metadata == {"conversation_id": "c", "user_id": "eve"}
        assert len({action.idem_key for action in heard}) == 2
        assert (await desk.said())[-1] == message

    run(test)


def test_data_alone_is_heard_as_json() -> None:
    async def test(desk: Desk) -> None:
        await desk.conversation()
        await desk.create("s")
        await desk.join("s")
        await desk.say("", data={"tasse": "grün"})
        assert (await desk.actions("s"))[-1].payload["text"] == '{"tasse": "grün"}'

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
    async def test(desk: Desk) -> None:
        await desk.conversation()
        await desk.join_user("eve", role=ParticipantRole.OBSERVER)
        await desk.create("s")
        await desk.join("s")
        with refused(code, field):
            await desk.runtime.say(message)
        assert len(await desk.said()) == 2  # that they joined
        assert len(await desk.actions()) == 1

    run(test)


def test_who_observed_may_post_as_a_member() -> None:
    async def test(desk: Desk) -> None:
        await desk.conversation()
        seat = await desk.join_user("eve", role=ParticipantRole.OBSERVER)
        await desk.runtime.leave(
            LeaveConversation(conversation_id="c", participant_id=seat.participant_id)
        )
        await desk.join_user("eve")
        assert (await desk.say("tea", user="eve")).text == "tea"

    run(test)


# ---- what sessions say -----------------------------------------------------------------------------


def test_what_a_step_says_is_posted_by_members_alone(caplog: pytest.LogCaptureFixture) -> None:
    async def test(desk: Desk) -> None:
        await desk.conversation()
        for session in ("member", "observer", "left", "never"):
            await desk.create(session)
            await desk.begin(session)
        await desk.join("member")
        await desk.join("observer", role=ParticipantRole.OBSERVER)
        seat = await desk.join("left")
        await desk.runtime.leave(
            LeaveConversation(conversation_id="c", participant_id=seat.participant_id)
        )
        for session in ("member", "observer", "left", "never"):
            written = await desk.step(session, messages=(desk.speech(session),))
            assert len(written.steps) == 1
            assert len(written.messages) == (1 if session == "member" else 0)
        await close(desk)
        written = await desk.step("member", messages=(desk.speech("member", "ho"),))
        assert written.messages == ()
        agents = [each for each in await desk.said() if each.sender_type is SenderType.AGENT]
        assert [each.session_id for each in agents] == ["member"]

    with caplog.at_level(logging.INFO):
        run(test)
    assert caplog.text.count("1 messages of session") == 4


# ---- reading on ------------------------------------------------------------------------------------


async def read(desk: Desk, limit: int = 100) -> list[str]:
    ask = AdvanceCursor(session_id="s", conversation_id="c", limit=limit)
    return [message.text for message in (await desk.runtime.read_on(ask)).messages]


def test_a_session_that_pulls_reads_on_where_it_was() -> None:
    async def test(desk: Desk) -> None:
        await desk.conversation()
        await desk.say("before it came")
        await desk.create("s")
        await desk.join("s", delivery=Delivery.PULL)
        await desk.begin("s")
        for text in ("one", "two", "three"):
            await desk.say(text)
        assert await read(desk, 2) == ["before it came"]  # its own "joined" isn't for it
        assert await read(desk, 2) == ["one", "two"]
        cursor = await desk.runtime.cursor(CursorQuery(session_id="s", conversation_id="c"))
        assert cursor.cursor is not None
        assert cursor.cursor.last_message_id == (await desk.said())[3].message_id
        for text in ("a", "b", "c", "d"):
            await desk.step("s", messages=(desk.speech("s", text),))
        await desk.say("four")
        assert await read(desk, 2) == ["three"]
        assert await read(desk, 2) == ["four"]  # beyond a page of its own
        assert await read(desk, 2) == []

    run(test)


def test_only_who_takes_part_reads_on() -> None:
    async def test(desk: Desk) -> None:
        await desk.conversation()
        await desk.create("s")
        seat = await desk.join("s")
        await desk.runtime.leave(
            LeaveConversation(conversation_id="c", participant_id=seat.participant_id)
        )
        with refused("unknown_participant", "session_id"):
            await read(desk)
        with refused("unknown_session", "session_id"):
            await desk.runtime.read_on(AdvanceCursor(session_id="gone", conversation_id="c"))
        with refused("unknown_conversation", "conversation_id"):
            await desk.runtime.read_on(AdvanceCursor(session_id="s", conversation_id="gone"))

    run(test)


def test_a_post_with_a_known_key_is_the_one_that_was() -> None:
    async def test(desk: Desk) -> None:
        await desk.conversation()
        await desk.conversation("d")
        await desk.create("s", conversation_id="c")
        first, second = await asyncio.gather(
            *(desk.say(text, idem_key="k") for text in ("Hello.", "Hello again."))
        )
        assert first == second
        await desk.runtime.set_conversation(SetConversation(conversation_id="c", status="closed"))
        assert await desk.say("Hello.", idem_key="k") == first
        assert [said for said in await desk.said() if said.event_type == "message"] == [first]
        inputs = [each for each in await desk.actions("s") if each.kind == "agent_input"]
        assert len(inputs) == 1
        elsewhere = await desk.runtime.say(
            NewMessage(conversation_id="d", text="Hello.", idem_key="k")
        )
        assert elsewhere.message_id != first.message_id

    run(test)


def test_one_message_by_its_id() -> None:
    async def test(desk: Desk) -> None:
        await desk.conversation()
        said = [await desk.say(text) for text in ("a", "b")]
        ask = MessageQuery(conversation_id="c", message_id=said[1].message_id)
        assert (await desk.runtime.messages(ask)).messages == (said[1],)
        with refused("unknown_message_id", "message_id"):
            await desk.runtime.messages(replace(ask, message_id="nobody's"))

    run(test)
