"""A real model on this machine: `make test-local-llm`.

What it says is its own affair. Shown here is what holds whatever it says: answers fit the schema, events
come in order, the same question gets the same answer, and a person can stop it, edit and go on.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from agentstepper_nb import AgentStepperCore, AsyncAgentStepper
from agentstepper_nb.coding.orchestrator import TurnResult
from agentstepper_nb.coding.tools.file_edits import WriteFile
from agentstepper_nb.errors import ModelError
from agentstepper_nb.llm_wire.conversation import (
    AssistantMessage,
    ModelRequest,
    ToolResultMessage,
    ToolSpec,
    UserMessage,
)
from agentstepper_nb.llm_wire.events import (
    AgentEvent,
    ResponseCompleted,
    TextDelta,
    ToolCallArgsDelta,
    ToolCallReady,
    ToolCallStarted,
)
from agentstepper_nb.models.local import LocalProvider
from agentstepper_nb.models.local.model_process import find_local_model
from agentstepper_nb.protocol.data_model import EventKind, EventSide
from examples.local_workflow import SYSTEM, work, worked_examples
from tests.sdk.person import LiveView
from tests.sdk.scripted_core import TIMEOUT_S

pytestmark = pytest.mark.local_llm

WRITE = ToolSpec(
    name="write_file", description="Write a file.", input_schema=WriteFile().input_schema
)
LOOK = ToolSpec(
    name="look_at",
    description="Look at lines of a file.",
    input_schema={
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "lines": {"type": "array", "items": {"$ref": "#/$defs/Line"}},
            "how": {"enum": ["quickly", "closely"]},
        },
        "required": ["path", "lines", "how"],
        "$defs": {"Line": {"type": "integer", "minimum": 1, "maximum": 99}},
    },
)
TOOLS = {tool.name: tool for tool in (WRITE, LOOK)}
TASKS = ("Create hello.py which prints hello.", "Create ü/sum.py which prints 3.", 'Say "{}".')


@pytest.fixture(scope="module", autouse=True)
def a_model() -> None:
    try:
        find_local_model()
    except ModelError as error:
        pytest.skip(str(error))


def request(task: str, **more: Any) -> ModelRequest:
    messages = (*worked_examples(), UserMessage(content=task))
    asked = {"model": "local", "messages": messages, "tools": (WRITE,), "system": SYSTEM}
    return ModelRequest(**(asked | {"max_tokens": 200} | more))


@asynccontextmanager
async def a_provider() -> AsyncIterator[LocalProvider]:
    provider = LocalProvider()
    try:
        yield provider
    finally:
        await provider.close()


async def list_events(provider: LocalProvider, asked: ModelRequest) -> list[AgentEvent]:
    return [event async for event in provider.stream(asked)]


def query_local(*asked: ModelRequest) -> list[list[AgentEvent]]:
    async def ask() -> list[list[AgentEvent]]:
        async with a_provider() as provider:
            return [await list_events(provider, one) for one in asked]

    return asyncio.run(ask())


def checked(events: list[AgentEvent]) -> tuple[str, Any]:
    """The answer's kind and content; its events are in order, and a call fits its tool."""
    *parts, end = events
    assert isinstance(end, ResponseCompleted)
    assert end.usage is not None and end.usage.input_tokens and end.usage.output_tokens
    if isinstance(parts[0], TextDelta):
        assert all(isinstance(part, TextDelta) for part in parts)
        assert end.reason in ("stop", "length")
        return "text", "".join(part.text for part in parts if isinstance(part, TextDelta))
    started, *fragments, ready = parts
    assert isinstance(started, ToolCallStarted) and isinstance(ready, ToolCallReady)
    assert (started.call_id, started.name) == (ready.call_id, ready.name)
    assert len(fragments) > 1
    written = [part.fragment for part in fragments if isinstance(part, ToolCallArgsDelta)]
    assert len(written) == len(fragments) and "".join(written) == ready.args_json
    assert end.reason == "tool_calls"
    arguments = json.loads(ready.args_json)
    jsonschema.validate(arguments, TOOLS[ready.name].input_schema)
    return ready.name, arguments


def test_a_named_tool_is_called_as_its_schema_says() -> None:
    for events in query_local(*(request(task, tool_choice="write_file") for task in TASKS)):
        name, arguments = checked(events)
        assert name == "write_file" and set(arguments) == {"path", "content"}


def test_a_schema_with_lists_choices_and_references_is_kept_to() -> None:
    asked = [request(task, tools=(WRITE, LOOK), tool_choice="look_at") for task in TASKS]
    assert [checked(events)[0] for events in query_local(*asked)] == ["look_at"] * len(TASKS)


def test_some_tool_is_called_where_one_has_to_be() -> None:
    asked = [request(task, tools=(LOOK, WRITE), tool_choice="required") for task in TASKS]
    assert {checked(events)[0] for events in query_local(*asked)} <= set(TOOLS)


def test_left_free_it_calls_a_tool_or_speaks() -> None:
    asked = [request(task, tools=(LOOK, WRITE)) for task in TASKS]
    assert {checked(events)[0] for events in query_local(*asked)} <= {*TOOLS, "text"}


