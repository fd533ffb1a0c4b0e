"""Confirmations: an agent asks, and a person chooses, stops or says nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from agentstepper_nb.chat import pieces
from agentstepper_nb.chat.backend import UserInput
from agentstepper_nb.chat.connector import Turn
from agentstepper_nb.protocol.chat import (
    Ending,
    Message,
)
from tests.chat.house import Actor, kept_nowhere, refused
from tests.helpers.loops import on_loop


async def asks(message: Message, turn: Turn) -> Any:
    first = await turn.confirm("Really?", ("Do it", "Leave it"), details={"why": 1})
    second = yield pieces.confirmation(f"{first}: sure?")
    yield f"{first}, {second}"


def asks_sync(message: Message, turn: Turn) -> Any:
    second = yield pieces.confirmation("Sure?")
    yield f"Chosen: {second}"


@on_loop
async def test_a_confirmation_waits_for_the_choice() -> None:
    async with kept_nowhere(Actor(asks)) as home:
        home.send("Go.")
        first = await home.until(lambda info: info.waiting)
        assert first.waiting is not None
        (waiting,) = [each for each in home.messages if each.type == "CONFIRMATION"]
        assert (waiting.id, waiting.final, waiting.choices, waiting.details) == (
            first.waiting,
            False,
            ("Do it", "Leave it"),
            {"why": 1},
        )
        with refused("not_waiting"):
            home.interpreter.choose(home.session, first.waiting, "Yes")
        with refused("unknown_message_id"):
            home.interpreter.choose(home.session, "nothing", "Do it")
        chosen = home.interpreter.choose(home.session, first.waiting, "Do it")
        assert (chosen.chosen, chosen.final) == ("Do it", True)
        with refused("not_waiting"):
            home.interpreter.choose(home.session, first.waiting, "Do it")
        second = await home.until(lambda info: info.waiting)
        confirms = UserInput(content="No", confirms=second.waiting)
        stream = home.interpreter.process_message(home.session, confirms)
        assert [each.content async for each in stream if each.final] == ["Do it, No"]
        assert home.fold.messages == home.messages


@on_loop
async def test_a_sync_generator_is_sent_the_choice() -> None:
    async with kept_nowhere(Actor(asks_sync)) as home:
        home.send("Go.")
        info = await home.until(lambda info: info.waiting)
        home.interpreter.choose(home.session, info.waiting or "", "Yes")
        await home.rests(Ending.DONE)
        assert home.messages[-1].content == "Chosen: Yes"


@on_loop
async def test_stop_withdraws_the_confirmation() -> None:
    async with kept_nowhere(Actor(asks)) as home:
        home.send("Go.")
        info = await home.until(lambda info: info.waiting)
        await home.stop()
        assert home.info.waiting is None
        (withdrawn,) = [each for each in home.messages if each.type == "CONFIRMATION"]
        assert (withdrawn.id, withdrawn.final, withdrawn.chosen) == (info.waiting, True, None)
        with refused("not_waiting"):
            home.interpreter.choose(home.session, withdrawn.id, "Do it")


@on_loop
async def test_an_agent_may_take_its_question_back() -> None:
    async def impatient(message: Message, turn: Turn) -> AsyncIterator[str]:
        asked = asyncio.ensure_future(turn.confirm("Well?"))
        await asyncio.sleep(0)
        asked.cancel()
        await asyncio.wait({asked})
        yield "Never mind."

    async with kept_nowhere(Actor(impatient)) as home:
        await home.ask()
        _, withdrawn, last = home.messages
        assert (withdrawn.final, withdrawn.chosen, last.content) == (True, None, "Never mind.")
        assert home.info.ending is Ending.DONE


@on_loop
async def test_a_question_after_the_answer_is_refused() -> None:
    actor = Actor()
    async with kept_nowhere(actor) as home:
        await home.ask()
        with refused("unknown_turn"):
            await actor.given[0][1].confirm("Still there?")


@on_loop
async def test_a_choice_that_comes_with_the_stop_is_refused() -> None:
    async with kept_nowhere(Actor([pieces.confirmation("Shall I?")])) as home:
        stream = home.send("Go.")
        waiting = (await home.until(lambda info: info.waiting)).waiting
        closing = asyncio.ensure_future(stream.aclose())
        while home.interpreter._sessions.find(home.session).turn._task.cancelling() == 0:  # type: ignore[union-attr]
            await asyncio.sleep(0)
        if home.info.waiting is not None:
            with refused("not_waiting"):
                home.interpreter.choose(home.session, str(waiting), "Yes")
        await closing
        await home.rests(Ending.STOPPED)
        assert home.messages[-1].chosen is None
