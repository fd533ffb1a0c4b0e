"""What every store promises, shown for each of them by the records of a real debugger."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from agentstepper_nb.core import Debugger
from agentstepper_nb.errors import ProtocolError
from agentstepper_nb.protocol.breakpoint_rules import BreakpointRule, CostBudget, Price
from agentstepper_nb.protocol.data_model import (
    AnswerKind,
    Durability,
    Event,
    EventKind,
    EventSide,
    HaltPoint,
    Run,
    RunState,
)
from agentstepper_nb.protocol.records import Record, RunHistory, RunStarted, SummarySaved
from agentstepper_nb.protocol.v1 import runfile
from agentstepper_nb.store import MemoryStore, Store, open_store
from tests.helpers.stage import Stage


@dataclass
class Kind:
    """A kind of store to be shown."""

    open: Callable[[Path], Store]
    lasts: bool  # whether what it keeps outlives it


def on_disk(durability: Durability) -> Kind:
    return Kind(lambda folder: open_store(folder, durability), True)


KINDS = {
    "memory": Kind(lambda folder: MemoryStore(), False),
    **{each.value: on_disk(each) for each in Durability},
}


class Kept(Stage):
    """A stage whose records go to a store; each thing that is done waits until it is recorded."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self.store = store
        self.recorded: list[int] = []
        self.loop = asyncio.Runner()

    def perform(self, outputs: Any) -> None:
        before = len(self.records)
        super().perform(outputs)
        self.loop.run(self.keep(self.records[before:]))

    async def keep(self, records: list[Record], *, durable: bool = False) -> None:
        done = asyncio.Event()
        self.store.append(records, done.set, durable=durable)
        await done.wait()
        self.recorded.append(len(records))

    def history(self, run: str = "run") -> RunHistory:
        return self.loop.run(self.store.history(run))

    def message(self, id: str, run: str = "run") -> HaltPoint | Event | None:
        return self.loop.run(self.store.message(run, id))

    def found(self, query: str, run: str | None = None) -> list[str | None]:
        """The ids of what a search finds."""
        return [hit.id for hit in self.loop.run(self.store.search(query, run))]

    def close(self) -> None:
        self.store.close()
        self.loop.close()


