from __future__ import annotations

import asyncio
import functools
import json
import types
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from msgspec import Raw

from agentstepper_nb import AgentStepper, AgentStepperCore, AsyncAgentStepper
from agentstepper_nb.protocol.answers import SkipAnswer
from agentstepper_nb.protocol.data_model import EventKind, EventOutcome
from tests.sdk.both_steppers import both, run
from tests.sdk.person import LiveView
from tests.sdk.scripted_core import (
    START,
    STEP,
    TIMEOUT_S,
    ScriptedAnswers,
    ScriptedCore,
    make_edit_answer,
)
from tests.sdk.test_live_core import started
from tests.sdk.traced_values import (
    FrameworkObject,
    answer_with_edits,
    make_opaque_mark,
    read_halt_point_data,
)

# ---- kinds of functions -----------------------------------------------------------------------------


class Agent:
    """Made while no debugger is there; decorated by hand below."""

    def __init__(self, dbg: Any) -> None:
        self.name = "an agent"

        class Tools:
            @dbg.traced_tool
            def method(self, x: int) -> Any:
                return [type(self).__name__, x]

            @classmethod
            @dbg.traced_tool
            def of_class(cls, x: int) -> Any:
                return [cls.__name__, x]

            @staticmethod
            @dbg.traced_tool(name="renamed")
            def static(x: int) -> Any:
                return x

        self.tools = Tools()


def test_methods(dbg: AgentStepper, core: ScriptedCore) -> None:
    tools = Agent(dbg).tools
    assert tools.method(1) == ["Tools", 1]
    assert tools.of_class(2) == ["Tools", 2]
    assert tools.static(3) == 3
    dbg.close()
    assert [d for d in read_halt_point_data(core.wait_for_peer()) if isinstance(d, dict)] == [
        {"Tool": "method", "Argument": {"x": 1}},
        {"Tool": "of_class", "Argument": {"x": 2}},
        {"Tool": "renamed", "Argument": {"x": 3}},
    ]


@both
def test_async_functions(stepper_kind: str, core: ScriptedCore) -> None:
    async def scenario(dbg: Any) -> Any:
        @dbg.traced_llm
        async def ask(prompt: str, model: str) -> str:
            await asyncio.sleep(0)
            return prompt.upper()

        assert asyncio.iscoroutinefunction(ask)
        return await asyncio.gather(*(ask(f"p{n}", model="gpt") for n in range(5)))

    assert run(stepper_kind, core, scenario) == ["P0", "P1", "P2", "P3", "P4"]
    peer = core.wait_for_peer()
    peer.wait_until_gone()
    events = peer.events[1:]
    assert [(e.kind, e.name, e.parent) for e in events] == [(EventKind.LLM_QUERY, "gpt", None)] * 5


@both
def test_an_async_function_behind_a_plain_wrapper(stepper_kind: str, core: ScriptedCore) -> None:
    """As the openai SDK's methods are."""

    def required_args(function: Any) -> Any:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return wrapper

    async def scenario(dbg: Any) -> Any:
        @dbg.traced_llm
        @required_args
        async def ask(prompt: str) -> str:
            return prompt + "!"

        return await ask("p")

    answer_with_edits(core, None, '{"prompt":"q"}')
    assert run(stepper_kind, core, scenario) == "q!"


def test_a_plain_function_that_runs_an_async_one(dbg: AgentStepper) -> None:
    async def work(x: int) -> int:
        return x + 1

    @functools.wraps(work)
    def sync(x: int) -> int:
        return asyncio.run(work(x))

    assert dbg.traced_tool(sync)(1) == 2


def test_generators(dbg: AgentStepper, core: ScriptedCore) -> None:
    thing = FrameworkObject()

    @dbg.traced_llm
    def stream(n: int) -> Any:
        yield from range(n)
        yield thing
        return "the end"

    def consume(items: Any) -> Any:
        collected = []
        while True:
            try:
                collected.append(next(items))
            except StopIteration as end:
                return collected, end.value

    items, end = consume(stream(2))
    assert items == [0, 1, thing]
    assert end == "the end"
    core.policy = ScriptedAnswers(
        make_edit_answer('{"n":1}'),
        make_edit_answer(json.dumps(["a", make_opaque_mark("<a thing>", 1)])),
    )
    assert list(stream(5)) == ["a", thing]
    core.policy = ScriptedAnswers(STEP, make_edit_answer('"no list"'))
    assert list(stream(1)) == [0, thing], "it is refused, and the items go on unedited"


