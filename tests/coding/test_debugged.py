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
from tests.coding.debugged_agent import ASKS, AsyncLiveView, Debug, start_agent
from tests.coding.scripted_parts import (
    FakeProvider,
    make_failure,
    make_text_answer,
    make_tool_calls,
)

# ---- queries -----------------------------------------------------------------------------------------


async def test_the_edited_prompt_is_sent_and_gone_on_with(
    view: AsyncLiveView, debug: Debug
) -> None:
    model = FakeProvider(
        make_tool_calls(("1", "t", {"policy": "denied"})),
        make_text_answer("I see."),
        make_text_answer("Yes."),
    )
    async with debug(model) as made:
        running = start_agent(made.agent)
        for _ in range(4):
            await view.wait_for_halt()
            await view.step_async()
        prompt = await view.wait_for_halt()
        roles = [message["role"] for message in prompt["messages"]]
        assert roles == ["system", "user", "assistant", "tool"]
        assert prompt["tools"][0]["function"]["name"] == "t"
        prompt["messages"][1]["content"] = "Go slowly."
        prompt["messages"].append({"role": "user", "content": "And then?"})
        prompt["model"] = "n"
        await view.step_async(prompt)
        await view.step_async()
        result = await running
        assert result.reason == "done"
        sent = model.requests[1]
        assert sent.model == "n"
        assert sent.messages[0] == UserMessage(content="Go slowly.")
        # What was left alone is the same as ever, with what JSON doesn't say of it.
        assert sent.messages[1:3] == result.messages[1:3]
        assert not made.result().ok
        assert result.messages[3] == UserMessage(content="And then?")
        (edit,) = made.list_traces("edited")
        assert (edit["what"], edit["kept"]) == ("prompt", 0)


async def test_the_edited_answer_is_what_acts(view: AsyncLiveView, debug: Debug) -> None:
    async with debug(FakeProvider(make_text_answer("No."), make_text_answer("Done."))) as made:
        running = start_agent(made.agent)
        await view.step_async()
        answer = await view.wait_for_halt()
        assert answer == {"role": "assistant", "content": "No."}
        function = {"name": "t", "arguments": '{"n": 7}'}
        answer["tool_calls"] = [{"id": "x", "type": "function", "function": function}]
        await view.step_async(answer)
        await asyncio.to_thread(view.wait_until_halted)
        await asyncio.to_thread(view.resume)
        assert (await running).reason == "done"
        assert made.tool.calls == [{"n": 7}]
        assert [e.call_id for e in made.events if isinstance(e, ToolCallReady)] == ["x"]
        (edit,) = made.list_traces("edited")
        assert (edit["what"], edit["message"]) == ("answer", answer)


@pytest.mark.parametrize(
    ("side", "edit", "why"),
    [(0, {"model": 1}, "edited prompt can't be sent"), (1, [1], "edited answer can't be used")],
)
async def test_an_edit_that_is_no_query_ends_it_and_says_why(
    view: AsyncLiveView, debug: Debug, side: int, edit: Any, why: str
) -> None:
    async with debug(FakeProvider(make_text_answer("No."))) as made:
        running = start_agent(made.agent)
        for _ in range(side):
            await view.step_async()
            await view.wait_for_halt()
        await view.step_async(edit)
        if side == 0:  # the failed query halts
            await asyncio.to_thread(view.resume)
        result = await running
        assert result.reason == "error"
        assert why in (result.error or "")


async def test_a_failed_query_may_be_given_its_answer(view: AsyncLiveView, debug: Debug) -> None:
    async with debug(FakeProvider(make_failure("The key is wrong."))) as made:
        running = start_agent(made.agent)
        await view.step_async()
        await view.wait_for_halt()
        await view.step_async("It is fine.")
        result = await running
        assert result.reason == "done"
        assert result.messages[1] == AssistantMessage(content="It is fine.")


async def test_a_denied_query_ends_the_answer(view: AsyncLiveView, debug: Debug) -> None:
    async with debug(FakeProvider()) as made:
        running = start_agent(made.agent)
        await view.deny_async("too dear")
        result = await running
        assert (result.reason, result.is_stopped) == ("cancelled", False)
        assert "too dear" in (result.error or "")


# ---- calls -------------------------------------------------------------------------------------------


async def test_edited_arguments_act_and_an_edited_result_is_read(
    view: AsyncLiveView, debug: Debug
) -> None:
    model = FakeProvider(make_tool_calls(("1", "t", {"n": 1})), make_text_answer("Done."))
    async with debug(model) as made:
        running = start_agent(made.agent)
        await view.step_async()
        await view.wait_for_halt()
        await view.step_async()
        assert await view.wait_for_halt() == {"Tool": "t", "Argument": {"n": 1}}
        await view.step_async({"Tool": "t", "Argument": {"n": 2}})
        result = await view.wait_for_halt()
        assert result["data"] == {"n": 2}
        assert result["diagnostics"]["edited_by_a_person"]["arguments"] == {"n": 2}
        await view.step_async({"ok": True, "data": "all of it"})
        await view.wait_for_halt()
        await asyncio.to_thread(view.resume)
        assert (await running).reason == "done"
        assert made.tool.calls == [{"n": 2}]
        assert made.result().content == "all of it"
        assert [edit["what"] for edit in made.list_traces("edited")] == ["call", "result"]
        assert model.requests[1].messages[-1] == made.result()