@pytest.fixture(params=KINDS.values(), ids=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    return request.param


@pytest.fixture
def stage(kind: Kind, tmp_path: Path) -> Iterator[Kept]:
    store = kind.open(tmp_path / "logs")
    assert list(store.load()) == []
    stage = Kept(store)
    yield stage
    stage.close()


def whole_run(stage: Kept, run: str = "run") -> tuple[str, str, str]:
    """A run with an edited query, a debug message, a tool call, and a commit: some of its ids."""
    stage.start(run)
    event, asked = stage.query(run)
    stage.step(asked, 1, '{"edited": 1.0}', run)
    stage.reach(event, EventSide.END, data='"answer"', run=run)
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


@pytest.mark.parametrize("durable", [False, True])
def test_callbacks_of_one_kind_come_in_the_order_of_the_calls(stage: Kept, durable: bool) -> None:
    done: list[int] = []
    on_synced: list[int] = []

    async def append() -> None:
        last = asyncio.Event()
        for number in range(20):
            stage.store.append(
                [RunStarted(run=Run(id=f"r{number}", name="", program="P", started_at=0))]
                if number % 3
                else [],
                partial(done.append, number),
                durable=durable and number % 5 == 0,
                on_synced=partial(on_synced.append, number),
            )
        stage.store.append([], on_synced=last.set)
        await last.wait()

    stage.loop.run(append())
    assert done == on_synced == list(range(20))


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
    assert [point.seq for point in history.halt_points] == [1, 2, 4]
    assert history.halt_points[0].id == asked
    assert history.events[1].id == said
    assert [commit.id for commit in history.commits] == ["c-run"]


def test_a_breakpoint_is_given_back_as_it_stands(stage: Kept) -> None:
    stage.start()
    _, asked = stage.query()
    pending = stage.message(asked)
    assert isinstance(pending, HaltPoint)
    assert (pending.data, pending.edit, pending.answer) == ('"hello"', None, None)
    stage.edit(asked, "null")
    stage.now += 1
    stage.step()
    answered = stage.message(asked)
    assert isinstance(answered, HaltPoint)
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
    assert stage.loop.run(stage.store.commit("run", "none")) is None


def test_a_commit_is_given_back_with_its_contents(stage: Kept) -> None:
    stage.perform(stage.debugger.commands.import_run(recorded("mine")))
    commit = stage.loop.run(stage.store.commit("mine", recorded("mine").commits[1].id))
    assert commit == recorded("mine").commits[1]


def test_runs_are_kept_apart(stage: Kept) -> None:
    whole_run(stage, "one")
    whole_run(stage, "two")
    for run in ("one", "two"):
        history = stage.history(run)
        assert {each.run for each in (*history.events, *history.halt_points)} == {run}
        assert len(history.halt_points) == 3


def test_a_renamed_run(stage: Kept) -> None:
    whole_run(stage)
    stage.rename("mine")
    assert stage.history().run.name == "mine"
    stage.finish()
    stage.rename("again")
    assert stage.history().run.name == "again"


def test_an_imported_run_is_given_back_to_the_letter(stage: Kept) -> None:
    history = recorded("mine")
    stage.perform(stage.debugger.commands.import_run(history))
    assert stage.history("mine") == history


def test_a_run_that_ended_is_idle(stage: Kept) -> None:
    whole_run(stage)
    stage.finish()
    history = stage.history()
    assert history.run == stage.run()
    assert history.run.state is RunState.IDLE
    assert history.halt_points[-1].kind is EventKind.PROGRAM_FINISHED


def test_notes_are_kept_replaced_and_taken_back(stage: Kept) -> None:
    stage.start()
    _, asked = stage.query()
    said = stage.say('"look"')
    stage.note(asked, "why?")
    stage.note(said, "here")
    stage.note(asked, "ah")
    assert [(note.message, note.text) for note in stage.history().notes] == [
        (asked, "ah"),
        (said, "here"),
    ]
    stage.note(asked, "")
    assert [note.message for note in stage.history().notes] == [said]


def test_tags_are_kept(stage: Kept) -> None:
    stage.start()
    stage.tag("slow", "fine")
    assert stage.history().run.tags == ("slow", "fine")


def test_a_sentence_stands_with_what_it_is_about_and_is_known_by_its_key(stage: Kept) -> None:
    whole_run(stage)
    point, commit = stage.history().halt_points[0], stage.history().commits[0]
    stage.sentence(point, "It greets.")
    stage.sentence(commit, "It fixes.")
    history = stage.history()
    assert history.halt_points[0] == replace(point, model_summary="It greets.")
    assert history.commits[0] == replace(commit, model_summary="It fixes.")
    (key,) = {r.key for r in stage.records if isinstance(r, SummarySaved) and r.id == point.id}
    assert stage.loop.run(stage.store.find_model_summary(key)) == "It greets."
    assert stage.loop.run(stage.store.find_model_summary("another")) is None


def test_words_are_found_in_all_that_was_appended(stage: Kept) -> None:
    _, asked, said = whole_run(stage, "one")
    whole_run(stage, "two")
    stage.finish("two")
    stage.note(said, "Schmetterling", run="one")
    assert stage.found("schmetter") == [said]
    assert asked in stage.found("hello", run="one")
    assert len(stage.found("hello")) == 2
    assert stage.found("hello schmetterling") == []
    stage.delete("two")
    assert stage.found("hello") == [asked]


def test_words_that_nobody_said_are_refused(stage: Kept) -> None:
    with pytest.raises(ProtocolError, match="word"):
        stage.found("  ")


def test_a_run_that_was_deleted_is_gone(stage: Kept) -> None:
    whole_run(stage)
    stage.finish()
    stage.delete()
    with pytest.raises(KeyError):
        stage.history()


def test_what_is_told_of_a_store(kind: Kind, stage: Kept) -> None:
    info = stage.loop.run(stage.store.info())
    assert info.kind == ("sqlite" if kind.lasts else "memory")
    assert info.trouble is None


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
    for id in ("first", "gone", "last"):
        stage.set_breakpoint(BreakpointRule(id=id, hit_count=2, watch=CostBudget(limit=0.5)))
    stage.set_breakpoint(BreakpointRule(id="first", condition="depth > 0"))
    stage.delete_breakpoint("gone")
    stage.set_prices(Price(model="old", input=1, output=2))
    stage.set_prices(Price(model="new", input=0.25, output=2), Price(model="*", input=1, output=1))
    stage.store.close()

    again = kind.open(tmp_path / "logs")
    debugger = Debugger()
    debugger.restore(again.load())
    runs = {run.id: run for run in debugger.runs}
    expected = ["ended", "live"] if kind.lasts else []
    assert list(runs) == expected
    for run in expected:
        assert runs[run].name == stage.run(run).name
        history = stage.loop.run(again.history(run))
        assert [point.data for point in history.halt_points][:3] == [
            '"hello"',
            '"answer"',
            '{"Tool": "ls", "Argument": null}',
        ]
    if kind.lasts:
        assert debugger._runs == stage.debugger._runs
        assert [breakpoint.id for breakpoint in debugger.breakpoints] == ["first", "last"]
    again.close()


def recorded(run: str) -> RunHistory:
    path = Path(__file__).parents[2] / "wire" / "recorded.run"
    return runfile.load_run(path.read_bytes(), run)
