"""A model behind an endpoint, in the debugger: what a person edits there is what is said and done."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agentstepper_nb import AgentStepperCore, AsyncAgentStepper
from agentstepper_nb.chat.connector import TextReplacement
from agentstepper_nb.chat.connectors.endpoint_agent import EndpointAgent
from agentstepper_nb.errors import AgentStopped, ModelError, ToolDeniedError
from agentstepper_nb.llm_wire.conversation import ToolResultMessage, UserMessage
from tests.chat.chats import ScriptedChoices, build_messages, make_turn, record_answer
from tests.coding.debugged_agent import AsyncLiveView
from tests.coding.scripted_parts import Answer, FakeProvider, make_text_answer, make_tool_calls


@asynccontextmanager
async def halted_answer(
    core: AgentStepperCore, model: FakeProvider, **options: Any
) -> AsyncIterator[Any]:
    """A task in which a model answers, at its first halt point."""
    person = options.pop("person", None)
    endpoint = EndpointAgent("m", provider=model, tools=[look, fail], **options)
    dbg = AsyncAgentStepper("chat", "127.0.0.1", core.client_port, stop_on_entry=False)
    async with dbg:
        task = asyncio.create_task(record_answer(endpoint, turn=make_turn(person=person, dbg=dbg)))
        try:
            yield task
        finally:
            task.cancel()
            await asyncio.wait({task})


def look(at: str) -> str:
    return f"saw {at}"


def fail() -> None:
    raise OSError("no such file")


LOOKS: Answer = make_tool_calls(("1", "look", {"at": "a"}))


def find_tool_result(model: FakeProvider) -> ToolResultMessage:
    last = model.requests[-1].messages[-1]
    assert isinstance(last, ToolResultMessage)
    return last


async def test_an_edited_prompt_is_what_is_asked(
    core: AgentStepperCore, view: AsyncLiveView
) -> None:
    model = FakeProvider(make_text_answer("Fine."))
    async with halted_answer(core, model) as task:
        prompt = await view.wait_for_halt()
        assert [each["role"] for each in prompt["messages"]] == ["system", "user"]
        prompt["messages"][1]["content"] = "Something else."
        await view.step_async(prompt)
        await view.step_async()
        assert await task == ["Fine."]
    assert model.requests[0].messages == (UserMessage(content="Something else."),)


async def test_an_edited_answer_takes_the_place_of_what_was_told(
    core: AgentStepperCore, view: AsyncLiveView
) -> None:
    async with halted_answer(core, FakeProvider(make_text_answer("Good day"))) as task:
        await view.step_async()
        answer = await view.wait_for_halt()
        assert answer["content"] == "Goodday"
        await view.step_async(answer | {"content": "Good night."})
        got = await task
    assert got == ["Good", "day", TextReplacement("Good night.")]
    (message,) = build_messages(got)
    assert message.content == "Good night."


async def test_an_answer_may_be_made_a_call(core: AgentStepperCore, view: AsyncLiveView) -> None:
    model = FakeProvider(make_text_answer("No."), make_text_answer("Seen."))
    async with halted_answer(core, model) as task:
        await view.step_async()
        function = {"name": "look", "arguments": '{"at": "b"}'}
        calls = [{"id": "x", "type": "function", "function": function}]
        await view.wait_for_halt()
        await view.step_async({"role": "assistant", "content": None, "tool_calls": calls})
        assert await view.wait_for_halt() == {"Tool": "look", "Argument": {"at": "b"}}
        await asyncio.to_thread(view.resume)
        messages = build_messages(await task)
    assert [(each.type, each.content) for each in messages] == [
        ("MESSAGE", ""),
        ("FUNCTION", ""),
        ("MESSAGE", "Seen."),
    ]
    assert find_tool_result(model).content == "saw b"


async def test_an_edited_call_is_what_is_done_and_told(
    core: AgentStepperCore, view: AsyncLiveView
) -> None:
    model = FakeProvider(make_tool_calls(("1", "look", "{")), make_text_answer("Seen."))
    async with halted_answer(core, model) as task:
        await view.step_async()
        await view.step_async()
        assert await view.wait_for_halt() == {"Tool": "look", "Argument": "{"}
        await view.step_async({"Tool": "look", "Argument": {"at": "b"}})
        assert await view.wait_for_halt() == "saw b"
        await view.step_async("saw nothing")
        await asyncio.to_thread(view.wait_until_halted)
        await asyncio.to_thread(view.resume)
        call, _ = build_messages(await task)
    assert (call.arguments, call.result, call.ok) == ({"at": "b"}, "saw nothing", True)
    assert find_tool_result(model).content == "saw nothing"


async def test_a_failure_may_be_mended(core: AgentStepperCore, view: AsyncLiveView) -> None:
    model = FakeProvider(make_tool_calls(("1", "fail", {})), make_text_answer("Well."))
    async with halted_answer(core, model) as task:
        for _ in range(3):
            await view.wait_for_halt()
            await view.step_async()
        assert await view.wait_for_halt() is None  # there is no result
        await view.step_async("mended")
        await asyncio.to_thread(view.wait_until_halted)
        await asyncio.to_thread(view.resume)
        call, _ = build_messages(await task)
    assert (call.result, call.ok) == ("mended", True)
    assert find_tool_result(model).content == "mended"


async def test_a_denied_call_is_told_to_the_model(
    core: AgentStepperCore, view: AsyncLiveView
) -> None:
    model = FakeProvider(LOOKS, make_text_answer("Well."))
    async with halted_answer(core, model) as task:
        await view.step_async()
        await view.step_async()
        await view.deny_async("Not now.")
        await asyncio.to_thread(view.wait_until_halted)
        await asyncio.to_thread(view.resume)
        call, _ = build_messages(await task)
    assert (call.ok, find_tool_result(model).ok) == (False, False)
    assert find_tool_result(model).content == "The person denied this call: Not now."


async def test_a_call_that_the_person_is_asked_about(
    core: AgentStepperCore, view: AsyncLiveView
) -> None:
    model = FakeProvider(LOOKS, make_text_answer("Well."))
    person = ScriptedChoices("Allow")
    async with halted_answer(core, model, person=person, confirm_tools=True) as task:
        await view.step_async()
        await view.step_async()
        await view.wait_for_halt()
        await view.step_async({"Tool": "look", "Argument": {"at": "c"}})
        await asyncio.to_thread(view.wait_until_halted)
        await asyncio.to_thread(view.resume)
        await task
    assert person.questions[0][0] == 'May assistant call look?\n{"at":"c"}'
    assert find_tool_result(model).content == "saw c"


async def test_a_denied_question_and_stop_end_the_turn(
    core: AgentStepperCore, view: AsyncLiveView
) -> None:
    async with halted_answer(core, FakeProvider()) as task:
        await view.deny_async("No.")
        with pytest.raises(ToolDeniedError, match=r"No\."):
            await task
    async with halted_answer(core, FakeProvider(make_text_answer("Fine."))) as task:
        await view.wait_for_halt()
        await view.step_async()
        await view.wait_for_halt()
        await view.step_async([1])
        with pytest.raises(ModelError, match="edited answer can't be used"):
            await task


async def test_stop_ends_the_turn(core: AgentStepperCore, view: AsyncLiveView) -> None:
    with pytest.raises(AgentStopped):
        async with halted_answer(core, FakeProvider()) as task:
            await view.wait_for_halt()
            await asyncio.to_thread(view.stop)
            await task