async def test_an_edit_is_judged_again_and_a_denial_holds(
    view: AsyncLiveView, debug: Debug
) -> None:
    async with debug(
        FakeProvider(make_tool_calls(ASKS), make_text_answer("I see.")), "continue"
    ) as made:
        running = start_agent(made.agent)
        await view.wait_for_halt()
        await view.approve_async({"Tool": "t", "Argument": {"policy": "denied"}}, always=True)
        assert (await running).reason == "done"
        assert made.tool.calls == []
        assert made.kept == []
        assert "The policy denies this" in made.result().content


async def test_what_the_policy_denies_is_an_event_with_the_failure(
    view: AsyncLiveView, debug: Debug
) -> None:
    bad = (("1", "t", {"policy": "denied"}), ("2", "t", "{"), ("3", "none", {}))
    async with debug(
        FakeProvider(make_tool_calls(*bad), make_text_answer("I see.")), "continue"
    ) as made:
        assert (await start_agent(made.agent)).reason == "done"
    await asyncio.to_thread(view.wait_until_ended)
    rows = await asyncio.to_thread(view.list_rows)
    ends = [row for row in rows if row.source is Actor.TOOLS]
    said = [(await asyncio.to_thread(view.get_data, row))["error"] for row in ends]
    assert len(said) == 3
    for id, error in zip("123", said, strict=True):
        assert json.loads(made.result(id).content)["error"] == error


# ---- ends --------------------------------------------------------------------------------------------


async def test_stop_ends_the_answer(view: AsyncLiveView, debug: Debug) -> None:
    messages: list[ChatMessage] = []
    async with debug(FakeProvider(make_tool_calls(ASKS)), "continue") as made:
        running = start_agent(made.agent)
        await view.wait_for_halt()
        await asyncio.to_thread(view.stop)
        result = await running
        assert (result.reason, result.is_stopped) == ("cancelled", True)
        messages += result.messages
    assert isinstance(messages[-1], ToolResultMessage)


async def test_cancel_withdraws_the_question(view: AsyncLiveView, debug: Debug) -> None:
    async with debug(FakeProvider(make_tool_calls(ASKS)), "continue") as made:
        running = start_agent(made.agent)
        await view.wait_for_halt()
        made.agent.cancel()
        assert (await running).reason == "cancelled"
        await asyncio.to_thread(view.wait_until, lambda run: not run.pending)
    run = await asyncio.to_thread(view.wait_until_ended)
    assert run.state is RunState.IDLE


async def test_a_prompt_whose_call_has_lost_its_result_is_not_sent(
    view: AsyncLiveView, debug: Debug
) -> None:
    model = FakeProvider(make_tool_calls(("1", "t", {})), make_text_answer("Never."))
    async with debug(model) as made:
        running = start_agent(made.agent)
        for _ in range(4):
            await view.wait_for_halt()
            await view.step_async()
        prompt = await view.wait_for_halt()
        assert prompt["messages"].pop()["role"] == "tool"
        await view.step_async(prompt)
        await asyncio.to_thread(view.resume)
        result = await running
        assert result.reason == "error"
        assert "the call '1' has no result after it; leave out both" in (result.error or "")
        assert [data["message"] for data in made.list_traces("error")] == [result.error]
        assert len(model.requests) == 1
        assert len(result.messages) == 3


async def test_a_prompt_may_lose_messages(view: AsyncLiveView, debug: Debug) -> None:
    model = FakeProvider(make_tool_calls(("1", "t", {})), make_text_answer("Done."))
    async with debug(model) as made:
        running = start_agent(made.agent)
        for _ in range(4):
            await view.wait_for_halt()
            await view.step_async()
        prompt = await view.wait_for_halt()
        del prompt["messages"][2:]
        await view.step_async(prompt)
        await asyncio.to_thread(view.resume)
        result = await running
        assert result.messages == (
            UserMessage(content="Go."),
            AssistantMessage(content="Done."),
        )


async def test_a_call_that_a_person_copies_is_another_call(
    view: AsyncLiveView, debug: Debug
) -> None:
    async with debug(
        FakeProvider(make_tool_calls(("1", "t", {"n": 1})), make_text_answer("Done."))
    ) as made:
        running = start_agent(made.agent)
        await view.step_async()
        answer = await view.wait_for_halt()
        answer["tool_calls"] *= 2
        await view.step_async(answer)
        await asyncio.to_thread(view.resume)
        assert (await running).reason == "done"
        assert made.tool.calls == [{"n": 1}] * 2
        assert made.result("1_2").ok


async def test_a_query_that_is_denied_without_a_reason(view: AsyncLiveView, debug: Debug) -> None:
    async with debug(FakeProvider()) as made:
        running = start_agent(made.agent)
        await view.deny_async("")
        assert (await running).error == "A person denied the query."