def test_without_tools_it_speaks() -> None:
    asked = ModelRequest(
        model="local", messages=(UserMessage(content="Count to three."),), max_tokens=20
    )
    ((kind, said),) = [checked(events) for events in query_local(asked)]
    assert kind == "text" and said.strip()


def test_the_same_question_gets_the_same_answer() -> None:
    """Whatever was asked before, and in another process."""
    first, second = (request(task, tool_choice="write_file") for task in TASKS[:2])
    here = query_local(first, second, first)
    assert here[0] == here[2]
    assert query_local(second, first) == [here[1], here[0]]


def test_who_gives_up_in_the_middle_gets_the_next_answer() -> None:
    async def ask() -> list[AgentEvent]:
        async with a_provider() as provider:
            async with aclosing(provider.stream(request(TASKS[0], tools=()))) as events:
                assert isinstance(await anext(events), TextDelta)
            return await list_events(provider, request(TASKS[0], tool_choice="write_file"))

    assert checked(asyncio.run(ask()))[0] == "write_file"


# ---- the workflow: the program chooses, the model fills in, a tool writes --------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


def test_the_workflow_writes_a_file(folder: Path) -> None:
    result = asyncio.run(work(TASKS[0], folder))
    assert (result.reason, result.iterations) == ("done", 2)
    *_, called, told_back, end = result.messages
    assert isinstance(called, AssistantMessage) and isinstance(told_back, ToolResultMessage)
    assert told_back.ok and end == AssistantMessage(content="Done.")
    (call,) = called.tool_calls
    arguments = json.loads(call.args_json)
    assert (folder / arguments["path"]).read_text() == arguments["content"]


Debugging = Callable[[str], "Future[TurnResult]"]


@pytest.fixture
def core() -> Iterator[AgentStepperCore]:
    with AgentStepperCore("127.0.0.1", client_port=0, ui_port=0) as core:
        yield core


@pytest.fixture
def person(core: AgentStepperCore) -> Iterator[LiveView]:
    with LiveView(core.ui_port) as person:
        yield person


@pytest.fixture
def debugging(core: AgentStepperCore, folder: Path) -> Iterator[Debugging]:
    async def debug(task: str) -> TurnResult:
        dbg = AsyncAgentStepper("local", "127.0.0.1", core.client_port)
        async with dbg:
            return await work(task, folder, dbg)

    with ThreadPoolExecutor(1) as pool:
        yield lambda task: pool.submit(asyncio.run, debug(task))


def test_a_person_steps_edits_and_lets_it_go_on(
    debugging: Debugging, person: LiveView, folder: Path
) -> None:
    working = debugging(TASKS[0])
    person.step()  # the start
    asked = person.get_data(at(person))
    assert asked["messages"][-1]["content"] == TASKS[0]
    asked["messages"][-1]["content"] = "Create bye.py which prints bye."
    person.step(asked)
    answer = at(person)
    assert (answer.kind, answer.side) == (EventKind.LLM_QUERY, EventSide.END)
    person.step()
    tool = at(person)
    assert (tool.kind, tool.side, tool.name) == (
        EventKind.TOOL_INVOCATION,
        EventSide.BEGIN,
        "write_file",
    )
    assert not list(folder.iterdir())  # it waits
    person.step({"Tool": "write_file", "Argument": {"path": "mine.py", "content": "print(1)\n"}})
    person.wait_until_halted()
    assert (folder / "mine.py").read_text() == "print(1)\n"
    person.resume()
    result = working.result(TIMEOUT_S)
    assert result.reason == "done"
    assert UserMessage(content="Create bye.py which prints bye.") in result.messages
    assert [file.name for file in folder.iterdir()] == ["mine.py"]


def test_a_run_that_is_replayed_is_the_same(
    debugging: Debugging, person: LiveView, folder: Path
) -> None:
    seen = []
    for _ in range(2):
        working = debugging(TASKS[0])
        person.wait_until(lambda run: run.live)
        person.wait_until_halted()
        person.resume()
        working.result(TIMEOUT_S)
        person.wait_until_ended()
        seen.append(
            [(row.kind, row.side, person.get_data(row)) for row in person.list_rows()[1:-1]]
        )
        for file in folder.iterdir():
            file.unlink()
    assert seen[0] == seen[1]
    kinds = [(kind, side) for kind, side, _ in seen[0]]
    assert kinds == [
        *((EventKind.LLM_QUERY, EventSide.BEGIN), (EventKind.LLM_QUERY, EventSide.END)),
        *((EventKind.TOOL_INVOCATION, EventSide.BEGIN), (EventKind.TOOL_INVOCATION, EventSide.END)),
        *((EventKind.LLM_QUERY, EventSide.BEGIN), (EventKind.LLM_QUERY, EventSide.END)),
    ]


def at(person: LiveView) -> Any:
    """The row that the run halts at."""
    halted = person.wait_until_halted()
    return next(row for row in person.list_rows() if row.id == halted)
