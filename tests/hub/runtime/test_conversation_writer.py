"""Where what a session says is posted, and which other sessions hear it."""

from __future__ import annotations

import asyncio

import pytest

from agentstepper_nb.hub.runtime import Runtime
from agentstepper_nb.protocol.runtime import ActionKind, Delivery, Hearing, ParticipantRole
from agentstepper_nb.protocol.runtime_requests import LeaveConversation
from agentstepper_nb.protocol.runtime_store_messages import ParticipantList, ParticipantQuery
from agentstepper_nb.store.runtime.sqlite import SqliteRuntimeStore
from tests.hub.runtime.harness import LOG, RuntimeHarness, run


async def begin_sessions(harness: RuntimeHarness, *sessions: str) -> None:
    for session in sessions:
        await harness.create(session, agent=session)
        await harness.begin(session)


async def list_heard(harness: RuntimeHarness, session: str) -> list[str]:
    """What a session is to be told."""
    actions = await harness.actions(session)
    return [each.payload["text"] for each in actions if each.kind is ActionKind.INPUT]


def test_session_that_joined_later_says_its_steps_there() -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.conversation()
        await begin_sessions(harness, "s")
        await harness.step("s", "before")
        seat = await harness.join_session("s")
        written = await harness.step("s", "there")
        again = await harness.runtime.write(harness.last_write)
        assert [each.text for each in written.messages] == ["there"]
        assert again.messages == ()
        await harness.runtime.leave(
            LeaveConversation(conversation_id="c", participant_id=seat.participant_id)
        )
        await harness.step("s", "after")
        assert await harness.list_texts() == ["s joined.", "there", "s left."]

    run(test)


def test_session_that_joined_is_known_to_the_next_core() -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.conversation()
        await begin_sessions(harness, "s")
        await harness.join_session("s")
        assert isinstance(harness.store, SqliteRuntimeStore)
        harness.runtime = Runtime(harness.store, LOG, clock=harness.clock)
        await harness.step("s", "there")
        assert "there" in await harness.list_texts()

    run(test)


def test_participants_are_read_again_where_changes_elsewhere_were_missed() -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.conversation()
        await begin_sessions(harness, "s")
        await harness.step("s", "before")
        other = RuntimeHarness(harness.store, "other")  # a Core on the same store
        await other.join_session("s")
        harness.runtime.publish_changes_elsewhere(None)
        await harness.step("s", "there")
        assert await harness.list_texts() == ["s joined.", "there"]

    run(test)


def test_participants_that_changed_while_they_were_read_are_read_again() -> None:
    class BusyStore(SqliteRuntimeStore):
        """Another Core changes it, unheard, during the first read of all participants."""

        is_busy = True

        async def participants(self, request: ParticipantQuery) -> ParticipantList:
            found = await super().participants(request)
            if request.conversation_id is None and self.is_busy:
                self.is_busy = False
                await RuntimeHarness(self, "other").join_session("s")
                harness.runtime.publish_changes_elsewhere(None)
            return found

    harness = RuntimeHarness(BusyStore(None))

    async def test() -> None:
        await harness.conversation()
        await begin_sessions(harness, "s")
        await harness.step("s", "there")
        assert await harness.list_texts() == ["s joined.", "there"]
        await harness.runtime.close()

    asyncio.run(test())


def test_session_says_a_step_once_where_its_worker_posts_it_too() -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.conversation()
        await harness.conversation("other")
        await begin_sessions(harness, "s")
        await harness.join_session("s")
        await harness.join_session("s", "other")
        await harness.step("s", "ha", messages=(harness.make_message("s"),))
        assert (await harness.list_texts()).count("ha") == 1
        other = [message.text for message in await harness.list_messages("other")]
        assert other.count("ha") == 1

    run(test)


def test_sessions_hear_each_other_where_they_asked_for_it() -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.conversation()
        sessions = ("speaker", "listener", "deaf", "puller")
        await begin_sessions(harness, *sessions)
        await harness.join_session("speaker", hears=Hearing.ALL)
        await harness.join_session("listener", hears=Hearing.ALL, role=ParticipantRole.OBSERVER)
        await harness.join_session("deaf")
        await harness.join_session("puller", hears=Hearing.ALL, delivery=Delivery.PULL)
        written = await harness.step("speaker", "hello")
        assert [each.session_id for each in written.actions] == ["listener"]
        repeated = await harness.runtime.write(harness.last_write)
        assert repeated.actions == ()
        heard = {each: await list_heard(harness, each) for each in sessions}
        assert heard == {"speaker": [], "listener": ["hello"], "deaf": [], "puller": []}
        (told,) = [each for each in await harness.actions("listener") if each.kind == "agent_input"]
        assert told.metadata == {"conversation_id": "c", "agent_id": "speaker"}

    run(test)


def test_data_of_a_step_is_heard_as_json_and_silence_is_not() -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.conversation()
        await begin_sessions(harness, "speaker", "listener")
        await harness.join_session("speaker")
        await harness.join_session("listener", hears=Hearing.ALL)
        await harness.step("speaker", "")
        assert await list_heard(harness, "listener") == []
        await harness.step("speaker", "", data={"tea": "grün"})
        assert await list_heard(harness, "listener") == ['{"tea": "grün"}']

    run(test)


def test_a_message_above_the_limit_of_inputs_is_posted_and_not_heard(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.conversation()
        await begin_sessions(harness, "speaker", "listener")
        await harness.join_session("speaker")
        await harness.join_session("listener", hears=Hearing.ALL)
        for size in (1_000_000, 999_998):  # and two quotes
            await harness.step("speaker", "", data="x" * size)
        assert [len(text) for text in await list_heard(harness, "listener")] == [1_000_000]
        said = [message.data for message in await harness.list_messages()]
        assert [len(data) for data in said if isinstance(data, str)] == [1_000_000, 999_998]

    run(test)
    assert "a message of session 'speaker' was not sent to other sessions" in caplog.text
