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
    Event,
    EventKind,
    EventSide,
    HaltPoint,
    Run,
    RunState,
)
from agentstepper_nb.protocol.edit_rules import EditRuleDefinition, ReplaceText
from agentstepper_nb.protocol.records import Record, RunHistory, RunStarted, SummarySaved
from agentstepper_nb.protocol.store_info import Durability
from agentstepper_nb.protocol.v1 import runfile
from agentstepper_nb.store import MemoryStore, Store, open_store
from tests.helpers.debugger_harness import DebuggerHarness


@dataclass
class StoreKind:
    """A kind of store to be shown."""

    open: Callable[[Path], Store]
    lasts: bool  # whether what it keeps outlives it


def on_disk(durability: Durability) -> StoreKind:
    return StoreKind(lambda folder: open_store(folder, durability), True)


KINDS = {
    "memory": StoreKind(lambda folder: MemoryStore(), False),
    **{each.value: on_disk(each) for each in Durability},
}


class StoreHarness(DebuggerHarness):
    """A stage whose records go to a store; each thing that is done waits until it is recorded."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self.store = store
        self.recorded: list[int] = []
        self.loop = asyncio.Runner()

    def perform(self, outputs: Any) -> None:
        before = len(self.records)
        super().perform(outputs)
        self.loop.run(self.record(self.records[before:]))

    async def record(self, records: list[Record], *, durable: bool = False) -> None:
        done = asyncio.Event()
        self.store.append(records, done.set, durable=durable)
        await done.wait()
        self.recorded.append(len(records))

    def history(self, run: str = "run") -> RunHistory:
        return self.loop.run(self.store.history(run))

    def message(self, id: str, run: str = "run") -> HaltPoint | Event | None:
        return self.loop.run(self.store.message(run, id))

    def search_ids(self, query: str, run: str | None = None) -> list[str | None]:
        """The ids of what a search finds."""
        return [hit.id for hit in self.loop.run(self.store.search(query, run))]

    def close(self) -> None:
        self.store.close()
        self.loop.close()


@pytest.fixture(params=KINDS.values(), ids=KINDS)
def kind(request: pytest.FixtureRequest) -> StoreKind:
    return request.param


@pytest.fixture
def harness(kind: StoreKind, tmp_path: Path) -> Iterator[StoreHarness]:
    store = kind.open(tmp_path / "logs")
    assert list(store.load()) == []
    harness = StoreHarness(store)
    yield harness
    harness.close()


def whole_run(harness: StoreHarness, run: str = "run") -> tuple[str, str, str]:
    """A run with an edited query, a debug message, a tool call, and a commit: some of its ids."""
    harness.start(run)
    event, asked = harness.begin_query(run)
    harness.step(asked, 1, '{"edited": 1.0}', run)
    harness.reach(event, EventSide.END, data='"answer"', run=run)
    harness.resume(run=run)
    said = harness.post_debug_message('"look"', run)
    harness.begin_tool_call('{"Tool": "ls", "Argument": null}', run)
    harness.commit(run, id=f"c-{run}")
    return event, asked, said


def test_each_append_is_told_recorded_once_and_in_order(harness: StoreHarness) -> None:
    sizes = []
    for does in (harness.start, harness.begin_query, harness.step, harness.finish):
        before = len(harness.records)
        does()
        sizes.append(len(harness.records) - before)
    assert sum(harness.recorded) == sum(sizes)


@pytest.mark.parametrize("durable", [False, True])
def test_callbacks_of_one_kind_come_in_the_order_of_the_calls(
    harness: StoreHarness, durable: bool
) -> None:
    done: list[int] = []
    on_synced: list[int] = []

    async def append() -> None:
        last = asyncio.Event()
        for number in range(20):
            harness.store.append(
                [RunStarted(run=Run(id=f"r{number}", name="", program="P", started_at=0))]
                if number % 3
                else [],
                partial(done.append, number),
                durable=durable and number % 5 == 0,
                on_synced=partial(on_synced.append, number),
            )
        harness.store.append([], on_synced=last.set)
        await last.wait()

    harness.loop.run(append())
    assert done == on_synced == list(range(20))


def test_a_run_is_given_back_whole(harness: StoreHarness) -> None:
    event, asked, said = whole_run(harness)
    history = harness.history()
    # What debug messages and commits add to a header's numbers is the debugger's to count.
    assert history.run == replace(harness.run(), commits=0)
    assert [each.kind for each in history.events] == [
        EventKind.LLM_QUERY,
        EventKind.DEBUG_MESSAGE,
        EventKind.TOOL_INVOCATION,
    ]
    assert history.events[0] == harness.find_event(event)
    assert [point.seq for point in history.halt_points] == [1, 2, 4]
    assert history.halt_points[0].id == asked
    assert history.events[1].id == said
    assert [commit.id for commit in history.commits] == ["c-run"]


def test_a_breakpoint_is_given_back_as_it_stands(harness: StoreHarness) -> None:
    harness.start()
    _, asked = harness.begin_query()
    pending = harness.message(asked)
    assert isinstance(pending, HaltPoint)
    assert (pending.data, pending.edit, pending.answer) == ('"hello"', None, None)
    harness.edit(asked, "null")
    harness.now += 1
    harness.step()
    answered = harness.message(asked)
    assert isinstance(answered, HaltPoint)
    assert (answered.edit, answered.revision, answered.answer, answered.answered_at) == (
        "null",
        2,
        AnswerKind.RESUME,
        harness.now,
    )


def test_a_debug_message_is_given_back(harness: StoreHarness) -> None:
    harness.start()
    said = harness.post_debug_message('"look"')
    found = harness.message(said)
    assert isinstance(found, Event)
    assert found.data == '"look"'


def test_what_is_not_there_is_none(harness: StoreHarness) -> None:
    harness.start()
    assert harness.message("none") is None
    assert harness.loop.run(harness.store.commit("run", "none")) is None


def test_a_commit_is_given_back_with_its_contents(harness: StoreHarness) -> None:
    harness.perform(harness.debugger.commands.import_run(recorded("mine")))
    commit = harness.loop.run(harness.store.commit("mine", recorded("mine").commits[1].id))
    assert commit == recorded("mine").commits[1]


def test_runs_are_kept_apart(harness: StoreHarness) -> None:
    whole_run(harness, "one")
    whole_run(harness, "two")
    for run in ("one", "two"):
        history = harness.history(run)
        assert {each.run for each in (*history.events, *history.halt_points)} == {run}
        assert len(history.halt_points) == 3


def test_a_renamed_run(harness: StoreHarness) -> None:
    whole_run(harness)
    harness.rename("mine")
    assert harness.history().run.name == "mine"
    harness.finish()
    harness.rename("again")
    assert harness.history().run.name == "again"


def test_an_imported_run_is_given_back_to_the_letter(harness: StoreHarness) -> None:
    history = recorded("mine")
    harness.perform(harness.debugger.commands.import_run(history))
    assert harness.history("mine") == history


def test_a_run_that_ended_is_idle(harness: StoreHarness) -> None:
    whole_run(harness)
    harness.finish()
    history = harness.history()
    assert history.run == harness.run()
    assert history.run.state is RunState.IDLE
    assert history.halt_points[-1].kind is EventKind.PROGRAM_FINISHED


def test_notes_are_kept_replaced_and_taken_back(harness: StoreHarness) -> None:
    harness.start()
    _, asked = harness.begin_query()
    said = harness.post_debug_message('"look"')
    harness.note(asked, "why?")
    harness.note(said, "here")
    harness.note(asked, "ah")
    assert [(note.message, note.text) for note in harness.history().notes] == [
        (asked, "ah"),
        (said, "here"),
    ]
    harness.note(asked, "")
    assert [note.message for note in harness.history().notes] == [said]


def test_tags_are_kept(harness: StoreHarness) -> None:
    harness.start()
    harness.tag("slow", "fine")
    assert harness.history().run.tags == ("slow", "fine")


def test_a_sentence_stands_with_what_it_is_about_and_is_known_by_its_key(
    harness: StoreHarness,
) -> None:
    whole_run(harness)
    point, commit = harness.history().halt_points[0], harness.history().commits[0]
    harness.record_summary(point, "It greets.")
    harness.record_summary(commit, "It fixes.")
    history = harness.history()
    assert history.halt_points[0] == replace(point, model_summary="It greets.")
    assert history.commits[0] == replace(commit, model_summary="It fixes.")
    (key,) = {r.key for r in harness.records if isinstance(r, SummarySaved) and r.id == point.id}
    assert harness.loop.run(harness.store.find_model_summary(key)) == "It greets."
    assert harness.loop.run(harness.store.find_model_summary("another")) is None


def test_words_are_found_in_all_that_was_appended(harness: StoreHarness) -> None:
    _, asked, said = whole_run(harness, "one")
    whole_run(harness, "two")
    harness.finish("two")
    harness.note(said, "Schmetterling", run="one")
    assert harness.search_ids("schmetter") == [said]
    assert asked in harness.search_ids("hello", run="one")
    assert len(harness.search_ids("hello")) == 2
    assert harness.search_ids("hello schmetterling") == []
    harness.delete("two")
    assert harness.search_ids("hello") == [asked]


def test_words_that_nobody_said_are_refused(harness: StoreHarness) -> None:
    with pytest.raises(ProtocolError, match="word"):
        harness.search_ids("  ")


def test_a_run_that_was_deleted_is_gone(harness: StoreHarness) -> None:
    whole_run(harness)
    harness.finish()
    harness.delete()
    with pytest.raises(KeyError):
        harness.history()


def test_what_is_told_of_a_store(kind: StoreKind, harness: StoreHarness) -> None:
    info = harness.loop.run(harness.store.info())
    assert info.kind == ("sqlite" if kind.lasts else "memory")
    assert info.trouble is None


def test_closing_twice_does_no_harm(harness: StoreHarness) -> None:
    harness.store.close()
    harness.store.close()


def make_edit_rule(id: str, once: bool = False) -> EditRuleDefinition:
    change = ReplaceText(pattern="größe")
    kind, side = EventKind.LLM_QUERY, EventSide.END
    return EditRuleDefinition(id=id, kind=kind, side=side, path="/a", change=change, once=once)


def test_what_outlives_the_store(kind: StoreKind, harness: StoreHarness, tmp_path: Path) -> None:
    whole_run(harness, "ended")
    harness.finish("ended")
    whole_run(harness, "deleted")
    harness.finish("deleted")
    harness.delete("deleted")
    whole_run(harness, "live")
    harness.rename("mine", "ended")
    for id in ("first", "gone", "last"):
        harness.set_breakpoint(BreakpointRule(id=id, hit_count=2, watch=CostBudget(limit=0.5)))
    harness.set_breakpoint(BreakpointRule(id="first", condition="depth > 0"))
    harness.delete_breakpoint("gone")
    for id in ("first", "gone"):
        harness.set_edit_rule(make_edit_rule(id))
    harness.set_edit_rule(make_edit_rule("first", once=True))
    harness.delete_edit_rule("gone")
    harness.set_prices(Price(model="old", input=1, output=2))
    harness.set_prices(
        Price(model="new", input=0.25, output=2), Price(model="*", input=1, output=1)
    )
    harness.store.close()

    again = kind.open(tmp_path / "logs")
    debugger = Debugger()
    debugger.restore(again.load())
    runs = {run.id: run for run in debugger.runs}
    expected = ["ended", "live"] if kind.lasts else []
    assert list(runs) == expected
    for run in expected:
        assert runs[run].name == harness.run(run).name
        history = harness.loop.run(again.history(run))
        assert [point.data for point in history.halt_points][:3] == [
            '"hello"',
            '"answer"',
            '{"Tool": "ls", "Argument": null}',
        ]
    if kind.lasts:
        assert debugger._runs == harness.debugger._runs
        assert [breakpoint.id for breakpoint in debugger.breakpoints] == ["first", "last"]
        assert debugger.edit_rules == (make_edit_rule("first", once=True),)
    again.close()


def recorded(run: str) -> RunHistory:
    path = Path(__file__).parents[2] / "wire" / "recorded.run"
    return runfile.load_run(path.read_bytes(), run)
