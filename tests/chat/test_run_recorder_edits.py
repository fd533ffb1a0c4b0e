"""Turns that a person edits in a real debugger: what is asked, and what is answered."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentstepper_nb.chat import outputs
from agentstepper_nb.chat.chat_thread import AnswerCollector
from agentstepper_nb.chat.connector import Handoff
from agentstepper_nb.protocol.chat import ChatSessionSnapshot, TurnEnding
from tests.chat.harness import (
    PNG,
    SAME,
    ScriptedAgent,
    debugged_harness,
    make_shown_message,
    step_through_turn,
)
from tests.coding.debugged_agent import AsyncLiveView


async def test_an_edited_message_is_what_the_agent_is_given_and_what_was_said(
    view: AsyncLiveView,
) -> None:
    actor = ScriptedAgent()
    async with debugged_harness(actor) as home:
        home.send("Delete it.")
        call = await view.wait_for_halt()
        call["Argument"]["message"]["content"] = "Keep it."
        await view.step_async(call)
        await step_through_turn(view, SAME)
        await home.wait_for_user_turn(TurnEnding.DONE)
        assert actor.given[0][0].content == "Keep it."
        assert home.transcript == [("user", "Keep it."), ("assistant", "Yes.")]
        assert (home.fold.info, home.fold.messages) == (home.info, home.messages)


async def test_an_edited_window_is_what_the_agent_is_given(view: AsyncLiveView) -> None:
    actor = ScriptedAgent()
    async with debugged_harness(actor) as home:
        home.send("One.")
        await step_through_turn(view, SAME, SAME)
        await home.wait_for_user_turn(TurnEnding.DONE)
        home.send("Two.")
        call = await view.wait_for_halt()
        mine, theirs = call["Argument"]["window"]
        theirs["content"] = "No."
        call["Argument"]["window"] = [{"content": "Be brief.", "role": "system"}, theirs]
        await view.step_async(call)
        await step_through_turn(view, SAME)
        await home.wait_for_user_turn(TurnEnding.DONE)
        assert [(each.role, each.content) for each in actor.given[1][1].window] == [
            ("system", "Be brief."),
            ("assistant", "No."),
        ]
        # What was left out, or is new, is so for this turn alone; what is another is another.
        assert [content for _, content in home.transcript] == ["One.", "No.", "Two.", "Yes."]
        assert mine["content"] == "One."


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        ([make_shown_message("Other.")], ["Other."]),
        ("Other.", ["Other."]),
        ({"content": "Other."}, ["Other."]),
        ([], []),
        (None, []),
        (
            [make_shown_message("One."), make_shown_message("Two."), "Three."],
            ["One.", "Two.", "Three."],
        ),
        ([{"type": "CONSOLE", "content": "$ ls"}], ["$ ls"]),
    ],
)
async def test_an_edited_result_is_what_was_said(
    view: AsyncLiveView, edit: Any, said: list[str]
) -> None:
    async with debugged_harness(ScriptedAgent(["Yes."])) as home:
        home.send("Hello.")
        await step_through_turn(view, SAME, edit)
        await home.wait_for_user_turn(TurnEnding.DONE)
        assert [content for _, content in home.transcript] == ["Hello.", *said]
        assert (home.fold.info, home.fold.messages) == (home.info, home.messages)
        everything = home.interpreter.read_earlier_messages(
            home.session, home.messages[-1].id, 50
        ).messages
        assert [*everything, home.messages[-1]] == list(home.messages)
        if said:
            assert home.messages[1].id == "m2"


async def test_a_result_with_less_is_told_as_it_is_now(view: AsyncLiveView) -> None:
    async with debugged_harness(
        ScriptedAgent([outputs.console("one"), "Two.", outputs.console("three")])
    ) as home:
        home.send("Hello.")
        await view.wait_for_halt()
        await view.step_async()
        result = await view.wait_for_halt()
        await view.step_async([result[0], {**result[1], "content": "2"}])
        await home.wait_for_user_turn(TurnEnding.DONE)
        assert [content for _, content in home.transcript] == ["Hello.", "one", "2"]
        assert any(isinstance(event, ChatSessionSnapshot) for event in home.fold.events[1:])
        assert home.fold.messages == home.messages
        assert home.info.messages == 3


@pytest.mark.parametrize(
    ("begin", "end", "why"),
    [
        ({"Tool": "other", "Argument": {}}, None, "can't be replaced by a turn of 'other'"),
        ({"Tool": "actor", "Argument": 3}, None, "edited arguments"),
        ({"Tool": "actor", "Argument": {"message": {"type": "VIDEO"}}}, None, "VIDEO"),
        ({"Tool": "actor", "Argument": {"message": {"id": "x"}}}, None, "no id to set"),
        (SAME, [{"content": 3}], "edited result"),
        (
            {"Tool": "actor", "Argument": {"message": "x", "window": 3}},
            None,
            "write a list of messages",
        ),
        (SAME, 3, "write a list of messages, or a text"),
        (SAME, [{"hand_on": 3}], "a hand-on must be"),
        (SAME, [{"contents": "x"}], "no contents to set"),
    ],
)
async def test_an_edit_that_cannot_be_used_is_an_error(
    view: AsyncLiveView, begin: Any, end: Any, why: str
) -> None:
    async with debugged_harness(ScriptedAgent()) as home:
        home.send("Hello.")
        await step_through_turn(view, begin, *([] if end is None else [end]))
        if end is None:  # the failed call halts, too
            await step_through_turn(view, SAME)
        await home.wait_for_user_turn(TurnEnding.ERROR)
        assert why in home.messages[-1].content
        assert home.fold.messages == home.messages


async def test_a_person_may_give_the_answer_in_place_of_an_error(view: AsyncLiveView) -> None:
    async def fails(message: Any, turn: Any) -> Any:
        yield "Half"
        raise ValueError("broken")

    async with debugged_harness(ScriptedAgent(fails)) as home:
        home.send("Hello.")
        await step_through_turn(view, SAME, ["Whole."])
        await home.wait_for_user_turn(TurnEnding.DONE)
        assert home.transcript == [("user", "Hello."), ("assistant", "Whole.")]


async def test_a_hand_on_is_shown_and_may_be_edited(view: AsyncLiveView) -> None:
    leads = ScriptedAgent([Handoff("one", "Do it.")], "boss", "SUPERVISOR")
    one, two = ScriptedAgent(["One."], "one"), ScriptedAgent(["Two."], "two")
    async with debugged_harness(leads, one, two) as home:
        home.send("Go.")
        await view.wait_for_halt()
        await view.step_async()
        assert await view.wait_for_halt() == [{"hand_on": "one", "text": "Do it."}]
        await view.step_async(["I think.", {"hand_on": "two", "text": "Try it."}])
        assert (await view.wait_for_halt())["Tool"] == "two"
        await view.step_async()
        await step_through_turn(view, SAME)
        await home.wait_for_user_turn(TurnEnding.DONE)
        assert [content for _, content in home.transcript] == ["Go.", "I think.", "Try it.", "Two."]
        assert not one.given


async def test_what_memory_let_go_may_still_be_edited(view: AsyncLiveView) -> None:
    async with debugged_harness(
        ScriptedAgent([outputs.code(str(n), f"l{n}") for n in range(110)])
    ) as home:
        home.send("Count.")
        await step_through_turn(view, SAME)
        result = await view.wait_for_halt()
        result[0]["content"] = "zero"
        await view.step_async(result)
        await home.wait_for_user_turn(TurnEnding.DONE)
        assert (home.fold.info, home.fold.messages) == (home.info, home.messages)
        assert [each.content for each in home.messages][-1] == "109"
        page = home.interpreter.read_earlier_messages(home.session, home.messages[0].id)
        assert [each.content for each in page.messages][:3] == ["Count.", "zero", "1"]


async def test_pictures_are_not_shown_by_their_bytes_and_stay(view: AsyncLiveView) -> None:
    async with debugged_harness(ScriptedAgent([outputs.image(PNG, alt="A plot")])) as home:
        home.send("Draw.")
        await step_through_turn(view, SAME)
        result = await view.wait_for_halt()
        assert result[0]["bytes"] == len(PNG)
        assert "data" not in result[0]
        await view.step_async([{**result[0], "content": "A graph"}])
        await home.wait_for_user_turn(TurnEnding.DONE)
        assert home.messages[-1].content == "A graph"
        assert (await home.interpreter.read_image(home.session, home.messages[-1].id)).data == PNG


async def test_what_is_too_long_is_shown_cut_and_stays_whole(view: AsyncLiveView) -> None:
    long = "x" * 300_000
    async with debugged_harness(ScriptedAgent([long])) as home:
        home.send("Go on.")
        await step_through_turn(view, SAME)
        (result,) = await view.wait_for_halt()
        assert len(result["content"]) < 210_000
        await view.step_async([{**result, "role": "computer"}])
        await home.wait_for_user_turn(TurnEnding.DONE)
        assert (home.messages[-1].role, home.messages[-1].content) == ("computer", long)


@pytest.mark.parametrize(
    "hostile", ["half \ud800", "nul \x00", "\x1b[2J", "</script>", "𝒰" * 1000, '{"Tool": 1}']
)
async def test_hostile_text_travels_as_text(view: AsyncLiveView, hostile: str) -> None:
    async with debugged_harness(ScriptedAgent([hostile]), step=False) as home:
        await home.send_and_read("Say it.")
        await home.send_and_read(hostile.replace("\ud800", "?"))
        assert home.info.ending is TurnEnding.DONE
        assert home.messages[1].content == hostile.replace("\ud800", "?")


async def test_what_a_person_takes_out_is_not_in_the_answer(view: AsyncLiveView) -> None:
    async with debugged_harness(ScriptedAgent(["Yes.", outputs.console("1"), "No."])) as home:
        answers = AnswerCollector(home.interpreter, home.session)
        asked = asyncio.ensure_future(answers.collect(lambda: home.send("Hello.")))
        await step_through_turn(view, SAME, ["Yes.", ""])
        assert [each.content for each in await asked] == ["Yes."]
        assert [content for _, content in home.transcript] == ["Hello.", "Yes."]
        assert (home.fold.messages, home.fold.info) == (home.messages, home.info)
