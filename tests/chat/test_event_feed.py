"""Who is told what happens: listeners at once, a slow reader by a feed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentstepper_nb.chat.backend import Backend, UserInput
from agentstepper_nb.chat.event_feed import EventFeed
from agentstepper_nb.errors import CommandError
from agentstepper_nb.protocol.chat import (
    ChatEvent,
    ChatMessageChanged,
    ChatMessageDelta,
    ChatSessionChanged,
    ChatSessionInfo,
    ChatSessionList,
    ChatSessionRemoved,
    ChatSessionSnapshot,
    Message,
    State,
    TurnEnding,
)
from tests.chat.harness import EventCollector, ScriptedAgent, message, unstored_harness


class EventSource:
    """Tells a feed what a test says."""

    def __init__(self) -> None:
        self.listeners: list[Any] = []
        self.begun = 0
        self.gone = False

    def attach(self, listener: Any) -> Any:
        if self.gone:
            raise CommandError("unknown_session", "It is gone.")
        self.begun += 1
        self.listeners.append(listener)
        listener(self.begin())
        return lambda: self.listeners.remove(listener)

    def begin(self) -> ChatSessionSnapshot:
        info = ChatSessionInfo(
            id="s", title=str(self.begun), state=State.STATE_INIT, created_at=0, updated_at=0
        )
        return ChatSessionSnapshot(session=info, messages=())

    def notify(self, *events: ChatEvent) -> None:
        for event in events:
            for listener in list(self.listeners):
                listener(event)


def delta(id: str, text: str) -> ChatMessageDelta:
    return ChatMessageDelta(session_id="s", message_id=id, text=text)


async def test_pieces_of_a_message_that_wait_are_one() -> None:
    source = EventSource()
    events = EventFeed("s", source.attach).read()
    await anext(events)
    source.notify(delta("a", "x"), delta("a", "y"), delta("b", "z"), delta("a", "!"))
    got = [await anext(events) for _ in range(3)]
    assert got == [delta("a", "xy"), delta("b", "z"), delta("a", "!")]
    await events.aclose()
    assert source.listeners == []


async def test_a_whole_message_stands_for_its_pieces_that_wait() -> None:
    source = EventSource()
    events = EventFeed("s", source.attach).read()
    begin = await anext(events)
    assert isinstance(begin, ChatSessionSnapshot)
    whole = ChatMessageChanged(message=message("xyz", id="a"))
    half = ChatMessageChanged(message=message("x", id="a", final=False))
    source.notify(delta("b", "1"), half, delta("a", "y"), whole)
    source.notify(*[ChatSessionChanged(session=begin.session)] * 3)
    assert [await anext(events) for _ in range(3)] == [
        delta("b", "1"),
        whole,
        ChatSessionChanged(session=begin.session),
    ]
    await events.aclose()


@pytest.mark.parametrize(
    "bounds", [{"max_events": 10}, {"max_waiting_chars": 2000}], ids=["events", "their weight"]
)
async def test_a_slow_reader_gets_a_new_begin_in_place_of_what_it_missed(
    bounds: dict[str, int],
) -> None:
    source = EventSource()
    events = EventFeed("s", source.attach, **bounds).read()
    await anext(events)
    for number in range(1000):
        source.notify(delta(str(number), "some text"))
    assert source.listeners == []  # nothing is held for it any more
    again = await anext(events)
    assert isinstance(again, ChatSessionSnapshot) and again.session.title == "2"
    source.notify(delta("last", "!"))
    assert await anext(events) == delta("last", "!")
    await events.aclose()


async def test_one_event_may_be_of_any_size() -> None:
    source = EventSource()
    events = EventFeed("s", source.attach, max_waiting_chars=100).read()
    await anext(events)
    waiting = asyncio.ensure_future(anext(events))
    await asyncio.sleep(0)
    large = ChatMessageChanged(message=message("x" * 10_000, id="a"))
    source.notify(large)
    assert await waiting == large
    assert source.begun == 1
    await events.aclose()


async def test_a_session_that_was_removed_ends_the_stream_also_for_who_missed_that() -> None:
    source = EventSource()
    fast, slow = (
        EventFeed("s", source.attach).read(),
        EventFeed("s", source.attach, max_events=3).read(),
    )
    await anext(fast)
    await anext(slow)
    source.notify(*(delta(str(number), "x") for number in range(5)))
    source.gone = True
    source.notify(ChatSessionRemoved(session_id="s"))
    assert [event async for event in fast][-1] == ChatSessionRemoved(session_id="s")
    assert [event async for event in slow] == [ChatSessionRemoved(session_id="s")]


async def test_a_listener_that_fails_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    def fails(event: ChatEvent) -> None:
        raise ValueError("broken")

    async with unstored_harness() as home:
        home.interpreter.attach(home.session, fails)
        await home.send_and_read()
        assert home.info.ending is TurnEnding.DONE
        assert len([record for record in caplog.records if "listener" in record.message]) == 1


async def test_a_listener_may_answer_what_it_hears() -> None:
    async with unstored_harness() as home:

        def again(event: ChatEvent) -> None:
            done = isinstance(event, ChatSessionChanged) and event.session.ending is TurnEnding.DONE
            if done and len(home.messages) < 6:
                home.send("Again.")

        home.interpreter.attach(home.session, again)
        late = EventCollector()
        home.interpreter.attach(home.session, late)
        home.send("Hello.")
        await home.wait_until(
            lambda info: info.messages_in_memory == 6 and info.state is State.STATE_STOP
        )
        assert late.states == [
            State.STATE_INIT,
            *[State.STATE_RUNNING, State.STATE_STOP] * 3,
        ]
        assert (late.info, late.messages) == (home.info, home.messages)


async def test_who_comes_while_something_is_told_hears_it_once() -> None:
    async with unstored_harness(ScriptedAgent(["One. ", "Two. ", "Three."])) as home:
        folds: list[EventCollector] = []

        def bring(event: ChatEvent) -> None:
            if len(folds) < 20 and not isinstance(event, ChatSessionSnapshot):
                folds.append(EventCollector())
                home.interpreter.attach(home.session, folds[-1])

        home.interpreter.attach(home.session, bring)
        await home.send_and_read()
        assert len(folds) > 5
        for fold in folds:
            assert (fold.info, fold.messages) == (home.info, home.messages)


async def test_who_has_gone_hears_nothing() -> None:
    async with unstored_harness() as home:
        fold = EventCollector()
        detach = home.interpreter.attach(home.session, fold)
        detach()
        detach()
        await home.send_and_read()
        assert len(fold.events) == 1


class RecordingBackend(Backend[str]):
    """A backend that writes down what it is told."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.over = False

    def receive(self, event: ChatEvent) -> None:
        if isinstance(event, ChatMessageChanged) and event.message.final:
            self.render(event.message)

    def render(self, message: Message) -> None:
        self.lines.append(self.convert_out(message))

    def convert_in(self, given: str) -> UserInput:
        return UserInput(content=given)

    def convert_out(self, message: Message) -> str:
        return f"{message.role}: {message.content}"

    def on_closed(self) -> None:
        self.over = True


