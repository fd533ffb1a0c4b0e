"""Functions as agents."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import aclosing
from functools import partial
from typing import Any, Final

import pytest

from agentstepper_nb import AgentStepper, AgentStepperCore, AsyncAgentStepper
from agentstepper_nb.chat import outputs
from agentstepper_nb.chat.answer_adapter import iterate_answer
from agentstepper_nb.chat.connector import Handoff, Turn
from agentstepper_nb.chat.connectors.function_agent import FunctionAgent
from agentstepper_nb.protocol.chat import AgentOutput, Message
from agentstepper_nb.protocol.data_model import EventKind, EventSide
from agentstepper_nb.sdk import set_current_stepper
from tests.chat.chats import make_turn, make_user_message, record_answer
from tests.coding.debugged_agent import AsyncLiveView

TIMEOUT_S = 30
BEFORE = make_user_message("Before.", id="b")


def plain(message: str) -> str:
    return f"You said: {message}"


def generator(message: str) -> Iterator[str]:
    yield "You said: "
    yield message


async def coroutine(message: str) -> str:
    await asyncio.sleep(0)
    return f"You said: {message}"


async def async_generator(message: str) -> AsyncIterator[str]:
    yield "You said: "
    await asyncio.sleep(0)
    yield message


class CallableObject:
    """An object that is called like a function."""

    def __call__(self, message: str) -> str:
        return f"You said: {message}"

    async def method(self, message: str) -> str:
        return f"You said: {message}"


ALL: list[Callable[..., Any]] = [
    plain,
    generator,
    coroutine,
    async_generator,
    CallableObject(),
    CallableObject().method,
    partial(coroutine),
    lambda message: coroutine(message),
    lambda message: generator(message),
    lambda message: async_generator(message),
    lambda message: ["You said: ", message],
    "You said: {}".format,
]


@pytest.mark.parametrize("function", ALL, ids=range(len(ALL)))
async def test_inv_connector_001_any_function_answers(function: Callable[..., Any]) -> None:
    """Whatever a function is, `FunctionAgent` makes it an agent of the interface."""
    got = await record_answer(FunctionAgent(function), "Hello.")
    assert "".join(got) == "You said: Hello."


def of_turn(message: str, turn: Turn) -> list[Any]:
    return [message, turn.session_id]


def of_annotated(beside: Turn, whole: Message | None) -> list[Any]:
    assert whole is not None
    return [whole.id, beside.session_id]


def of_history(message: str, history: tuple[Message, ...]) -> list[Any]:
    return [message, *(each.content for each in history)]


def of_names(question: str, turn_: Any, /, factor: int = 2, *, turn: Any, **rest: Any) -> Any:
    assert turn is turn_
    return [question * factor, *rest]


def of_default(message: str, temperature: float = 0.5) -> list[Any]:
    return [message, str(temperature)]


def of_any(*given: str) -> list[Any]:
    return list(given)


def of_nothing() -> str:
    return "alone"


def of_unknown_types(message: Nowhere, other: Turn) -> list[Any]:  # type: ignore[name-defined]  # noqa: F821
    return [message, other.session_id]


GIVEN: Final[dict[Callable[..., Any], list[str]]] = {
    of_turn: ["Hi", "s"],
    of_annotated: ["q", "s"],
    of_history: ["Hi", "Before."],
    of_names: ["HiHi"],
    of_default: ["Hi", "0.5"],
    of_any: ["Hi"],
    of_nothing: ["alone"],
    of_unknown_types: ["Hi", "s"],
}


@pytest.mark.parametrize("function", GIVEN, ids=lambda function: function.__name__)
async def test_what_a_function_is_given(function: Callable[..., Any]) -> None:
    assert await record_answer(FunctionAgent(function), "Hi", make_turn(BEFORE)) == GIVEN[function]


def test_a_parameter_that_nothing_is_known_for_is_refused() -> None:
    def asking(message: str, turn: Turn, model: str) -> str:
        return model

    with pytest.raises(ValueError, match=r"asking .* its parameter model"):
        FunctionAgent(asking)


def test_what_it_is_called() -> None:
    def helper(message: str) -> str:
        """Helps.

        A lot.
        """
        return message

    agent = FunctionAgent(helper)
    assert (agent.name, agent.description, agent.role) == ("helper", "Helps.", "AGENT_EXECUTOR")
    assert FunctionAgent(partial(helper)).name == "helper"
    assert FunctionAgent(CallableObject()).name == "CallableObject"
    assert FunctionAgent(lambda message: message).name == "function"
    named = FunctionAgent(helper, name="h", role="THOUGHT", continuation_prompt=None)
    assert (named.name, named.role, named.continuation_prompt) == ("h", "THOUGHT", None)


async def test_what_a_function_may_give() -> None:
    given = ["text", outputs.code("1", "python"), {"role": "assistant", "content": "x"}]
    assert await record_answer(FunctionAgent(lambda message: given)) == given
    assert await record_answer(FunctionAgent(lambda message: {"content": "x"})) == [
        {"content": "x"}
    ]
    assert await record_answer(FunctionAgent(lambda message: None)) == []
    hand_on = Handoff("other")
    assert await record_answer(FunctionAgent(lambda message: hand_on)) == [hand_on]


async def test_a_yielded_confirmation_gives_the_choice() -> None:
    def asking(message: str) -> Generator[str | AgentOutput, str, None]:
        choice = yield outputs.confirmation("Sure?")
        yield f"You chose {choice}."

    async def aasking(message: str) -> Any:
        choice = yield outputs.confirmation("Sure?")
        yield f"You chose {choice}."

    for function in (asking, aasking):
        _, text = await record_answer(FunctionAgent(function), choice="No")
        assert text == "You chose No."


async def test_sync_code_runs_on_a_thread_in_the_turns_context() -> None:
    known = contextvars.ContextVar("known", default="")
    known.set("the turn's")

    def where(message: str) -> Iterator[Any]:
        thread = threading.current_thread()
        assert thread is not threading.main_thread()
        yield known.get()
        known.set("its own")
        yield known.get()
        assert threading.current_thread() is thread

    assert await record_answer(FunctionAgent(where)) == ["the turn's", "its own"]
    assert await record_answer(FunctionAgent(lambda message: known.get())) == ["the turn's"]
    assert known.get() == "the turn's"


@pytest.mark.parametrize(
    ("error", "raised", "text"),
    [
        (ValueError("broken"), ValueError, "broken"),
        (SystemExit(2), RuntimeError, r"end the process: SystemExit\(2\)"),
        (StopIteration(), RuntimeError, "StopIteration"),
        (asyncio.CancelledError(), asyncio.CancelledError, "^$"),
    ],
)
async def test_what_a_function_raises(
    error: BaseException, raised: type[BaseException], text: str
) -> None:
    def fails(message: str) -> str:
        raise error

    def fails_late(message: str) -> Iterator[str]:
        yield "one"
        raise error

    async def afails(message: str) -> str:
        raise error

    async def afails_late(message: str) -> AsyncIterator[str]:
        yield "one"
        raise error

    for function in (fails, fails_late, afails, afails_late):
        with pytest.raises(raised, match=text):
            await record_answer(FunctionAgent(function))


async def test_a_function_that_blocks_runs_out_and_nobody_hears_it() -> None:
    within, leave, out = threading.Event(), threading.Event(), threading.Event()

    def blocking(message: str) -> str:
        within.set()
        leave.wait(TIMEOUT_S)
        out.set()
        return "Too late."

    task = asyncio.create_task(record_answer(FunctionAgent(blocking)))
    await asyncio.to_thread(within.wait, TIMEOUT_S)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not out.is_set()
    leave.set()
    assert await asyncio.to_thread(out.wait, TIMEOUT_S)


async def test_a_generator_is_closed_at_its_next_yield() -> None:
    within, leave, closed = threading.Event(), threading.Event(), threading.Event()

    def blocking(message: str) -> Iterator[str]:
        try:
            within.set()
            leave.wait(TIMEOUT_S)
            yield "Too late."
            raise AssertionError("it goes on")
        finally:
            closed.set()

    task = asyncio.create_task(record_answer(FunctionAgent(blocking)))
    await asyncio.to_thread(within.wait, TIMEOUT_S)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    leave.set()
    assert await asyncio.to_thread(closed.wait, TIMEOUT_S)


@pytest.mark.parametrize("function", [generator, async_generator])
async def test_an_answer_that_is_broken_off_is_closed(function: Callable[..., Any]) -> None:
    ended: list[str] = []

    def watched(message: str) -> Iterator[str]:
        try:
            yield from generator(message)
        finally:
            ended.append("sync")

    async def awatched(message: str) -> AsyncIterator[str]:
        try:
            async for item in async_generator(message):
                yield item
        finally:
            ended.append("async")

    agent = FunctionAgent(watched if function is generator else awatched)
    async with aclosing(
        iterate_answer(lambda: agent.chat(make_user_message(), make_turn()))
    ) as answer:
        assert await anext(answer) == "You said: "
    assert len(ended) == 1


async def test_an_answer_that_nobody_begins_runs_nothing() -> None:
    for function in ALL:
        answer: Any = FunctionAgent(function).chat(make_user_message(), make_turn())
        await answer.aclose()


def debugged_plain(message: str) -> str:
    with AgentStepper("mine") as dbg, dbg.tool("inner", {"n": 1}) as tool:
        tool.result = tool.args
    return dbg.run_id


def debugged_generator(message: str) -> Iterator[str]:
    with AgentStepper("mine") as dbg:
        yield dbg.run_id
        with dbg.tool("outer", {}) as outer:
            yield ""
            with dbg.tool("inner", {}) as inner:
                inner.result = 1
            outer.result = 2


async def debugged_async_generator(message: str) -> AsyncIterator[str]:
    async with AsyncAgentStepper("mine") as dbg:
        yield dbg.run_id
        async with dbg.tool("outer", {}) as outer:
            yield ""
            async with dbg.tool("inner", {}) as inner:
                inner.result = 1
            outer.result = 2


ALONE = [(0, "function"), (1, "inner")]
NESTED = [(0, "function"), (1, "outer"), (2, "inner")]


def tools(view: AsyncLiveView) -> list[tuple[int, str]]:
    """The tools that were called: how deep each stands, and its name."""
    begun = [row for row in view.list_rows() if row.side is EventSide.BEGIN and row.outcome is None]
    calls = [row for row in begun if row.kind is EventKind.TOOL_INVOCATION]
    return [(row.depth, view.get_data(row)["Tool"]) for row in calls]


@pytest.mark.parametrize(
    ("function", "shown"),
    [(debugged_plain, ALONE), (debugged_generator, NESTED), (debugged_async_generator, NESTED)],
)
async def test_its_own_agentstepper_is_the_sessions_run(
    function: Callable[..., Any], shown: list[tuple[int, str]]
) -> None:
    with (
        AgentStepperCore("127.0.0.1", client_port=0, ui_port=0) as core,
        AsyncLiveView(core.ui_port) as view,
    ):
        dbg = AsyncAgentStepper(
            "chat", "127.0.0.1", core.client_port, stop_on_entry=False, mode="continue"
        )
        async with dbg:
            async with dbg.tool("function", {}) as turn:
                with set_current_stepper(dbg):
                    got = await record_answer(FunctionAgent(function))
                turn.result = got
        assert "".join(got) == dbg.run_id
        await asyncio.to_thread(view.wait_until_ended)
        assert await asyncio.to_thread(tools, view) == shown
