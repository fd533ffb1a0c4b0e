"""Plain functions that hand-written loops offer to a model as tools."""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor as Pool
from threading import Thread
from typing import Any

import pytest
from openai import AsyncOpenAI, OpenAI

from agentstepper_nb import AgentStepper, AgentStepperCore, instrument
from agentstepper_nb.instrument import options
from agentstepper_nb.instrument.discovery import discover_tools, restore_functions
from agentstepper_nb.llm_wire.tool_names import find_called_tools, find_offered_tools
from agentstepper_nb.models.scripted import ScriptedServer
from agentstepper_nb.protocol.data_model import EventKind, TimelineRow
from tests.frameworks.agent_process import SCRIPT
from tests.sdk.person import LiveView
from tests.sdk.scripted_core import TIMEOUT_S


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(SCRIPT) as server:
        yield server


@pytest.fixture
def stepper(live: AgentStepperCore) -> Iterator[AgentStepper]:
    instrument.enable(discovers_tools=True)
    with AgentStepper("loop", "127.0.0.1", live.client_port, stop_on_entry=False) as stepper:
        yield stepper
    instrument.disable()


def tool_spec(name: str, *parameters: str) -> dict[str, Any]:
    properties = {each: {"type": "integer"} for each in parameters}
    schema = {"type": "object", "properties": properties}
    return {"type": "function", "function": {"name": name, "parameters": schema}}


TOOLS: Any = [tool_spec("add", "a", "b"), tool_spec("search", "text")]


# ---- agents, as their authors would write them -------------------------------------------------------


def query_model(client: OpenAI, messages: list[Any]) -> Any:
    return client.chat.completions.create(model="m", messages=messages, tools=TOOLS)


def loop(server: ScriptedServer, text: str, tools: dict[str, Callable[..., Any]]) -> str:
    messages: list[Any] = [{"role": "user", "content": text}]
    with OpenAI(base_url=server.base_url, api_key="any") as client:
        while True:
            message = query_model(client, messages).choices[0].message
            messages.append(message)
            if not message.tool_calls:
                return str(message.content)
            for call in message.tool_calls:
                arguments = json.loads(call.function.arguments)
                result = tools[call.function.name](**arguments)
                messages.append({"role": "tool", "tool_call_id": call.id, "content": str(result)})


def make_tools(offset: int = 0) -> dict[str, Callable[..., Any]]:
    def add(a: int, b: int = 0) -> int:
        """Add."""
        return a + b + offset

    def search(text: str) -> str:
        return f"found {text}"

    return {"add": add, "search": search}


def make_tools_of_args(args: int, kwargs: int) -> dict[str, Callable[..., Any]]:
    """A tool that closes over what programs often call the options of their command."""

    def add(a: int, b: int) -> int:
        return a + b + args + kwargs

    return {"add": add}


def make_lambda(offset: int) -> Callable[..., Any]:
    made = lambda a, b: a + b + offset  # noqa: E731
    made.__name__ = "add"
    return made


class Toolbox:
    def __init__(self, offset: int) -> None:
        self.offset = offset

    def add(self, a: int, b: int) -> int:
        return a + b + self.offset