def test_a_generator_that_fails_gives_what_it_had(dbg: AgentStepper, core: ScriptedCore) -> None:
    @dbg.traced_tool
    def broken() -> Iterator[int]:
        yield 1
        raise ValueError("after one")

    items = []
    with pytest.raises(ValueError, match="after one"):
        for item in broken():
            items.append(item)
    assert items == [1]
    core.policy = ScriptedAnswers(STEP, make_edit_answer("[7]"))
    assert list(broken()) == [7]


@both
def test_async_generators(stepper_kind: str, core: ScriptedCore) -> None:
    async def scenario(dbg: Any) -> Any:
        @dbg.traced_llm
        async def stream(n: int) -> AsyncIterator[int]:
            for i in range(n):
                yield i
            if n == 2:
                raise ValueError

        first = [item async for item in stream(3)]
        second = []
        with pytest.raises(ValueError):
            async for item in stream(2):
                second.append(item)
        return first, second

    answer_with_edits(core, None, None, "[9,8]")
    assert run(stepper_kind, core, scenario) == ([9, 8], [0, 1])


def test_stop_iteration_of_a_tool_stays_what_it_is(dbg: AgentStepper) -> None:
    @dbg.traced_tool
    def tool() -> Any:
        return next(iter(()))

    with pytest.raises(StopIteration):
        tool()


@both
def test_a_skipped_call_is_not_made(stepper_kind: str, core: ScriptedCore) -> None:
    async def scenario(dbg: Any) -> Any:
        @dbg.traced_tool
        async def tool() -> None:
            raise AssertionError("not to be called")

        return await tool()

    core.policy = ScriptedAnswers(START, SkipAnswer(result=Raw(b"[0]")))
    assert run(stepper_kind, core, scenario) == [0]


@both
def test_nested_calls(stepper_kind: str, core: ScriptedCore) -> None:
    async def scenario(dbg: Any) -> Any:
        @dbg.traced_llm
        async def inner() -> int:
            return 1

        @dbg.traced_tool
        async def outer() -> int:
            return sum(await asyncio.gather(inner(), inner()))

        return await outer()

    assert run(stepper_kind, core, scenario) == 2
    peer = core.wait_for_peer()
    peer.wait_until_gone()
    _, outer, *inner = peer.events
    assert [event.parent for event in inner] == [outer.id, outer.id]


def test_cancelling_a_traced_call(core: ScriptedCore) -> None:
    async def main() -> None:
        async with AsyncAgentStepper("T", "127.0.0.1", core.port) as dbg:

            @dbg.traced_tool
            async def tool() -> None:
                running.set()
                await asyncio.Event().wait()

            running = asyncio.Event()
            task = asyncio.create_task(tool())
            await running.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(main())
    peer = core.wait_for_peer()
    peer.wait_until_gone()
    last = peer.halt_points[-1]
    assert (last.outcome, last.waits) == (EventOutcome.STOPPED, False)


# ---- names ------------------------------------------------------------------------------------------


@both
def test_a_name_is_made_of_a_call_s_arguments(
    stepper_kind: str, live: AgentStepperCore, person: LiveView, pool: ThreadPoolExecutor
) -> None:
    class Http:
        async def request(self, method: str, url: str = "") -> str:
            return f"{method} {url}"

    async def scenario(dbg: Any) -> Any:
        http = Http()
        dbg.wrap(http, "request", name=lambda method, url="": f"{method.lower()} {url}".strip())

        @dbg.traced_llm(model=lambda prompt, size: f"gpt-{size}")
        async def ask(prompt: str, size: int) -> str:
            return prompt

        @dbg.traced_tool(name=lambda x: f"by {x}")
        async def by(x: int) -> int:
            return x

        return [await http.request("GET", url="a"), await ask("p", size=4), await by(1)]

    working = started(pool, stepper_kind, live, scenario)
    person.step()  # the start
    begin = person.wait_until_halted()
    call = person.get_data(person.list_rows()[-1])
    assert call == {"Tool": "get a", "Argument": {"method": "GET", "url": "a"}}
    call["Argument"]["url"] = "b"
    person.step(call)
    person.wait_until(lambda run: bool(run.pending) and run.pending[0] != begin)
    person.resume()
    assert working.result(TIMEOUT_S) == ["GET b", "p", 1]
    person.wait_until_ended()
    assert [row.name for row in person.list_rows()[1:-1:2]] == ["get a", "gpt-4", "by 1"]


