"""What holds of every session: its name, its states, and what is told of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import nullcontext
from typing import Any
from uuid import UUID

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentstepper_nb.chat import outputs
from agentstepper_nb.chat.connector import Turn
from agentstepper_nb.protocol.chat import (
    ChatEvent,
    ChatSessionChanged,
    ChatSessionSnapshot,
    Message,
    State,
    TurnEnding,
)
from tests.chat.harness import (
    ChatHarness,
    EventCollector,
    GatedAnswer,
    ScriptedAgent,
    expect_refusal,
    unstored_harness,
)


async def test_inv_session_001_sessions_have_unique_uuids() -> None:
    """Each session is named by a random UUID, which no other has and nobody guesses."""
    async with unstored_harness() as home:
        made = [home.interpreter.create_session() for _ in range(100)]
        assert len({*made, UUID(home.session)}) == 101
        assert {each.version for each in made} == {4}


async def test_inv_state_001_a_turn_goes_from_running_to_stop_and_never_back() -> None:
    """INIT, then RUNNING and STOP in turn, whatever becomes of turns; nothing goes back within one."""

    async def fails(message: Message, turn: Turn) -> AsyncIterator[str]:
        yield "Half"
        raise ValueError("no more")

    gate = GatedAnswer()
    async with unstored_harness(
        ScriptedAgent(), ScriptedAgent(fails, "fails"), ScriptedAgent(gate, "waits", go_on=None)
    ) as home:
        await home.send_and_read()
        await home.send_and_read(to="fails")
        home.send("Wait.", "waits")
        await gate.reached.wait()
        await home.stop()
        first, *rest = home.fold.states
        assert first is State.STATE_INIT
        assert rest == [State.STATE_RUNNING, State.STATE_STOP] * 3
        endings = [
            event.session.ending
            for event in home.fold.events
            if isinstance(event, ChatSessionChanged) and event.session.state is State.STATE_STOP
        ]
        assert endings == [TurnEnding.DONE, TurnEnding.ERROR, TurnEnding.STOPPED]


async def test_inv_state_002_what_is_told_is_the_state_at_each_step() -> None:
    """Whoever is told something finds the interpreter as it was told, or further: never behind."""
    async with unstored_harness() as home:
        seen: list[tuple[State, State]] = []

        def look(event: ChatEvent) -> None:
            if isinstance(event, ChatSessionSnapshot | ChatSessionChanged):
                seen.append((event.session.state, home.info.state))

        home.interpreter.attach(home.session, look)
        await home.send_and_read()
        assert all(told is there for told, there in seen)
        assert {told for told, _ in seen} == set(State)


async def test_inv_backend_002_states_are_pushed_to_every_backend() -> None:
    """A backend hears of each change as it happens, in one order, and never asks."""
    async with unstored_harness(ScriptedAgent(["One. ", "Two."])) as home:
        folds = [EventCollector() for _ in range(3)]
        for fold in folds:
            home.interpreter.attach(home.session, fold)
        await home.send_and_read()
        told = [event for event in home.fold.events if not isinstance(event, ChatSessionSnapshot)]
        for fold in folds:
            assert isinstance(fold.events[0], ChatSessionSnapshot)
            assert fold.events[1:] == told
            assert (fold.info, fold.messages) == (home.info, home.messages)


class ReleasedChunks:
    """An agent that says as much as it is let."""

    def __init__(self) -> None:
        self.let = asyncio.Semaphore(0)

    async def __call__(self, message: Message, turn: Turn) -> AsyncIterator[Any]:
        for number in range(6):
            await self.let.acquire()
            if number == 2:
                yield outputs.call("look", {"at": number}, call_id="c")
            elif number == 4:
                await turn.confirm("Go on?")
                yield outputs.result("c", [1])
            else:
                yield f"{number} "


DEEDS = st.sampled_from(["say", "let", "let", "let", "choose", "stop", "title", "auto", "watch"])


@given(st.lists(DEEDS, min_size=5, max_size=40))
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
async def test_what_is_told_adds_up_to_what_is_there(deeds: list[str]) -> None:
    """A listener that folds events has the same session as the interpreter, whatever happens."""

    chunks = ReleasedChunks()
    async with unstored_harness(ScriptedAgent(chunks), auto_chat_max=2) as home:
        folds = [home.fold]
        for deed in deeds:
            await _do(deed, home, chunks, folds)
            for _ in range(3):
                await asyncio.sleep(0)
            for fold in folds:
                assert fold.info == home.info
                assert fold.messages == home.messages


async def _do(
    deed: str, home: ChatHarness, chunks: ReleasedChunks, folds: list[EventCollector]
) -> None:
    here, running = home.interpreter, home.info.state is State.STATE_RUNNING
    match deed:
        case "say":
            with expect_refusal("session_busy") if running else nullcontext():
                home.send("Hello.")
        case "let":
            chunks.let.release()
        case "choose" if home.info.waiting:
            here.choose(home.session, home.info.waiting, "Yes")
        case "stop":
            await home.stop()
        case "title":
            here.update_session(home.session, title=f"Title {len(folds)}")
        case "auto":
            here.update_session(home.session, auto_chat=not home.info.auto_chat)
        case "watch":
            folds.append(EventCollector())
            here.attach(home.session, folds[-1])
