"""AutoChat: turns without a user, and where they end."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentstepper_nb.chat import outputs
from agentstepper_nb.chat.connector import Handoff
from agentstepper_nb.errors import CommandError
from agentstepper_nb.protocol.chat import State, TurnEnding
from tests.chat.harness import (
    NOWHERE,
    SAME,
    GatedAnswer,
    ScriptedAgent,
    debugged_harness,
    expect_refusal,
    harness,
    step_through_turn,
)
from tests.coding.debugged_agent import AsyncLiveView


def going(*agents: ScriptedAgent, **options: Any) -> Any:
    """An interpreter whose sessions go on by themselves."""
    return harness(NOWHERE, *agents, store=False, **{"auto_chat": True, **options})


def refused(why: str) -> Any:
    return expect_refusal("auto_chat_refused", why)


async def test_inv_auto_001_it_goes_on_in_stop_only_and_stops_at_its_bound() -> None:
    """AutoChat begins turns in STATE_STOP alone, and no more of them than its bound."""
    async with going(ScriptedAgent(), auto_chat_max=3) as home:
        home.send("Go.")
        await home.wait_for_user_turn(TurnEnding.DONE)
        assert home.transcript == [
            ("user", "Go."),
            ("assistant", "Yes."),
            *[("system", "Continue."), ("assistant", "Yes.")] * 3,
        ]
        assert home.info.auto_turns == 3
        assert home.fold.states == [
            State.STATE_INIT,
            *[State.STATE_RUNNING, State.STATE_STOP] * 4,
        ]
        with refused("3 of 3 turns"):
            home.interpreter.auto_chat(home.session)


async def test_an_agent_knows_what_autochat_says_from_what_a_person_says() -> None:
    actor = ScriptedAgent()
    async with going(actor, auto_chat_max=1) as home:
        home.send("Continue.")
        await home.wait_for_user_turn(TurnEnding.DONE)
        assert [turn.is_continuation for _, turn in actor.given] == [False, True]


async def test_what_a_person_edits_is_not_said_by_autochat(view: AsyncLiveView) -> None:
    actor = ScriptedAgent()
    async with debugged_harness(actor, auto_chat=True, auto_chat_max=2) as home:
        home.send("Go.")
        await step_through_turn(view, SAME, SAME, SAME, SAME)
        call = await view.wait_for_halt()
        call["Argument"]["message"]["content"] = "Be brief."
        await view.step_async(call)
        await step_through_turn(view, SAME)
        await home.wait_for_user_turn(TurnEnding.DONE)
        assert [turn.is_continuation for _, turn in actor.given] == [False, True, False]


async def test_a_users_message_begins_the_count_anew() -> None:
    async with going(ScriptedAgent(), auto_chat_max=1) as home:
        for _ in range(2):
            home.send("Go.")
            await home.wait_for_user_turn(TurnEnding.DONE)
            assert home.info.auto_turns == 1
        assert [role for role, _ in home.transcript] == [
            "user",
            "assistant",
            "system",
            "assistant",
        ] * 2


async def test_it_is_off_unless_it_is_switched_on() -> None:
    async with going(ScriptedAgent(), auto_chat=False) as home:
        await home.send_and_read()
        assert home.info.auto_turns == 0
        assert home.info.state is State.STATE_STOP


async def test_it_stops_at_an_error() -> None:
    answers = iter([["One."], [outputs.text("Two."), 3]])
    async with going(ScriptedAgent(lambda message, turn: iter(next(answers)))) as home:
        home.send("Go.")
        await home.wait_for_user_turn(TurnEnding.ERROR)
        assert home.info.auto_turns == 1
        with refused("the last turn failed"):
            home.interpreter.auto_chat(home.session)


async def test_it_stops_at_a_confirmation() -> None:
    async def asks(message: Any, turn: Any) -> Any:
        yield outputs.confirmation("Sure?")

    async with going(ScriptedAgent(asks)) as home:
        home.send("Go.")
        info = await home.wait_until(lambda info: info.waiting)
        home.interpreter.choose(home.session, info.waiting or "", "Yes")
        await home.wait_for_user_turn(TurnEnding.DONE)
        assert home.info.auto_turns == 0
        with refused("asked you a question"):
            home.interpreter.auto_chat(home.session)


async def test_it_stops_at_stop() -> None:
    gate = GatedAnswer(["One"])
    async with going(ScriptedAgent(gate)) as home:
        home.send("Go.")
        await gate.reached.wait()
        with refused("a turn is under way"):
            home.interpreter.auto_chat(home.session)
        await home.stop()
        assert (home.info.state, home.info.auto_turns) == (State.STATE_STOP, 0)
        with refused("was stopped"):
            home.interpreter.auto_chat(home.session)


async def test_stop_ends_the_chain_in_any_of_its_turns() -> None:
    gate = GatedAnswer()
    gates = iter([["One."], gate])

    def answer(message: Any, turn: Any) -> Any:
        mine = next(gates)
        return mine(message, turn) if isinstance(mine, GatedAnswer) else iter(mine)

    async with going(ScriptedAgent(answer)) as home:
        home.send("Go.")
        await gate.reached.wait()
        await home.stop()
        assert (home.info.ending, home.info.auto_turns) == (TurnEnding.STOPPED, 1)
        assert home.info.state is State.STATE_STOP


@pytest.mark.parametrize("prompt", [None, ""])
async def test_an_agent_without_a_prompt_has_nothing_to_continue(prompt: str | None) -> None:
    async with going(ScriptedAgent(go_on=prompt)) as home:
        home.send("Go.")
        await home.wait_for_user_turn(TurnEnding.DONE)
        assert home.info.auto_turns == 0
        with refused("nothing to continue"):
            home.interpreter.auto_chat(home.session)


async def test_it_begins_no_conversation() -> None:
    async with going(ScriptedAgent()) as home:
        with refused("the conversation is empty"):
            home.interpreter.auto_chat(home.session)
        assert home.info.state is State.STATE_INIT


async def test_by_hand_it_goes_on_once_also_where_it_is_off() -> None:
    actor = ScriptedAgent(go_on="And then?")
    async with going(actor, auto_chat=False, auto_chat_max=1) as home:
        await home.send_and_read("Go.")
        stream = home.interpreter.auto_chat(home.session)
        assert [each.content async for each in stream if each.final] == ["Yes."]
        message, turn = actor.given[-1]
        assert (message.role, message.content, message.agent_name) == (
            "system",
            "And then?",
            "actor",
        )
        assert [each.content for each in turn.window] == ["Go.", "Yes."]
        with refused("1 of 1 turns"):
            home.interpreter.auto_chat(home.session)


async def test_switched_on_where_it_may_it_goes_on_at_once() -> None:
    async with going(ScriptedAgent(), auto_chat=False, auto_chat_max=1) as home:
        await home.send_and_read("Go.")
        info = home.interpreter.update_session(home.session, auto_chat=True)
        assert (info.state, info.auto_turns) == (State.STATE_RUNNING, 1)
        await home.wait_for_user_turn(TurnEnding.DONE)
        info = home.interpreter.update_session(home.session, auto_chat_max=2)
        assert (info.state, info.auto_turns) == (State.STATE_RUNNING, 2)
        await home.wait_for_user_turn(TurnEnding.DONE)


async def test_switched_off_it_ends_after_the_turn() -> None:
    gate = GatedAnswer()
    async with going(ScriptedAgent(gate)) as home:
        home.send("Go.")
        await gate.reached.wait()
        home.interpreter.update_session(home.session, auto_chat=False)
        gate.opened.set()
        await home.wait_for_user_turn(TurnEnding.DONE)
        assert home.info.auto_turns == 0


async def test_never_two_turns_at_once_and_no_message_is_lost() -> None:
    async with going(ScriptedAgent(), auto_chat_max=20) as home:
        home.send("Go.")
        said, busy = 1, 0
        while home.info.auto_turns < 20:
            try:
                home.send(f"{said}")
                said += 1
            except CommandError as error:
                assert error.code == "session_busy"
                busy += 1
                await asyncio.sleep(0)
            if busy > 5000:
                break
        await home.stop()
        assert busy
        states = home.fold.states[1:]
        assert states == [State.STATE_RUNNING, State.STATE_STOP] * (len(states) // 2)
        assert home.fold.messages == home.messages


async def test_after_a_hand_on_the_supervisor_goes_on() -> None:
    leads = ScriptedAgent([Handoff("worker", "Your part.")], "boss", "SUPERVISOR", "What next?")
    worker = ScriptedAgent(["Done."], "worker", go_on="Not asked.")
    async with going(leads, worker, auto_chat_max=1) as home:
        home.send("Go.")
        await home.wait_for_user_turn(TurnEnding.DONE)
        assert [each.content for each, _ in leads.given] == ["Go.", "What next?"]


async def test_where_the_agent_has_gone_the_default_goes_on() -> None:
    one, two = ScriptedAgent(name="one"), ScriptedAgent(name="two", go_on="Two, please.")
    async with going(one, two, auto_chat=False) as home:
        await home.send_and_read()
        home.interpreter.remove_agent(home.session, "one")
        home.interpreter.auto_chat(home.session)
        await home.wait_for_user_turn(TurnEnding.DONE)
        assert two.given[0][0].content == "Two, please."
        home.interpreter.remove_agent(home.session, "two")
        with refused("has no agent"):
            home.interpreter.auto_chat(home.session)