@both
@pytest.mark.parametrize(
    ("made", "said"), [(1 / 3, "TypeError: The name of a call"), (None, "Key")]
)
def test_a_name_that_can_not_be_made_is_said_and_the_call_is_made(
    stepper_kind: str,
    made: Any,
    said: str,
    live: AgentStepperCore,
    person: LiveView,
    pool: ThreadPoolExecutor,
) -> None:
    def name_call(x: int) -> Any:
        return made or {}[x]

    async def scenario(dbg: Any) -> Any:
        @dbg.traced_tool(name=name_call)
        async def add(x: int) -> int:
            return x + 1

        return await add(1)

    working = started(pool, stepper_kind, live, scenario)
    person.step()
    person.wait_until_halted()
    person.resume()
    assert working.result(TIMEOUT_S) == 2
    person.wait_until_ended()
    _, told, begin, *_ = person.list_rows()
    assert f"name= were absent: name=name_call raised {said}" in person.get_data(told)
    assert begin.name == "add"


# ---- wrap -------------------------------------------------------------------------------------------


class Client:
    class chat:
        @staticmethod
        def create(model: str, messages: Any) -> Any:
            return {"model": model, "messages": messages}

    def plain(self, x: int) -> int:
        return x


def test_wrap_an_object_s_method_and_take_it_back(dbg: AgentStepper, core: ScriptedCore) -> None:
    client, other = Client(), Client()
    undo = dbg.wrap(client, "plain")
    assert (client.plain(1), other.plain(2)) == (1, 2)
    undo()
    assert client.plain(3) == 3
    assert vars(client) == {}
    dbg.close()
    assert read_halt_point_data(core.wait_for_peer()) == [
        {"Tool": "plain", "Argument": {"x": 1}},
        1,
    ]


def test_wrap_a_path_a_class_and_a_module(dbg: AgentStepper, core: ScriptedCore) -> None:
    module = types.ModuleType("module")
    module.function = lambda x: x
    undo = [
        dbg.wrap(Client, "chat.create", kind="llm"),
        dbg.wrap(Client, "plain", name="renamed"),
        dbg.wrap(module, "function", name="f"),
    ]
    answer_with_edits(core, '{"model":"b","messages":[]}')
    assert Client.chat.create("a", []) == {"model": "b", "messages": []}
    assert Client().plain(1) == 1
    assert module.function(2) == 2
    for back in undo:
        back()
    assert Client.chat.create("a", []) == {"model": "a", "messages": []}
    assert isinstance(vars(Client.chat)["create"], staticmethod)
    assert Client().plain(3) == 3
    dbg.close()
    peer = core.wait_for_peer()
    peer.wait_until_gone()
    assert [(e.kind.value, e.name) for e in peer.events[1:]] == [
        ("llm_query", "a"),
        ("tool_invocation", "renamed"),
        ("tool_invocation", "f"),
    ]


def test_wrap_says_what_it_can_t(dbg: AgentStepper) -> None:
    with pytest.raises(ValueError, match="Use 'tool' or 'llm'"):
        dbg.wrap(Client(), "plain", kind="agent")
    with pytest.raises(AttributeError):
        dbg.wrap(Client(), "nothing")


# ---- when no run is open ----------------------------------------------------------------------------


def test_after_close_a_traced_function_is_plain(core: ScriptedCore) -> None:
    with AgentStepper("T", "127.0.0.1", core.port) as dbg:

        @dbg.traced_tool
        def tool(x: int) -> int:
            return x

        tool(1)
    assert tool(2) == 2
    assert len(read_halt_point_data(core.wait_for_peer())) == 2


def test_before_connecting_it_says_so(core: ScriptedCore) -> None:
    dbg = AsyncAgentStepper("T", "127.0.0.1", core.port)

    @dbg.traced_tool
    async def tool() -> None: ...

    with pytest.raises(RuntimeError, match="isn't connected"):
        asyncio.run(tool())
