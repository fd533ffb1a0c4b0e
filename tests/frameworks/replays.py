"""Frameworks' agents, run again on what was recorded of them, as a file has it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb import AgentStepperCore
from agentstepper_nb.models.scripted import ScriptedServer
from agentstepper_nb.protocol.data_model import EventKind, EventSide
from agentstepper_nb.protocol.records import RunHistory
from agentstepper_nb.protocol.replay_marks import ReplayRole
from agentstepper_nb.replay.event_matcher import RecordedEvent
from agentstepper_nb.replay.recording_files import write_recording
from agentstepper_nb.replay.recordings import Recording, make_recording
from tests.frameworks.agent_process import AgentProcess
from tests.frameworks.sampled_rows import FRAMEWORKS, MORE_FRAMEWORKS, each_mode
from tests.frameworks.stepped_agent import QUERY, SteppedAgent
from tests.frameworks.unsupported_rows import separately_installed

#: What the user says to each: two sub-agents side by side, where the framework has these.
TEXTS = {"mcp": "both", "mini-swe-agent": "please add"}

each_replayed_framework = pytest.mark.parametrize(
    "process",
    [*FRAMEWORKS, *map(separately_installed, (*MORE_FRAMEWORKS, "mini-swe-agent"))],
    indirect=True,
    scope="module",
)
each_depth = pytest.mark.parametrize("depth", ["WHOLE", "LEAVES"])


@dataclass
class RecordedAgent:
    """An agent of which one row was recorded.

    Args:
        process: Runs the agent.
        recording: The row's recording.
        row: What runs the row again: the mode, the text and the recording's file.
        output: What the agent came to.
    """

    process: AgentProcess
    recording: Recording
    row: dict[str, str]
    output: Any

    def run_again(self, depth: str, **fork: object) -> Any:
        """How the row ends that is run again."""
        self.process.start("again", depth=depth, **self.row, **fork)  # type: ignore[arg-type]
        return self.process.end()


class RequestCounter:
    """Counts what a model is asked from now on: it keeps the newest exchanges alone.

    Args:
        model: The model.
    """

    def __init__(self, model: ScriptedServer) -> None:
        self._model = model
        self._before = list(model.exchanges)

    @property
    def count(self) -> int:
        known = set(map(id, self._before))
        return sum(id(each) not in known for each in self._model.exchanges)


def load_newest(core: AgentStepperCore) -> RunHistory:
    """The run that began last."""

    async def read() -> RunHistory:
        runs = core.hub.debugger.runs
        return await core.hub.history(max(run.id for run in runs))

    return asyncio.run_coroutine_threadsafe(read(), core.loop).result(30)


@dataclass
class Recorder:
    """Records rows of an agent, which is stepped to its end."""

    process: AgentProcess
    stepped_agent: SteppedAgent
    core: AgentStepperCore
    folder: Path

    def record(self, mode: str, text: str) -> RecordedAgent:
        self.stepped_agent.start(mode, text)
        self.stepped_agent.wait_for_halt(QUERY)
        self.stepped_agent.person.resume()
        end = self.stepped_agent.end()
        assert "output" in end, end
        self.stepped_agent.person.wait_until_ended()
        recording, path = make_recording(load_newest(self.core)), self.folder / "recording.json"
        write_recording(recording, path)
        row = {"mode": mode, "text": text, "recording": str(path)}
        return RecordedAgent(self.process, recording, row, end["output"])


@pytest.fixture
def recorder(
    process: AgentProcess, stepped_agent: SteppedAgent, core: AgentStepperCore, tmp_path: Path
) -> Recorder:
    return Recorder(process, stepped_agent, core, tmp_path)


@pytest.fixture
def recorded(recorder: Recorder, mode: str) -> RecordedAgent:
    return recorder.record(mode, TEXTS.get(recorder.process.framework, "team"))


@each_depth
@each_mode
@each_replayed_framework
def test_a_replay_asks_nobody(recorded: RecordedAgent, model: ScriptedServer, depth: str) -> None:
    requests = RequestCounter(model)
    assert recorded.run_again(depth) == {"output": recorded.output}
    assert requests.count == 0


#: Rows in which a framework goes on by an exception of its own: handoffs, and waits for a person.
SIGNAL_ROWS = [
    ("langgraph", "confirming", "please confirm"),
    ("pydantic-ai", "handoff", "expert"),
    ("pydantic-ai", "confirming", "please confirm"),
]


@pytest.mark.parametrize(
    ("process", "mode", "text"), SIGNAL_ROWS, indirect=["process"], scope="module"
)
def test_what_a_framework_goes_on_by_is_replayed(
    recorder: Recorder, model: ScriptedServer, mode: str, text: str
) -> None:
    recorded = recorder.record(mode, text)
    requests = RequestCounter(model)
    assert recorded.run_again("WHOLE") == {"output": recorded.output}
    assert requests.count == 0


@each_mode
@each_replayed_framework
def test_a_fork_asks_from_its_event_on(
    recorded: RecordedAgent, model: ScriptedServer, core: AgentStepperCore
) -> None:
    """At each query: what the record has before it isn't asked again."""
    for event in recorded.recording.events:
        if event.key.kind is EventKind.LLM_QUERY:
            check_fork(recorded, event, model, core)


def check_fork(
    recorded: RecordedAgent, event: RecordedEvent, model: ScriptedServer, core: AgentStepperCore
) -> None:
    requests = RequestCounter(model)
    end = recorded.run_again("LEAVES", fork=event.seq, edit=event.request)
    assert end == {"output": recorded.output}
    points = load_newest(core).halt_points
    begins = [point for point in points if point.replay and point.side is EventSide.BEGIN]
    made = (ReplayRole.LIVE, ReplayRole.FORKED)
    queries = [
        point for point in begins if point.replay.role in made and point.kind is EventKind.LLM_QUERY
    ]
    assert requests.count == len(queries) > 0
    forked = [point.replay.event for point in begins if point.replay.role is ReplayRole.FORKED]
    assert forked == [event.id]
    before = {
        each.id
        for each in recorded.recording.events
        if each.key.kind is EventKind.LLM_QUERY and (each.end_seq or each.seq) < event.seq
    }
    served = {point.replay.event for point in begins if point.replay.role is ReplayRole.SERVED}
    assert before <= served
