"""Who listens to a session: listeners, backends and lists of sessions."""

from __future__ import annotations

import asyncio

import pytest

from agentstepper_nb.chat.backend import Backend, UserInput
from agentstepper_nb.protocol.chat import (
    Begin,
    ChatEvent,
    Ending,
    Message,
    Said,
    SessionChanged,
    SessionList,
    State,
)
from tests.chat.house import Actor, Fold, kept_nowhere
from tests.helpers.loops import on_loop


@on_loop
async def test_a_listener_that_fails_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    def fails(event: ChatEvent) -> None:
        raise ValueError("broken")

    async with kept_nowhere() as home:
        home.interpreter.attach(home.session, fails)
        await home.ask()
        assert home.info.ending is Ending.DONE
        assert len([record for record in caplog.records if "listener" in record.message]) == 1


@on_loop
async def test_a_listener_may_answer_what_it_hears() -> None:
    async with kept_nowhere() as home:

        def again(event: ChatEvent) -> None:
            done = isinstance(event, SessionChanged) and event.session.ending is Ending.DONE
            if done and len(home.messages) < 6:
                home.send("Again.")

        home.interpreter.attach(home.session, again)
        late = Fold()
        home.interpreter.attach(home.session, late)
        home.send("Hello.")
        await home.until(lambda info: info.kept == 6 and info.state is State.STATE_STOP)
        assert late.states == [
            State.STATE_INIT,
            *[State.STATE_RUNNING, State.STATE_STOP] * 3,
        ]
        assert (late.info, late.messages) == (home.info, home.messages)


@on_loop
async def test_who_comes_while_something_is_told_hears_it_once() -> None:
    async with kept_nowhere(Actor(["One. ", "Two. ", "Three."])) as home:
        folds: list[Fold] = []

        def bring(event: ChatEvent) -> None:
            if len(folds) < 20 and not isinstance(event, Begin):
                folds.append(Fold())
                home.interpreter.attach(home.session, folds[-1])

        home.interpreter.attach(home.session, bring)
        await home.ask()
        assert len(folds) > 5
        for fold in folds:
            assert (fold.info, fold.messages) == (home.info, home.messages)


@on_loop
async def test_who_has_gone_hears_nothing() -> None:
    async with kept_nowhere() as home:
        fold = Fold()
        detach = home.interpreter.attach(home.session, fold)
        detach()
        detach()
        await home.ask()
        assert len(fold.events) == 1


class Page(Backend[str]):
    """A backend that writes down what it is told."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.over = False

    def receive(self, event: ChatEvent) -> None:
        if isinstance(event, Said) and event.message.final:
            self.render(event.message)

    def render(self, message: Message) -> None:
        self.lines.append(self.convert_out(message))

    def convert_in(self, given: str) -> UserInput:
        return UserInput(content=given)

    def convert_out(self, message: Message) -> str:
        return f"{message.role}: {message.content}"

    def closed(self) -> None:
        self.over = True


@on_loop
async def test_a_backend_is_told_and_closed() -> None:
    page = Page()
    async with kept_nowhere() as home:
        home.interpreter.attach(home.session, page)
        home.interpreter.process_message(home.session, page.convert_in("Hello."))
        await home.rests(Ending.DONE)
        assert page.lines == ["user: Hello.", "assistant: Yes."]
        assert not page.over
    assert page.over


@on_loop
async def test_the_list_of_sessions_is_told() -> None:
    async with kept_nowhere() as home:
        lists: list[SessionList] = []
        changed = asyncio.Event()

        def told(sessions: SessionList) -> None:
            lists.append(sessions)
            changed.set()

        detach = home.interpreter.attach_sessions(told)
        assert [each.id for each in lists[-1].sessions] == [home.session]
        home.interpreter.create_session("Another")
        changed.clear()
        await changed.wait()
        assert lists[-1].sessions[0].title == "Another"
        await home.ask("First!")
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
