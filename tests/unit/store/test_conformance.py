"""What every store promises, shown for each of them by the records of a real debugger."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from agentstepper_nb.core import Debugger
from agentstepper_nb.protocol.records import Record, RunHistory
from agentstepper_nb.protocol.v1 import runfile
from agentstepper_nb.protocol.values import (
    AnswerKind,
    Breakpoint,
    Event,
    EventKind,
    RunState,
    Side,
)
from agentstepper_nb.store import MemoryStore, Store
from tests.helpers.stage import Stage


@dataclass
class Kind:
    """A kind of store to be shown."""

    open: Callable[[Path], Store]
    keeps: str  # what outlives it: "nothing", or the runs that "ended"


KINDS = {
    "memory": Kind(lambda folder: MemoryStore(), "nothing"),
    "files": Kind(MemoryStore, "ended"),
}


class Kept(Stage):
    """A stage whose records go to a store."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self.store = store
        self.recorded: list[int] = []

    def perform(self, outputs: Any) -> None:
        before = len(self.records)
        super().perform(outputs)
        new = self.records[before:]
        self.store.append(new, lambda: self.recorded.append(len(new)))

    def history(self, run: str = "run") -> RunHistory:
        return asyncio.run(self.store.history(run))

    def message(self, id: str, run: str = "run") -> Breakpoint | Event | None:
        return asyncio.run(self.store.message(run, id))


@pytest.fixture(params=KINDS.values(), ids=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    return request.param


@pytest.fixture
def stage(kind: Kind, tmp_path: Path) -> Iterator[Kept]:
    store = kind.open(tmp_path / "logs")
    assert list(store.load()) == []
    yield Kept(store)
    store.close()


def whole_run(stage: Kept, run: str = "run") -> tuple[str, str, str]:
    """A run with an edited query, a debug message, a tool call, and a commit: some of its ids."""
    stage.start(run)
    event, asked = stage.query(run)
    stage.step(asked, 1, '{"edited": 1.0}', run)
    stage.reach(event, Side.END, data='"answer"', run=run)
    stage.resume(run=run)
    said = stage.say('"look"', run)
    stage.call('{"Tool": "ls", "Argument": null}', run)
    stage.commit(run, id=f"c-{run}")
    return event, asked, said


def test_each_append_is_told_recorded_once_and_in_order(stage: Kept) -> None:
    sizes = []
    for does in (stage.start, stage.query, stage.step, stage.finish):
        before = len(stage.records)
        does()
        sizes.append(len(stage.records) - before)
    assert sum(stage.recorded) == sum(sizes)
    order: list[int] = []
    for number in range(5):
        stage.store.append([], lambda number=number: order.append(number))
    assert order == [0, 1, 2, 3, 4]


def test_a_run_is_given_back_whole(stage: Kept) -> None:
    event, asked, said = whole_run(stage)
    history = stage.history()
    # What debug messages and commits add to a header's numbers is the debugger's to count.
    assert history.run == replace(stage.run(), commits=0)
    assert [each.kind for each in history.events] == [
        EventKind.LLM_QUERY,
        EventKind.DEBUG_MESSAGE,
        EventKind.TOOL_INVOCATION,
    ]
    assert history.events[0] == stage.event(event)
    assert [point.seq for point in history.breakpoints] == [1, 2, 4]
    assert history.breakpoints[0].id == asked
    assert history.events[1].id == said
    assert [commit.id for commit in history.commits] == ["c-run"]


def test_a_breakpoint_is_given_back_as_it_stands(stage: Kept) -> None:
    stage.start()
    _, asked = stage.query()
    pending = stage.message(asked)
    assert isinstance(pending, Breakpoint)
    assert (pending.data, pending.edit, pending.answer) == ('"hello"', None, None)
    stage.edit(asked, "null")
    stage.now += 1
    stage.step()
    answered = stage.message(asked)
    assert isinstance(answered, Breakpoint)
    assert (answered.edit, answered.revision, answered.answer, answered.answered_at) == (
        "null",
        2,
        AnswerKind.RESUME,
        stage.now,
    )


def test_a_debug_message_is_given_back(stage: Kept) -> None:
    stage.start()
    said = stage.say('"look"')
    found = stage.message(said)
    assert isinstance(found, Event)
    assert found.data == '"look"'


def test_what_is_not_there_is_none(stage: Kept) -> None:
    stage.start()
    assert stage.message("none") is None
    assert asyncio.run(stage.store.commit("run", "none")) is None


def test_a_commit_is_given_back_with_its_contents(stage: Kept) -> None:
    stage.perform(stage.debugger.import_run(recorded("mine")))
    commit = asyncio.run(stage.store.commit("mine", recorded("mine").commits[1].id))
    assert commit == recorded("mine").commits[1]


def test_runs_are_kept_apart(stage: Kept) -> None:
    whole_run(stage, "one")
    whole_run(stage, "two")
    for run in ("one", "two"):
        history = stage.history(run)
        assert {each.run for each in (*history.events, *history.breakpoints)} == {run}
        assert len(history.breakpoints) == 3


def test_a_renamed_run(stage: Kept) -> None:
    whole_run(stage)
    stage.rename("mine")
    assert stage.history().run.name == "mine"
    stage.finish()
    stage.rename("again")
    assert stage.history().run.name == "again"


def test_an_imported_run_is_given_back_to_the_letter(stage: Kept) -> None:
    history = recorded("mine")
    stage.perform(stage.debugger.import_run(history))
    assert stage.history("mine") == history


def test_a_run_that_ended_is_idle(stage: Kept) -> None:
    whole_run(stage)
    stage.finish()
    history = stage.history()
    assert history.run == stage.run()
    assert history.run.state is RunState.IDLE
    assert history.breakpoints[-1].kind is EventKind.PROGRAM_FINISHED


def test_closing_twice_does_no_harm(stage: Kept) -> None:
    stage.store.close()
    stage.store.close()


def test_what_outlives_the_store(kind: Kind, stage: Kept, tmp_path: Path) -> None:
    whole_run(stage, "ended")
    stage.finish("ended")
    whole_run(stage, "deleted")
    stage.finish("deleted")
    stage.delete("deleted")
    whole_run(stage, "live")
    stage.rename("mine", "ended")
    names = {run.id: run.name for run in stage.debugger.runs}
    stage.store.close()

    again = kind.open(tmp_path / "logs")
    debugger = Debugger()
    records: list[Record] = list(again.load())
    debugger.replay(records)
    expected = {"nothing": {}, "ended": {"ended": names["ended"]}}[kind.keeps]
    assert {run.id: run.name for run in debugger.runs} == expected
    for run in expected:
        history = asyncio.run(again.history(run))
        assert [point.data for point in history.breakpoints] == [
            '"hello"',
            '"answer"',
            '{"Tool": "ls", "Argument": null}',
            "null",
        ]
    again.close()


def recorded(run: str) -> RunHistory:
    path = Path(__file__).parents[2] / "wire" / "recorded.run"
    return runfile.load(path.read_bytes(), run)
