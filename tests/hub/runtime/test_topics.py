"""Topics: what they begin with, what they tell, and readers that fall behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import msgspec
import pytest

from agentstepper_nb.hub.runtime.context import RowUpdates
from agentstepper_nb.hub.runtime.topics import TopicLimits, Topics
from agentstepper_nb.protocol.runtime import ConversationMessage, SenderType, SessionStatus
from agentstepper_nb.protocol.runtime_requests import LeaveConversation, SetConversation, TopicEvent
from agentstepper_nb.protocol.runtime_store_messages import SessionWrite, SessionWriteResult
from agentstepper_nb.store.runtime.sqlite import SqliteRuntimeStore
from tests.hub.runtime.harness import RuntimeHarness, expect_refusal, run


async def take_events(notices: AsyncGenerator[TopicEvent, None], most: int) -> list[TopicEvent]:
    return [await anext(notices) for _ in range(most)]


def events(notices: list[TopicEvent]) -> list[str]:
    return [notice.event for notice in notices]


def numbers(notices: list[TopicEvent]) -> list[int]:
    return [notice.n for notice in notices]


# ---- what they begin with --------------------------------------------------------------------------


def test_a_session_begins_with_how_it_stands() -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.create("s")
        await harness.begin("s")
        await harness.step("s", "one")
        await harness.step("s", "two")
        await harness.enqueue("agent_pause", "s")
        claimed = await harness.claim()
        queued = (await harness.enqueue("agent_resume", "s")).action
        async with aclosing(harness.watch("session:s")) as notices:
            begin = await anext(notices)
        assert (begin.event, begin.topic) == ("begin", "session:s")
        assert begin.states == (await harness.state("s"),)
        assert [step.text for step in begin.steps] == ["two"]
        assert begin.actions == (claimed, queued)

    run(test)


def test_a_conversation_begins_with_who_is_there_and_what_was_said_last() -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.conversation()
        await harness.create("s")
        seat = await harness.join_session("s")
        last = await harness.post_message("tea")
        async with aclosing(harness.watch("conversation:c")) as notices:
            begin = await anext(notices)
        assert [each.title for each in begin.conversations] == ["Tea"]
        assert begin.participants == (seat,)
        assert begin.messages == (last,)

    run(test)


def test_lists_begin_with_the_newest() -> None:
    async def test(harness: RuntimeHarness) -> None:
        for name in ("a", "b"):
            await harness.create(name)
            await harness.conversation(name)
        async with aclosing(harness.watch("sessions")) as notices:
            begin = await anext(notices)
            assert [state.session_id for state in begin.states] == ["b", "a"]
        async with aclosing(harness.watch("conversations")) as notices:
            begin = await anext(notices)
            assert [each.conversation_id for each in begin.conversations] == ["b", "a"]

    run(test)


def test_sessions_are_told_without_what_only_their_runners_understand() -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.create("s", config={"subject": "tea"})
        await harness.begin("s")
        before = await harness.state("s")
        async with aclosing(harness.watch("sessions")) as notices:
            await anext(notices)
            after = msgspec.structs.replace(
                before, state={"x": 1}, context=[2], result={"text": ""}
            )
            await harness.write(before, after)
            (told,) = (await anext(notices)).states
            assert (told.state, told.context) == (None, None)
            assert (told.config, told.result) == ({"subject": "tea"}, {"text": ""})
        async with aclosing(harness.watch("sessions")) as notices:
            assert (await anext(notices)).states == (told,)

    run(test)


def test_a_list_has_as_much_as_fits() -> None:
    async def test(harness: RuntimeHarness) -> None:
        for name in ("a", "b", "c"):
            await harness.create(name, config="x" * 1000)
        async with aclosing(harness.watch("sessions")) as notices:
            begin = await anext(notices)
        assert [state.session_id for state in begin.states] == ["c", "b"]

    run(test, TopicLimits(max_begin_bytes=4000))


@pytest.mark.parametrize(
    ("topic", "code"),
    [
        ("session:gone", "unknown_session"),
        ("conversation:gone", "unknown_conversation"),
        ("session:", "unknown_topic"),
        ("session", "unknown_topic"),
        ("agents", "unknown_topic"),
        ("sessions:s", "unknown_topic"),
    ],
)
def test_what_cant_be_watched(topic: str, code: str) -> None:
    async def test(harness: RuntimeHarness) -> None:
        with expect_refusal(code):
            await anext(harness.watch(topic))

    run(test)


# ---- what they tell --------------------------------------------------------------------------------


def test_a_session_tells_what_happens_to_it() -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.create("s")
        await harness.create("other")
        async with aclosing(harness.watch("session:s")) as notices:
            first = await anext(notices)
            await harness.begin("s")  # claimed, with the session; done, with its snapshot
            await harness.step("s", "ha")
            await harness.enqueue("agent_pause", "s")
            await harness.enqueue("agent_pause", "other")
            await harness.enqueue("agent_resume", "s")
            told = await take_events(notices, 8)
        assert events(told) == [
            *("state", "action", "state", "action"),
            *("step", "state"),
            *("action", "action"),
        ]
        assert numbers(told) == list(range(first.n + 1, first.n + 9))
        assert [each.actions[0].status for each in told if each.actions] == [
            *("claimed", "done", "queued", "queued")
        ]
        assert told[0].states[0].owner == "w"
        assert told[2].states[0].status is SessionStatus.RUNNING
        assert told[4].steps[0].text == "ha"
        assert told[5].states[0].iteration == 1

    run(test)


def test_a_conversation_tells_what_happens_in_it() -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.conversation()
        await harness.create("s")
        await harness.begin("s")
        async with aclosing(harness.watch("conversation:c")) as notices:
            await anext(notices)
            seat = await harness.join_session("s")
            await harness.post_message("tea")
            await harness.step("s", messages=(harness.make_message("s"),))
            await harness.runtime.leave(
                LeaveConversation(conversation_id="c", participant_id=seat.participant_id)
            )
            await harness.runtime.set_conversation(
                SetConversation(conversation_id="c", status="closed")
            )
            told = await take_events(notices, 8)
        assert events(told) == [
            *("participant", "message"),
            *("message", "message"),
            *("participant", "message"),
            *("conversation", "message"),
        ]
        assert [each.messages[0].event_type for each in told if each.messages] == [
            *("joined", "message", "step", "left", "closed")
        ]

    run(test)


def test_new_sessions_and_conversations_are_told_to_who_watches_all() -> None:
    async def test(harness: RuntimeHarness) -> None:
        async with aclosing(harness.watch("sessions")) as sessions:
            async with aclosing(harness.watch("conversations")) as conversations:
                assert (await anext(sessions)).states == ()
                assert (await anext(conversations)).conversations == ()
                await harness.conversation()
                await harness.create("s", conversation_id="c")
                await harness.create("s", conversation_id="c")  # nothing new
                await harness.begin("s")
                states = await take_events(sessions, 3)
                (conversation,) = (await anext(conversations)).conversations
        assert [each.states[0].status for each in states] == ["created", "created", "running"]
        assert conversation.conversation_id == "c"

    run(test)


def test_what_is_written_again_is_told_once() -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.create("s")
        await harness.begin("s")
        before = await harness.state("s")
        async with aclosing(harness.watch("session:s")) as notices:
            begin = await anext(notices)
            paused = msgspec.structs.replace(before, status=SessionStatus.PAUSED)
            for _ in range(3):
                await harness.write(before, paused)
            await harness.enqueue("agent_resume", "s", idem_key="k")
            await harness.enqueue("agent_resume", "s", idem_key="k")
            await harness.enqueue("agent_destroy", "s")
            told = await take_events(notices, 3)
        assert events(told) == ["state", "action", "action"]
        assert told[-1].n == begin.n + 3

    run(test)


class SlowStore(SqliteRuntimeStore):
    """A store whose answers to writes come when they are let."""

    def __init__(self) -> None:
        super().__init__(None)
        self.kept = asyncio.Event()
        self.let = asyncio.Event()

    async def write(self, ask: SessionWrite) -> SessionWriteResult:
        written = await super().write(ask)
        self.kept.set()
        await self.let.wait()
        return written


async def test_what_was_kept_is_told_even_where_who_asked_is_gone() -> None:
    store = SlowStore()
    harness = RuntimeHarness(store)
    await harness.create("s")
    await harness.claim()
    async with aclosing(harness.watch("session:s")) as notices:
        await anext(notices)
        step = asyncio.create_task(harness.step("s"))
        await store.kept.wait()
        step.cancel()
        with pytest.raises(asyncio.CancelledError):
            await step
        store.let.set()
        assert events(await take_events(notices, 2)) == ["step", "state"]
    await harness.runtime.close()


async def test_closing_lets_what_was_begun_end() -> None:
    store = SlowStore()
    harness = RuntimeHarness(store)
    await harness.create("s")
    await harness.claim()
    step = asyncio.create_task(harness.step("s"))
    await store.kept.wait()
    closing = asyncio.create_task(harness.runtime.close())
    store.let.set()
    await closing
    assert (await step).steps


# ---- readers ---------------------------------------------------------------------------------------


def receive_event(text: str) -> RowUpdates:
    message = ConversationMessage(
        message_id=text,
        conversation_id="c",
        created_at=0,
        sender_type=SenderType.SYSTEM,
        text=text,
    )
    return RowUpdates(messages=(message,))


async def test_numbers_of_a_topic_never_go_back() -> None:
    board = Topics()
    last = -1
    for _ in range(3):
        with board.reader("conversation:c") as reader:
            assert reader.restart() >= last
            for text in "ab":
                board.publish(receive_event(text))
            told = [await reader.next(), await reader.next()]
            found = [each.n for each in told if each is not None]
            assert found[0] == reader.restart() - 1
            assert found[1] == found[0] + 1
            last = found[1]
        board.publish(receive_event("nobody hears"))


def test_a_reader_that_falls_behind_begins_again() -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.conversation()
        async with aclosing(harness.watch("conversation:c")) as notices:
            first = await anext(notices)
            for text in "abc":
                await harness.post_message(text)
            assert events(await take_events(notices, 3)) == ["message"] * 3
            for text in "defg":
                await harness.post_message(text)
            again = await anext(notices)
            await harness.post_message("h")
            last = await anext(notices)
        assert (again.event, again.n) == ("begin", first.n + 7)
        assert again.messages[0].text == "g"
        assert (last.messages[0].text, last.n) == ("h", again.n + 1)

    run(test, TopicLimits(max_waiting=3))


def test_one_that_is_behind_doesnt_hold_up_another() -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.conversation()
        async with (
            aclosing(harness.watch("conversation:c")) as slow,
            aclosing(harness.watch("conversation:c")) as quick,
        ):
            await anext(slow)
            await anext(quick)
            for text in "abcdef":
                await harness.post_message(text)
                assert (await anext(quick)).messages[0].text == text
            assert (await anext(slow)).event == "begin"

    run(test, TopicLimits(max_waiting=3))


def test_streams_end_with_the_runtime() -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.conversation()
        heard: list[str] = []

        async def listen() -> None:
            async for notice in harness.watch("conversation:c"):
                heard.append(notice.event)

        listening = asyncio.create_task(listen())
        while not heard:
            await asyncio.sleep(0)
        await harness.post_message("tea")
        await harness.runtime.close()
        await listening
        assert heard == ["begin", "message"]
        assert [notice async for notice in harness.watch("conversation:c")] == []

    run(test)
