"""Stop, and questions to the person: how a turn ends, and what waits within it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import Any

import pytest

from agentstepper_nb.chat import outputs
from agentstepper_nb.chat.backend import UserInput
from agentstepper_nb.chat.connector import Turn
from agentstepper_nb.chat.limits import ChatLimits
from agentstepper_nb.protocol.chat import Message, State, TurnEnding
from tests.chat.harness import (
    TIMEOUT_S,
    GatedAnswer,
    ScriptedAgent,
    expect_refusal,
    unstored_harness,
)


async def test_who_closes_the_stream_ends_the_turn() -> None:
    gate = GatedAnswer(["One"])
    async with unstored_harness(ScriptedAgent(gate)) as home:
        async with home.send("Count.") as stream:
            async for _ in stream:
                break
        await home.wait_for_user_turn(TurnEnding.STOPPED)
        assert gate.closed
        assert home.transcript == [("user", "Count."), ("assistant", "One")]


async def test_stop_keeps_what_was_said_and_closes_the_answer() -> None:
    gate = GatedAnswer(["Half an "])
    async with unstored_harness(ScriptedAgent(gate)) as home:
        home.send("Go.")
        await gate.reached.wait()
        await home.stop()
        assert gate.closed
        assert (home.info.state, home.info.ending) == (State.STATE_STOP, TurnEnding.STOPPED)
        assert [(each.content, each.final) for each in home.messages][1:] == [("Half an ", True)]
        await home.stop()  # there is none any more


async def test_what_an_agent_does_at_its_end_is_not_disturbed() -> None:
    tidying, tidied = asyncio.Event(), asyncio.Event()

    async def tidies(message: Message, turn: Turn) -> AsyncIterator[str]:
        try:
            yield "One"
            await asyncio.Event().wait()
        finally:
            tidying.set()
            for _ in range(10):
                await asyncio.sleep(0)
            tidied.set()

    async with unstored_harness(ScriptedAgent(tidies)) as home:
        stream = home.send("Go.")
        await home.wait_until(lambda info: info.messages_in_memory == 2)
        stops = [asyncio.ensure_future(home.stop()) for _ in range(3)]
        await tidying.wait()
        await stream.aclose()
        await asyncio.gather(*stops)
        assert tidied.is_set()
        assert home.info.ending is TurnEnding.STOPPED


@pytest.mark.parametrize("error", [None, ValueError("in the end")])
async def test_an_answer_that_was_stopped_is_stopped_however_it_ends(
    error: Exception | None,
) -> None:
    async def ends(message: Message, turn: Turn) -> AsyncIterator[str]:
        yield "One"
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if error is not None:
                raise error from None
        yield " and all."

    async with unstored_harness(ScriptedAgent(ends), auto_chat=True) as home:
        home.send("Go.")
        await home.wait_until(lambda info: info.messages_in_memory == 2)
        await home.stop()
        assert (home.info.state, home.info.ending) == (State.STATE_STOP, TurnEnding.STOPPED)
        assert [role for role, _ in home.transcript] == ["user", "assistant"]


async def test_stop_before_the_turn_has_begun() -> None:
    async with unstored_harness() as home:
        home.send("Go.")
        await home.stop()
        assert (home.info.ending, home.transcript) == (TurnEnding.STOPPED, [("user", "Go.")])
        assert [each.content for each in await home.send_and_read("Again.")] == ["Yes."]


async def test_a_function_that_blocks_does_not_hold_up_stop() -> None:
    entered, leave = threading.Event(), threading.Event()

    def blocks(message: Message, turn: Turn) -> Iterator[str]:
        yield "One"
        entered.set()
        leave.wait(TIMEOUT_S)
        yield "Two"

    async with unstored_harness(ScriptedAgent(blocks)) as home:
        home.send("Go.")
        await asyncio.to_thread(entered.wait, TIMEOUT_S)
        await home.stop()
        assert home.info.ending is TurnEnding.STOPPED
        leave.set()
        assert home.transcript == [("user", "Go."), ("assistant", "One")]


async def test_an_agent_that_does_not_let_itself_be_cancelled_is_left_alone() -> None:
    leave, left = asyncio.Event(), asyncio.Event()

    async def stubborn(message: Message, turn: Turn) -> AsyncIterator[str]:
        while not leave.is_set():
            try:
                await leave.wait()
            except asyncio.CancelledError:
                continue
        left.set()
        yield "I am still here."

    agents = (ScriptedAgent(stubborn), ScriptedAgent(name="other"))
    async with unstored_harness(*agents, limits=ChatLimits(turn_grace_s=0.01)) as home:
        home.send("Go.")
        await home.wait_until(lambda info: info.speaking)
        await home.stop()
        assert (home.info.ending, home.info.speaking) == (TurnEnding.STOPPED, None)
        assert [each.content for each in await home.send_and_read("And you?", "other")] == ["Yes."]
        leave.set()
        await left.wait()
        await asyncio.sleep(0)
        assert home.transcript == [("user", "Go."), ("user", "And you?"), ("assistant", "Yes.")]
        assert home.fold.messages == home.messages


async def test_an_endless_answer_that_waits_for_nothing_can_be_stopped() -> None:
    async def endless(message: Message, turn: Turn) -> AsyncIterator[str]:
        while True:
            yield ""
            yield "x"

    async with unstored_harness(ScriptedAgent(endless)) as home, unstored_harness() as other:
        home.send("Go.")
        await home.wait_until(lambda info: info.messages_in_memory == 2)
        assert [each.content for each in await other.send_and_read()] == ["Yes."]
        await home.stop()
        assert home.info.ending is TurnEnding.STOPPED
        assert set(home.messages[-1].content) == {"x"}


async def test_an_agent_that_goes_over_its_cancelling_ends_where_it_yields() -> None:
    async def endless(message: Message, turn: Turn) -> AsyncIterator[str]:
        while True:
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0)
            yield "x"

    async with unstored_harness(ScriptedAgent(endless)) as home:
        stream = home.send("Go.")
        await home.wait_until(lambda info: info.messages_in_memory == 2)
        await stream.aclose()  # which cancels once
        await home.wait_for_user_turn(TurnEnding.STOPPED)


async def asks(message: Message, turn: Turn) -> Any:
    first = await turn.confirm("Really?", ("Do it", "Leave it"), details={"why": 1})
    second = yield outputs.confirmation(f"{first}: sure?")
    yield f"{first}, {second}"


def asks_sync(message: Message, turn: Turn) -> Any:
    second = yield outputs.confirmation("Sure?")
    yield f"Chosen: {second}"


async def test_a_confirmation_waits_for_the_choice() -> None:
    async with unstored_harness(ScriptedAgent(asks)) as home:
        home.send("Go.")
        first = await home.wait_until(lambda info: info.waiting)
        assert first.waiting is not None
        (waiting,) = [each for each in home.messages if each.type == "CONFIRMATION"]
        assert (waiting.id, waiting.final, waiting.choices, waiting.details) == (
            first.waiting,
            False,
            ("Do it", "Leave it"),
            {"why": 1},
        )
        with expect_refusal("not_waiting"):
            home.interpreter.choose(home.session, first.waiting, "Yes")
        with expect_refusal("unknown_message_id"):
            home.interpreter.choose(home.session, "nothing", "Do it")
        chosen = home.interpreter.choose(home.session, first.waiting, "Do it")
        assert (chosen.chosen, chosen.final) == ("Do it", True)
        with expect_refusal("not_waiting"):
            home.interpreter.choose(home.session, first.waiting, "Do it")
        second = await home.wait_until(lambda info: info.waiting)
        confirms = UserInput(content="No", confirmation_id=second.waiting)
        stream = home.interpreter.process_message(home.session, confirms)
        assert [each.content async for each in stream if each.final] == ["Do it, No"]
        assert home.fold.messages == home.messages


async def test_a_sync_generator_is_sent_the_choice() -> None:
    async with unstored_harness(ScriptedAgent(asks_sync)) as home:
        home.send("Go.")
        info = await home.wait_until(lambda info: info.waiting)
        home.interpreter.choose(home.session, info.waiting or "", "Yes")
        await home.wait_for_user_turn(TurnEnding.DONE)
        assert home.messages[-1].content == "Chosen: Yes"


async def test_stop_withdraws_the_confirmation() -> None:
    async with unstored_harness(ScriptedAgent(asks)) as home:
        home.send("Go.")
        info = await home.wait_until(lambda info: info.waiting)
        await home.stop()
        assert home.info.waiting is None
        (withdrawn,) = [each for each in home.messages if each.type == "CONFIRMATION"]
        assert (withdrawn.id, withdrawn.final, withdrawn.chosen) == (info.waiting, True, None)
        with expect_refusal("not_waiting"):
            home.interpreter.choose(home.session, withdrawn.id, "Do it")


async def test_an_agent_may_take_its_question_back() -> None:
    async def impatient(message: Message, turn: Turn) -> AsyncIterator[str]:
        asked = asyncio.ensure_future(turn.confirm("Well?"))
        await asyncio.sleep(0)
        asked.cancel()
        await asyncio.wait({asked})
        yield "Never mind."

    async with unstored_harness(ScriptedAgent(impatient)) as home:
        await home.send_and_read()
        _, withdrawn, last = home.messages
        assert (withdrawn.final, withdrawn.chosen, last.content) == (True, None, "Never mind.")
        assert home.info.ending is TurnEnding.DONE


async def test_a_question_after_the_answer_is_refused() -> None:
    actor = ScriptedAgent()
    async with unstored_harness(actor) as home:
        await home.send_and_read()
        with expect_refusal("unknown_turn"):
            await actor.given[0][1].confirm("Still there?")


async def test_a_choice_that_comes_with_the_stop_is_refused() -> None:
    async with unstored_harness(ScriptedAgent([outputs.confirmation("Shall I?")])) as home:
        stream = home.send("Go.")
        waiting = (await home.wait_until(lambda info: info.waiting)).waiting
        closing = asyncio.ensure_future(stream.aclose())
        while home.interpreter.find(home.session).turn._task.cancelling() == 0:  # type: ignore[union-attr]
            await asyncio.sleep(0)
        if home.info.waiting is not None:
            with expect_refusal("not_waiting"):
                home.interpreter.choose(home.session, str(waiting), "Yes")
        await closing
        await home.wait_for_user_turn(TurnEnding.STOPPED)
        assert home.messages[-1].chosen is None
