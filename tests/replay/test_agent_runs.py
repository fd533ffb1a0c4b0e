"""A hand-written agent of openai's client, attached to without a line, run again on its recording."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openai
import pytest

from agentstepper_nb import (
    AgentStepper,
    CommandError,
    Divergence,
    fork_run,
    instrument,
    list_runs,
    load_run,
    replay_run,
)
from agentstepper_nb.history import StoredRun
from agentstepper_nb.models.scripted import (
    Script,
    ScriptedCall,
    ScriptedServer,
    ScriptRule,
    say,
    says,
    turn,
)
from agentstepper_nb.protocol.replay_marks import ReplayRole
from agentstepper_nb.protocol.start_methods import ForkOrigin, FunctionStart
from agentstepper_nb.replay import load_recording
from agentstepper_nb.sdk import set_current_stepper

TOOLS: Any = [{"type": "function", "function": {"name": "count", "parameters": {}}}]

SCRIPT = Script(
    "counter",
    [
        ScriptRule(turn(0), say("Let me count.", ScriptedCall("count", {"word": "lorem"}))),
        ScriptRule(turn(1) & says("tool", "^3$"), say("There are three.")),
        ScriptRule(turn(1), say("There are others.")),
    ],
)


class Agent:
    """It asks a model that calls a tool, which counts its calls."""

    def __init__(self, url: str) -> None:
        self.client = openai.OpenAI(base_url=url, api_key="any")
        self.counted = 0

    def count(self, word: str) -> int:
        self.counted += 1
        return 3

    def run(self, question: str) -> str | None:
        messages: Any = [{"role": "user", "content": question}]
        while True:
            completion = self.client.chat.completions.create(
                model="m", messages=messages, tools=TOOLS
            )
            message = completion.choices[0].message
            messages.append(message.model_dump(exclude_none=True))
            if not message.tool_calls:
                return message.content
            for call in message.tool_calls:
                function: Any = call.function
                result = self.count(**json.loads(function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": str(result)})


@pytest.fixture
def model() -> Iterator[ScriptedServer]:
    with ScriptedServer(SCRIPT) as server:
        yield server


@pytest.fixture
def folder(runs: Path) -> Iterator[Path]:
    """The folder of a Core that keeps runs, and that this process finds."""
    instrument.enable(discovers_tools=True)
    yield runs
    instrument.disable()


@pytest.fixture
def agent(model: ScriptedServer) -> Iterator[Agent]:
    agent = Agent(model.base_url)
    yield agent
    agent.client.close()


@pytest.fixture
def recorded(folder: Path, agent: Agent) -> StoredRun:
    """A run of the agent."""
    with AgentStepper("counter", stop_on_entry=False, mode="continue") as dbg:
        assert agent.run("How many?") == "There are three."
        run = dbg.run_id
    return load_run(run, folder)


def roles(folder: Path) -> list[ReplayRole]:
    """How the events of the newest run relate to its recording."""
    points = newest(folder).history().halt_points
    return [point.replay.role for point in points if point.replay]


def newest(folder: Path) -> StoredRun:
    """The run that began last."""
    return StoredRun(list_runs(folder).index[-1], folder)


@pytest.mark.slow
def test_a_replay_asks_nobody(recorded: StoredRun, agent: Agent, model: ScriptedServer) -> None:
    asked, counted = len(model.exchanges), agent.counted
    assert replay_run(recorded, agent.run, "How many?") == "There are three."
    assert (len(model.exchanges), agent.counted) == (asked, counted)
    assert roles(recorded.folder) == [ReplayRole.SERVED] * 3
    again = newest(recorded.folder)
    assert again.start_method() == FunctionStart(module=__name__, name="Agent.run")
    assert again.forked_from == ForkOrigin(run=recorded.id)
    listed = list_runs(recorded.folder)
    assert listed.forked_from[again.id] == recorded.id
    assert listed.forked_at.isna()[again.id]
    assert newest(recorded.folder).header.usage is None


def test_another_question_diverges(recorded: StoredRun, agent: Agent) -> None:
    with pytest.raises(Divergence, match=r"differs from run .* at llm_query m") as raised:
        replay_run(recorded, agent.run, "How much?")
    assert '-      "content": "How many?"' in raised.value.diff.replace(",", "")
    assert '+      "content": "How much?"' in raised.value.diff.replace(",", "")


def test_an_agent_that_retries_whatever_fails_ends(recorded: StoredRun, agent: Agent) -> None:
    tries: list[BaseException] = []

    def stubborn(question: str) -> str | None:
        while True:
            try:
                return agent.run(question)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                tries.append(error)

    with pytest.raises(Divergence, match="at llm_query m") as raised:
        replay_run(recorded, stubborn, "How much?")
    assert tries == [raised.value]
    assert not isinstance(raised.value, KeyboardInterrupt)


def test_an_agent_that_swallows_its_divergence_diverges(recorded: StoredRun, agent: Agent) -> None:
    def swallow(question: str) -> None:
        with suppress(BaseException):
            agent.run(question)

    with pytest.raises(Divergence, match="at llm_query m"):
        replay_run(recorded, swallow, "How much?")


def test_an_agent_that_does_less_diverges(recorded: StoredRun, agent: Agent) -> None:
    def lazy(question: str) -> None:
        agent.client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": question}], tools=TOOLS
        )

    with pytest.raises(Divergence, match="ended before its recording"):
        replay_run(recorded, lazy, "How many?")


def test_what_differs_each_time_may_be_left_out(recorded: StoredRun, agent: Agent) -> None:
    recording = load_recording(recorded, volatile=["How m[a-z]+"])
    assert replay_run(recording, agent.run, "How much?") == "There are three."


def test_a_fork_goes_its_own_way_from_the_edit_on(
    recorded: StoredRun, agent: Agent, model: ScriptedServer
) -> None:
    asked, counted = len(model.exchanges), agent.counted
    (row,) = recorded.events().query("kind == 'tool_invocation' and side == 'end'").seq
    answer = fork_run(recorded, int(row), agent.run, "How many?", edit=4)
    assert answer == "There are others."
    assert (len(model.exchanges), agent.counted) == (asked + 1, counted)  # the last query alone
    served, forked, live = ReplayRole.SERVED, ReplayRole.FORKED, ReplayRole.LIVE
    assert roles(recorded.folder) == [served, served, forked, live]


def test_a_result_takes_the_place_of_a_recorded_failure(folder: Path) -> None:
    def look() -> str:
        raise OSError("gone")

    def run() -> str:
        with AgentStepper("looker") as dbg:
            try:
                return dbg.traced_tool(look)()
            except OSError as error:
                return f"failed: {error}"

    with AgentStepper("looker", stop_on_entry=False, mode="continue") as dbg:
        id, agent = dbg.run_id, dbg.traced_tool(look)
        with pytest.raises(OSError, match="gone"):
            agent()
    stored = load_run(id, folder)
    (row,) = stored.events().query("side == 'end'").seq
    assert replay_run(stored, run) == "failed: gone"
    assert fork_run(stored, int(row), run, edit="found") == "found"


def test_a_result_that_is_no_json_is_made_again(folder: Path) -> None:
    """A strict replay refuses it, with the reason; a fork calls the tool."""
    opened: list[str] = []

    def open_door(name: str) -> object:
        opened.append(name)
        return object()

    def run() -> str:
        with AgentStepper("opener") as dbg:
            found = dbg.traced_tool(open_door)("red")
            return dbg.traced_llm(lambda prompt: "no model", model="m")(type(found).__name__)

    with AgentStepper("opener", stop_on_entry=False, mode="continue") as dbg:
        id = dbg.run_id
        with set_current_stepper(dbg):
            run()
    stored = load_run(id, folder)
    with pytest.raises(Divergence, match="has values that JSON can’t carry"):
        replay_run(stored, run)
    assert opened == ["red"]
    (row,) = stored.events().query("kind == 'llm_query' and side == 'end'").seq
    assert fork_run(stored, int(row), run, edit="edited") == "edited"
    assert opened == ["red", "red"]


def test_a_result_that_is_shown_by_its_form_is_made_again(folder: Path) -> None:
    """A replay that served its JSON would give the agent another value."""

    @dataclass
    class Found:
        words: list[str]

    def run() -> int:
        with AgentStepper("finder") as dbg:
            found = dbg.traced_tool(lambda: Found(["boat"]), name="find")()
            return len(found.words)

    with AgentStepper("finder", stop_on_entry=False, mode="continue") as dbg:
        id = dbg.run_id
        with set_current_stepper(dbg):
            assert run() == 1
    stored = load_run(id, folder)
    with pytest.raises(Divergence, match="Found, which JSON doesn’t have"):
        replay_run(stored, run)
    assert fork_run(stored, 2, run, edit={"Tool": "find", "Argument": {}}) == 1


async def test_an_async_agent_is_awaited(recorded: StoredRun, agent: Agent) -> None:
    async def run(question: str) -> str | None:
        return agent.run(question)

    assert await replay_run(recorded, run, "How many?") == "There are three."


def test_a_row_without_an_event_is_no_place_to_fork(recorded: StoredRun, agent: Agent) -> None:
    with pytest.raises(CommandError, match="can't be forked at row 1: no query, tool call"):
        fork_run(recorded, 1, agent.run, "How many?")


def test_a_tool_that_only_its_result_shows_is_called_again(folder: Path, agent: Agent) -> None:
    instrument.enable(discovers_tools=False)
    with AgentStepper("counter", stop_on_entry=False, mode="continue") as dbg:
        agent.run("How many?")
        run = dbg.run_id
    assert replay_run(load_run(run, folder), agent.run, "How many?") == "There are three."
    assert agent.counted == 2
    served, entered = ReplayRole.SERVED, ReplayRole.ENTERED
    assert roles(folder) == [served, entered, served]
