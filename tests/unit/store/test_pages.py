"""A page of a run is that piece of it, whatever the store; what is hurt is named."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from agentstepper_nb.errors import DamagedRunError
from agentstepper_nb.protocol.data_model import Event, EventSide, HaltPoint
from agentstepper_nb.protocol.records import RunHistory
from agentstepper_nb.store import MemoryStore, Store, open_store
from agentstepper_nb.store.base import strip_contents
from tests.helpers.debugger_harness import DebuggerHarness
from tests.helpers.histories import make_full_history, make_random_records, rows_of
from tests.helpers.store_tables import StoreTables, open_store_tables

KINDS: dict[str, Callable[[Path], Store]] = {
    "memory": lambda folder: MemoryStore(),
    "sqlite": open_store,
}


@pytest.fixture(params=KINDS.values(), ids=KINDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    with closing(request.param(tmp_path)) as store:
        yield store


def on_a_loop(store: Store, records: list[object]) -> asyncio.Runner:
    """A loop on which the store has kept records."""
    runner = asyncio.Runner()

    async def keep() -> None:
        store.append(records)  # type: ignore[arg-type]

    runner.run(keep())
    return runner


def standing(history: RunHistory, first: int, last: int) -> list[str]:
    """The commits of some rows: of their events, and those that came while one of them was the last."""
    rows = rows_of(history)[max(0, first - 1) : last]
    events = {row.id if isinstance(row, Event) else row.event for row in rows}
    return [
        commit.id
        for commit in history.commits
        if first <= commit.seq <= last or commit.event in events
    ]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_a_page_is_a_piece_of_the_run(store: Store, seed: int) -> None:
    with on_a_loop(store, make_random_records(seed, steps=40)) as loop:
        history = loop.run(store.history("run"))
        rows = rows_of(history)
        bare = {commit.id: strip_contents(commit) for commit in history.commits}
        for first, last in [(1, 5), (3, 3), (4, len(rows)), (0, 1000), (len(rows), len(rows) + 9)]:
            page = loop.run(store.page("run", first, last))
            assert list(page.rows) == rows[max(0, first - 1) : last]
            assert [bare[each.id] for each in page.commits] == list(page.commits)
            assert [each.id for each in page.commits] == standing(history, first, last)
        assert loop.run(store.page("run", 1000, 2000)) == ((), ())
        for row in rows:
            assert loop.run(store.find_seq("run", row.id)) == row.seq
        others = {event.id for event in history.events} - {row.id for row in rows}
        for id in ("none", *others):
            assert loop.run(store.find_seq("run", id)) is None
        assert loop.run(store.notes("run")) == history.notes


def test_rows_are_shown_one_by_one(store: Store) -> None:
    with on_a_loop(store, make_random_records(1, steps=40)) as loop:
        whole = loop.run(store.page("run", 3, 20))
        shown: list[HaltPoint | Event] = []
        commits = loop.run(store.visit_rows("run", 3, 20, shown.append, lambda point: True))
        assert tuple(sorted(shown, key=lambda row: row.seq)) == whole.rows
        assert commits == whole.commits


def test_commits_come_by_pages_from_the_last_to_the_first(store: Store) -> None:
    harness = DebuggerHarness()
    harness.start()
    harness.start("other")
    for number in range(7):
        harness.commit(id=f"c{number}")
        harness.commit("other", id=f"o{number}")
    with on_a_loop(store, harness.records) as loop:
        pages, before = [], None
        while not pages or before is not None:
            page = loop.run(store.commits("run", before, 3))
            pages.append([commit.id for commit in page.commits])
            before = page.before
        assert pages == [["c4", "c5", "c6"], ["c1", "c2", "c3"], ["c0"]]
        assert loop.run(store.commits("other", limit=7)).before is None


def test_a_commit_stands_at_its_event_as_well_as_where_it_came(store: Store) -> None:
    every = make_full_history()
    late = replace(every.commits[0], seq=3)
    harness = DebuggerHarness()
    harness.perform(harness.debugger.commands.import_run(replace(every, commits=(late,))))
    with on_a_loop(store, harness.records) as loop:
        for seq, there in ((1, True), (2, True), (3, True), (4, False)):
            page = loop.run(store.page("r", seq, seq))
            assert [commit.id for commit in page.commits] == (["c0ffee"] if there else [])
        assert list(loop.run(store.page("r", 1, 9)).rows) == rows_of(every)


def test_a_row_that_changes_stays_in_its_place(store: Store) -> None:
    harness = DebuggerHarness()
    harness.start()
    _, asked = harness.begin_query()
    harness.edit(asked, "null")
    harness.step()
    harness.post_debug_message('"then"')
    with on_a_loop(store, harness.records) as loop:
        first, then = loop.run(store.page("run", 1, 9)).rows
        assert isinstance(first, HaltPoint)
        assert (first.id, first.edit, first.answer) == (asked, "null", "resume")
        assert then.data == '"then"'


# ---- damage ----------------------------------------------------------------------------------------


@pytest.fixture
def hurt(tmp_path: Path) -> Iterator[StoreTables]:
    """A run of prompts that begin alike, of which something is going to be hurt."""
    harness = DebuggerHarness()
    harness.start()
    said: list[str] = []
    for turn in range(6):
        said.append(f'{{"content": "turn {turn} {"word " * 150}"}}')
        event = harness.begin()
        harness.reach(event, data=f"[{', '.join(said)}]")
        harness.resume()
        harness.reach(event, EventSide.END, data=f'"answer {turn}"')
    harness.commit(id="c")
    with open_store_tables(tmp_path) as store:
        store.write(harness.records)
        yield store


@pytest.mark.parametrize(
    ("harm", "first", "what"),
    [
        ("UPDATE breakpoints SET body = replace(body, ':', ';') WHERE seq = 3", 1, "is damaged"),
        ("DELETE FROM breakpoints WHERE seq = 3", 1, "11 of its rows 1 to 12 are there"),
        ("DELETE FROM breakpoints WHERE seq = 12", 11, "1 of its rows 11 to 12 are there"),
        ("UPDATE breakpoints SET seq = NULL WHERE seq = 3", 3, "9 of its rows 3 to 12 are there"),
        ("UPDATE nodes SET parent = n WHERE n = 2", 1, "a piece of a content"),
        ("UPDATE blobs SET bytes = x'00' WHERE n = 2", 1, "a piece of a content is damaged"),
        ("DELETE FROM nodes WHERE n = 1", 1, "a piece of a content is missing"),
        ("UPDATE commits SET files = 7", 10, "is damaged"),
        ("UPDATE runs SET header = x'00'", 1, "its header is damaged"),
    ],
)
def test_what_is_hurt_is_named(hurt: StoreTables, harm: str, first: int, what: str) -> None:
    assert hurt.connection.execute(harm).rowcount > 0
    with pytest.raises(DamagedRunError, match=what):
        hurt.reader.page("run", first, 100)


def test_a_page_beside_the_damage_is_given(hurt: StoreTables) -> None:
    hurt.connection.execute("DELETE FROM breakpoints WHERE seq = 3")
    assert [row.seq for row in hurt.reader.page("run", 4, 6).rows] == [4, 5, 6]


def test_nothing_is_read_of_a_run_but_what_is_on_the_page(hurt: StoreTables) -> None:
    asked: list[str] = []
    connection = hurt.reader._connection
    connection.set_trace_callback(asked.append)
    hurt.reader.page("run", 3, 4)
    hurt.reader.commits("run", 7, 2)
    connection.set_trace_callback(None)
    for statement in asked:
        if not statement.startswith("SELECT") or "json_each" in statement:
            continue
        plan = [row[-1] for row in hurt.connection.execute(f"EXPLAIN QUERY PLAN {statement}")]
        assert all(each.startswith("SEARCH") for each in plan), (statement, plan)
        wide = [each for each in plan if each.endswith("(run=?)")]
        assert not wide, (statement, plan)


def test_contents_that_are_not_needed_are_not_read(hurt: StoreTables) -> None:
    asked: list[str] = []
    shown: list[HaltPoint | Event] = []
    connection = hurt.reader._connection
    whole = {row.seq: row for row in hurt.reader.page("run", 1, 100).rows}
    connection.set_trace_callback(asked.append)
    hurt.reader.visit_rows("run", 1, 100, shown.append, lambda point: point.side is EventSide.END)
    connection.set_trace_callback(None)
    assert not [each for each in asked if "JOIN blobs" in each]  # the answers are short
    for point in shown:
        assert isinstance(point, HaltPoint)
        needed = point.side is EventSide.END
        assert point == (whole[point.seq] if needed else replace(whole[point.seq], data=""))
    assert len(shown) == len(whole)


def test_what_prompts_share_is_read_once(hurt: StoreTables) -> None:
    asked: list[str] = []
    connection = hurt.reader._connection
    connection.set_trace_callback(asked.append)
    rows = hurt.reader.page("run", 1, 100).rows
    connection.set_trace_callback(None)
    ((nodes,),) = hurt.connection.execute("SELECT count(*) FROM nodes")
    read = [
        re.search(r"json_each\('\[([\d,]+)\]'\)", each) for each in asked if "JOIN blobs" in each
    ]
    numbers = [number for each in read if each for number in each[1].split(",")]
    assert len(numbers) == len(set(numbers)) == nodes
    shown = replace(rows[-2], data="")  # the last prompt, which is whole
    assert isinstance(shown, HaltPoint)
    assert rows[-2].data == hurt.reader.message("run", shown.id).data  # type: ignore[union-attr]
