"""The agent in the debugger: what a person edits there, and how it ends."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from agentstepper_nb.llm_wire.conversation import (
    AssistantMessage,
    ChatMessage,
    ToolResultMessage,
    UserMessage,
)
from agentstepper_nb.llm_wire.events import ToolCallReady
from agentstepper_nb.protocol.data_model import Actor, RunState
from tests.coding.debugged_agent import ASKS, Debug, View, go
from tests.coding.scripted_parts import FakeProvider, calls, fails, says

# ---- queries -----------------------------------------------------------------------------------------


async def test_the_edited_prompt_is_sent_and_gone_on_with(view: View, debug: Debug) -> None:
    model = FakeProvider(calls(("1", "t", {"policy": "denied"})), says("I see."), says("Yes."))
    async with debug(model) as made:
        running = go(made.agent)
        for _ in range(4):
            await view.at()
            await view.steps()
        prompt = await view.at()
        roles = [message["role"] for message in prompt["messages"]]
        assert roles == ["system", "user", "assistant", "tool"]
        assert prompt["tools"][0]["function"]["name"] == "t"
        prompt["messages"][1]["content"] = "Go slowly."
        prompt["messages"].append({"role": "user", "content": "And then?"})
        prompt["model"] = "n"
        await view.steps(prompt)
        await view.steps()
        result = await running
        assert result.reason == "done"
        sent = model.requests[1]
        assert sent.model == "n"
        assert sent.messages[0] == UserMessage(content="Go slowly.")
        # What was left alone is the same as ever, with what JSON doesn't say of it.
        assert sent.messages[1:3] == result.messages[1:3]
        assert not made.result().ok
        assert result.messages[3] == UserMessage(content="And then?")
        (edit,) = made.traces("edited")
        assert (edit["what"], edit["kept"]) == ("prompt", 0)


async def test_the_edited_answer_is_what_acts(view: View, debug: Debug) -> None:
    async with debug(FakeProvider(says("No."), says("Done."))) as made:
        running = go(made.agent)
        await view.steps()
        answer = await view.at()
        assert answer == {"role": "assistant", "content": "No."}
        function = {"name": "t", "arguments": '{"n": 7}'}
        answer["tool_calls"] = [{"id": "x", "type": "function", "function": function}]
        await view.steps(answer)
        await asyncio.to_thread(view.halted)
        await asyncio.to_thread(view.go_on)
        assert (await running).reason == "done"
        assert made.tool.did == [{"n": 7}]
        assert [e.call_id for e in made.events if isinstance(e, ToolCallReady)] == ["x"]
        (edit,) = made.traces("edited")
        assert (edit["what"], edit["message"]) == ("answer", answer)


@pytest.mark.parametrize(
    ("side", "edit", "why"),
    [(0, {"model": 1}, "edited prompt can't be sent"), (1, [1], "edited answer can't be used")],
)
async def test_an_edit_that_is_no_query_ends_it_and_says_why(
    view: View, debug: Debug, side: int, edit: Any, why: str
) -> None:
    async with debug(FakeProvider(says("No."))) as made:
        running = go(made.agent)
        for _ in range(side):
            await view.steps()
            await view.at()
        await view.steps(edit)
        if side == 0:  # the failed query halts
            await asyncio.to_thread(view.go_on)
        result = await running
        assert result.reason == "error"
        assert why in (result.error or "")


async def test_a_failed_query_may_be_given_its_answer(view: View, debug: Debug) -> None:
    async with debug(FakeProvider(fails("The key is wrong."))) as made:
        running = go(made.agent)
        await view.steps()
        await view.at()
        await view.steps("It is fine.")
        result = await running
        assert result.reason == "done"
        assert result.messages[1] == AssistantMessage(content="It is fine.")


async def test_a_denied_query_ends_the_answer(view: View, debug: Debug) -> None:
    async with debug(FakeProvider()) as made:
        running = go(made.agent)
        await view.denies("too dear")
        result = await running
        assert (result.reason, result.is_stopped) == ("cancelled", False)
        assert "too dear" in (result.error or "")


# ---- calls -------------------------------------------------------------------------------------------


async def test_edited_arguments_act_and_an_edited_result_is_read(view: View, debug: Debug) -> None:
    model = FakeProvider(calls(("1", "t", {"n": 1})), says("Done."))
    async with debug(model) as made:
        running = go(made.agent)
        await view.steps()
        await view.at()
        await view.steps()
        assert await view.at() == {"Tool": "t", "Argument": {"n": 1}}
        await view.steps({"Tool": "t", "Argument": {"n": 2}})
        result = await view.at()
        assert result["data"] == {"n": 2}
        assert result["diagnostics"]["edited_by_a_person"]["arguments"] == {"n": 2}
        await view.steps({"ok": True, "data": "all of it"})
        await view.at()
        await asyncio.to_thread(view.go_on)
        assert (await running).reason == "done"
        assert made.tool.did == [{"n": 2}]
        assert made.result().content == "all of it"
        assert [edit["what"] for edit in made.traces("edited")] == ["call", "result"]
        assert model.requests[1].messages[-1] == made.result()


async def test_an_edit_is_judged_again_and_a_denial_holds(view: View, debug: Debug) -> None:
    async with debug(FakeProvider(calls(ASKS), says("I see.")), "continue") as made:
        running = go(made.agent)
        await view.at()
        await view.approves({"Tool": "t", "Argument": {"policy": "denied"}}, always=True)
        assert (await running).reason == "done"
        assert made.tool.did == []
        assert made.kept == []
        assert "The policy denies this" in made.result().content


async def test_what_the_policy_denies_is_an_event_with_the_failure(
    view: View, debug: Debug
) -> None:
    bad = (("1", "t", {"policy": "denied"}), ("2", "t", "{"), ("3", "none", {}))
    async with debug(FakeProvider(calls(*bad), says("I see.")), "continue") as made:
        assert (await go(made.agent)).reason == "done"
    await asyncio.to_thread(view.over)
    rows = await asyncio.to_thread(view.rows)
    ends = [row for row in rows if row.source is Actor.TOOLS]
    said = [(await asyncio.to_thread(view.body, row))["error"] for row in ends]
    assert len(said) == 3
    for id, error in zip("123", said, strict=True):
        assert json.loads(made.result(id).content)["error"] == error


# ---- ends --------------------------------------------------------------------------------------------


async def test_stop_ends_the_answer(view: View, debug: Debug) -> None:
    messages: list[ChatMessage] = []
    async with debug(FakeProvider(calls(ASKS)), "continue") as made:
        running = go(made.agent)
        await view.at()
        await asyncio.to_thread(view.stop)
        result = await running
        assert (result.reason, result.is_stopped) == ("cancelled", True)
        messages += result.messages
    assert isinstance(messages[-1], ToolResultMessage)


async def test_cancel_withdraws_the_question(view: View, debug: Debug) -> None:
    async with debug(FakeProvider(calls(ASKS)), "continue") as made:
        running = go(made.agent)
        await view.at()
        made.agent.cancel()
        assert (await running).reason == "cancelled"
        await asyncio.to_thread(view.until, lambda run: not run.pending)
    run = await asyncio.to_thread(view.over)
    assert run.state is RunState.IDLE


async def test_a_prompt_whose_call_has_lost_its_result_is_not_sent(
    view: View, debug: Debug
) -> None:
    model = FakeProvider(calls(("1", "t", {})), says("Never."))
    async with debug(model) as made:
        running = go(made.agent)
        for _ in range(4):
            await view.at()
            await view.steps()
        prompt = await view.at()
        assert prompt["messages"].pop()["role"] == "tool"
        await view.steps(prompt)
        await asyncio.to_thread(view.go_on)
        result = await running
        assert result.reason == "error"
        assert "the call '1' has no result after it; leave out both" in (result.error or "")
        assert [data["message"] for data in made.traces("error")] == [result.error]
        assert len(model.requests) == 1
        assert len(result.messages) == 3


async def test_a_prompt_may_lose_messages(view: View, debug: Debug) -> None:
    model = FakeProvider(calls(("1", "t", {})), says("Done."))
    async with debug(model) as made:
        running = go(made.agent)
        for _ in range(4):
            await view.at()
            await view.steps()
        prompt = await view.at()
        del prompt["messages"][2:]
        await view.steps(prompt)
        await asyncio.to_thread(view.go_on)
        result = await running
        assert result.messages == (
            UserMessage(content="Go."),
            AssistantMessage(content="Done."),
        )


async def test_a_call_that_a_person_copies_is_another_call(view: View, debug: Debug) -> None:
    async with debug(FakeProvider(calls(("1", "t", {"n": 1})), says("Done."))) as made:
        running = go(made.agent)
        await view.steps()
        answer = await view.at()
        answer["tool_calls"] *= 2
        await view.steps(answer)
        await asyncio.to_thread(view.go_on)
        assert (await running).reason == "done"
        assert made.tool.did == [{"n": 1}] * 2
        assert made.result("1_2").ok


async def test_a_query_that_is_denied_without_a_reason(view: View, debug: Debug) -> None:
    async with debug(FakeProvider()) as made:
        running = go(made.agent)
        await view.denies("")
        assert (await running).error == "A person denied the query."