async def test_a_backend_is_told_and_closed() -> None:
    page = RecordingBackend()
    async with unstored_harness() as home:
        home.interpreter.attach(home.session, page)
        home.interpreter.process_message(home.session, page.convert_in("Hello."))
        await home.wait_for_user_turn(TurnEnding.DONE)
        assert page.lines == ["user: Hello.", "assistant: Yes."]
        assert not page.over
    assert page.over


async def test_the_list_of_sessions_is_told() -> None:
    async with unstored_harness() as home:
        lists: list[ChatSessionList] = []
        changed = asyncio.Event()

        def told(sessions: ChatSessionList) -> None:
            lists.append(sessions)
            changed.set()

        detach = home.interpreter.attach_sessions(told)
        assert [each.id for each in lists[-1].sessions] == [home.session]
        home.interpreter.create_session("Another")
        changed.clear()
        await changed.wait()
        assert lists[-1].sessions[0].title == "Another"
        await home.send_and_read("First!")
        await asyncio.sleep(0)
        assert lists[-1].sessions[0].title == "First!"
        await home.interpreter.remove(home.session)
        await asyncio.sleep(0)
        assert [each.title for each in lists[-1].sessions] == ["Another"]
        detach()
        told_so_far = len(lists)
        home.interpreter.create_session()
        await asyncio.sleep(0)
        assert len(lists) == told_so_far