async def loop_async(server: ScriptedServer, text: str) -> str:
    async def add(a: int, b: int) -> int:
        await asyncio.sleep(0)
        return a + b

    async with AsyncOpenAI(base_url=server.base_url, api_key="any") as client:
        messages: list[Any] = [{"role": "user", "content": text}]
        while True:
            answer = await client.chat.completions.create(model="m", messages=messages, tools=TOOLS)
            message = answer.choices[0].message
            messages.append(message)
            if not message.tool_calls:
                return str(message.content)
            for call in message.tool_calls:
                result = await add(**json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": str(result)})


def loop_in_threads(server: ScriptedServer, text: str) -> str:
    tools = make_tools()
    with OpenAI(base_url=server.base_url, api_key="any") as client, Pool(2) as pool:
        messages: list[Any] = [{"role": "user", "content": text}]
        while True:
            message = query_model(client, messages).choices[0].message
            messages.append(message)
            if not message.tool_calls:
                return str(message.content)

            def run(call: Any) -> str:
                return str(tools[call.function.name](**json.loads(call.function.arguments)))

            results = pool.map(run, message.tool_calls)
            for call, result in zip(message.tool_calls, results, strict=True):
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


# ---- the person --------------------------------------------------------------------------------------


def edit_at(person: LiveView, kind: EventKind, change: Callable[[Any], Any]) -> None:
    pending = person.wait_until_halted()
    row = next(row for row in person.list_rows() if row.id == pending)
    assert row.kind is kind
    person.step(change(person.get_data(row)))


def step_through(person: LiveView, halts: int) -> None:
    for _ in range(halts):
        person.step()


def list_tools(person: LiveView) -> list[TimelineRow]:
    return [row for row in person.list_rows() if row.kind is EventKind.TOOL_INVOCATION]


CALLABLE_KINDS: dict[str, Callable[[ScriptedServer], str]] = {
    "closure": lambda server: loop(server, "add", make_tools(100)),
    "closure_of_args": lambda server: loop(server, "add", make_tools_of_args(60, 40)),
    "lambda": lambda server: loop(server, "add", {"add": make_lambda(100)}),
    "method": lambda server: loop(server, "add", {"add": Toolbox(100).add}),
    "partial": lambda server: loop(
        server, "add", {"add": functools.partial(make_tools(100)["add"])}
    ),
}


@pytest.mark.parametrize("callable_kind", CALLABLE_KINDS)
def test_a_call_can_be_edited_both_ways(
    callable_kind: str, stepper: AgentStepper, server: ScriptedServer, person: LiveView, pool: Pool
) -> None:
    asking = pool.submit(CALLABLE_KINDS[callable_kind], server)
    step_through(person, 2)
    tool = EventKind.TOOL_INVOCATION
    edit_at(person, tool, lambda call: {**call, "Argument": {"a": 2, "b": 30}})
    edit_at(person, tool, lambda value: value + 1000)
    step_through(person, 2)
    assert asking.result(TIMEOUT_S) == "The tools say: 1132"
    assert any("; also halting at: add" in row.summary for row in person.list_rows())


def test_an_async_function_halts(
    stepper: AgentStepper, server: ScriptedServer, person: LiveView, pool: Pool
) -> None:
    asking = pool.submit(lambda: asyncio.run(loop_async(server, "add")))
    step_through(person, 2)
    edit_at(person, EventKind.TOOL_INVOCATION, lambda call: {**call, "Argument": {"a": 2, "b": 30}})
    step_through(person, 3)
    assert asking.result(TIMEOUT_S) == "The tools say: 32"


def test_parallel_calls_in_threads_halt_each(
    stepper: AgentStepper, server: ScriptedServer, person: LiveView, pool: Pool
) -> None:
    asking = pool.submit(loop_in_threads, server, "both")
    step_through(person, 2 + 4 + 2)
    assert asking.result(TIMEOUT_S) == "The tools say: 5, found boats"
    assert sorted(str(row.name) for row in list_tools(person)) == ["add", "add", "search", "search"]


def test_a_denied_call_is_a_result_that_the_model_reads(
    stepper: AgentStepper, server: ScriptedServer, person: LiveView, pool: Pool
) -> None:
    asking = pool.submit(loop, server, "add", make_tools())
    step_through(person, 2)
    person.wait_until_halted()
    person.deny("Too dear.")
    step_through(person, 2)
    assert asking.result(TIMEOUT_S) == "The tools say: Too dear."


def test_arguments_that_the_function_does_not_take_are_refused(
    stepper: AgentStepper, server: ScriptedServer, person: LiveView, pool: Pool
) -> None:
    asking = pool.submit(loop, server, "add", make_tools())
    step_through(person, 2)
    person.wait_until_halted()
    with pytest.raises(AssertionError, match="add doesn't take these arguments"):
        person.step({"Tool": "add", "Argument": {"c": 1}})
    person.resume()
    assert asking.result(TIMEOUT_S) == "The tools say: 5"


def test_a_call_that_the_model_did_not_ask_for_is_none(
    stepper: AgentStepper, server: ScriptedServer, person: LiveView, pool: Pool
) -> None:
    tools = make_tools()

    def agent() -> int:
        loop(server, "hello", tools)
        result: int = tools["add"](1, 2)
        return result

    asking = pool.submit(agent)
    step_through(person, 2)
    assert asking.result(TIMEOUT_S) == 3
    assert list_tools(person) == []


def test_the_end_of_the_run_puts_the_functions_back(
    live: AgentStepperCore, server: ScriptedServer, person: LiveView, pool: Pool
) -> None:
    tools = make_tools()
    add: Any = tools["add"]
    code, defaults, signature = add.__code__, add.__defaults__, inspect.signature(add)
    instrument.enable(discovers_tools=True)
    with AgentStepper("loop", "127.0.0.1", live.client_port, stop_on_entry=False) as stepper:
        asking = pool.submit(loop, server, "hello", tools)
        person.step()
        assert add.__code__ is not code
        assert inspect.signature(add) == signature
        assert add(1, b=2) == 3
        person.step()
        asking.result(TIMEOUT_S)
    stepper._current_session().link.closed.result(TIMEOUT_S)
    assert (add.__code__, add.__defaults__) == (code, defaults)
    instrument.disable()


class SignatureBeside:
    """What a decorated function wraps; as its signature is asked for, another thread works, too."""

    def __init__(self, work: Callable[[], object]) -> None:
        self.work = work
        self.thread: Thread | None = None

    def __call__(self) -> None: ...

    @property
    def __signature__(self) -> inspect.Signature:
        if self.thread is None:
            self.thread = Thread(target=self.work)
            self.thread.start()
            self.thread.join(0.1)  # it waits until this thread is through
        return inspect.Signature()


def test_two_threads_that_find_a_function_replace_it_once(stepper: AgentStepper) -> None:
    add: Any = make_tools()["add"]
    code = add.__code__
    found: list[str] = []

    def discover() -> None:
        assert add
        found.extend(discover_tools(stepper, {"tools": TOOLS}))

    add.__wrapped__ = beside = SignatureBeside(discover)
    discover()
    assert beside.thread
    beside.thread.join(TIMEOUT_S)
    assert found == ["add"]
    assert add.__code__ is not code
    restore_functions()
    assert add.__code__ is code


def test_nothing_is_replaced_unless_asked_for(
    dbg: AgentStepper, server: ScriptedServer, person: LiveView, pool: Pool
) -> None:
    tools = make_tools()
    code = tools["add"].__code__
    asking = pool.submit(loop, server, "add", tools)
    step_through(person, 2)
    step_through(person, 1)  # the result, which is inferred from the wire
    step_through(person, 2)
    assert asking.result(TIMEOUT_S) == "The tools say: 5"
    assert tools["add"].__code__ is code


def test_a_python_it_was_not_tried_on_leaves_it_off() -> None:
    options.set_discovery(True, python=(2, 7))
    assert not options.discovers_tools()


# ---- names on the wire -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        (
            {"tools": [{"type": "function", "function": {"name": "add"}}]},
            {"choices": [{"message": {"tool_calls": [{"function": {"name": "add"}}]}}]},
        ),
        (
            {"tools": [{"type": "function", "name": "add"}]},
            {"output": [{"type": "function_call", "name": "add"}, {"type": "message"}]},
        ),
        (
            {"tools": [{"name": "add", "input_schema": {}}]},
            {"content": [{"type": "text", "text": ""}, {"type": "tool_use", "name": "add"}]},
        ),
        (
            {"tools": [{"functionDeclarations": [{"name": "add"}]}]},
            {"candidates": [{"content": {"parts": [{"functionCall": {"name": "add"}}]}}]},
        ),
    ],
)
def test_tools_are_read_in_each_api(body: Any, answer: Any) -> None:
    assert find_offered_tools(body) == {"add"}
    assert [call.name for call in find_called_tools(answer)] == ["add"]
    assert find_offered_tools({}) == set()
    assert find_called_tools({"choices": None, "content": "text"}) == []
