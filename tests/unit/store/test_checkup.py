"""The care of a store's folder: what is found in it, and what a repair brings back."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
from pathlib import Path

import pytest
from msgspec.structs import replace

from agentstepper_nb.errors import NewerStoreError, StoreError, StoreLockedError
from agentstepper_nb.protocol.breakpoint_rules import BreakpointRule
from agentstepper_nb.protocol.data_model import EventKind, RunState
from agentstepper_nb.protocol.records import BreakpointSaved, PricesSet, SummarySaved
from agentstepper_nb.store.checkup import examine_folder, repair_folder, repairs
from agentstepper_nb.store.checkup.core_files import list_set_aside_stores
from agentstepper_nb.store.checkup.salvage import (
    DAMAGED_TAG,
    LOST_CONTENT,
    LOST_ROW,
    add_damaged_tag,
)
from agentstepper_nb.store.folder_lock import lock_folder
from agentstepper_nb.store.run_validation import MAX_TAGS
from agentstepper_nb.store.sqlite import database, migrations
from agentstepper_nb.store.sqlite.reader import StoreReader
from agentstepper_nb.store.sqlite.record_writer import RecordWriter
from agentstepper_nb.store.sqlite.row_codec import RunRow, make_select
from agentstepper_nb.store.sqlite.run_rows import RunRowReader
from agentstepper_nb.store.sqlite.transaction_counters import TransactionCounters
from tests.helpers.damaged_folders import (
    ENDED,
    LIVE,
    RUNS,
    CoreFolderFiles,
    histories,
    list_named_runs,
    read_config,
)

RECORDED = Path(__file__).parents[2] / "wire" / "recorded.run"
FIRST, *_ = ENDED


def harm(folder: Path, statement: str, *values: object) -> None:
    """Change the store behind its back."""
    with contextlib.closing(sqlite3.connect(folder / "store.sqlite")) as connection, connection:
        assert connection.execute(statement, values).rowcount > 0


def number(folder: Path, run: str) -> int:
    with contextlib.closing(sqlite3.connect(folder / "store.sqlite")) as connection:
        ((n,),) = connection.execute("SELECT n FROM runs WHERE id = ?", (run,))
        return int(n)


def run_row(folder: Path, run: str) -> RunRow:
    with contextlib.closing(sqlite3.connect(folder / "store.sqlite")) as connection:
        return RunRow.from_columns(
            connection.execute(make_select("runs", "id = ?"), (run,)).fetchone()
        )


def read_repair_report(folder: Path) -> str:
    return "\n".join(repair_folder(folder))


def others(folder: Path, but: str) -> dict[str, object]:
    return {run: history for run, history in histories(folder).items() if run != but}


# ---- looking ----------------------------------------------------------------------------------------


def test_a_folder_without_a_store(tmp_path: Path) -> None:
    about = examine_folder(tmp_path / "none")
    assert (about.exists, about.size_bytes, about.damaged_store) == (False, 0, False)
    assert list(tmp_path.iterdir()) == []


def test_no_folder_is_made_to_be_repaired(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="There is no folder"):
        repair_folder(tmp_path / "none")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    other = tmp_path / "film.part"
    for path in (other, tmp_path / "lock"):
        path.write_bytes(b"half")
        path.chmod(0o644)
    about = examine_folder(tmp_path)
    assert (about.open_to_others, about.leftover_files) == ((), ())
    assert not examine_folder(other).tokens
    with pytest.raises(StoreError, match="No Core has stored anything in"):
        repair_folder(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["film.part", "lock"]
    assert [stat.S_IMODE(path.stat().st_mode) for path in (tmp_path, other)] == [0o755, 0o644]


def test_beside_a_store_too_other_files_are_left_alone(
    built: CoreFolderFiles, folder: Path
) -> None:
    other = folder / "film.part"
    other.write_bytes(b"half")
    other.chmod(0o644)
    assert repair_folder(folder) == []
    assert other.read_bytes() == b"half"
    assert stat.S_IMODE(other.stat().st_mode) == 0o644


def test_the_folders_of_other_cores_are_named(built: CoreFolderFiles, folder: Path) -> None:
    built.write_to(folder / "2")
    (folder / "3").mkdir()
    about = examine_folder(folder)
    assert about.other_core_folders == (str(folder / "2"),)
    assert about.size_bytes == sum(map(len, built.files.values()))


def test_looking_changes_nothing(folder: Path) -> None:
    before = {each.name: each.read_bytes() for each in folder.iterdir()}
    about = examine_folder(folder)
    assert (about.runs, about.version, about.damaged_store) == (5, migrations.VERSION, False)
    assert about.size_bytes == sum(map(len, before.values()))
    after = {each.name: each.read_bytes() for each in folder.iterdir() if each.name in before}
    assert after == before


def test_it_looks_beside_a_core_and_says_who_that_is(folder: Path) -> None:
    with lock_folder(folder, "agentstepper serve"):
        with contextlib.closing(database.open_writer(folder / "store.sqlite")):
            about = examine_folder(folder)
        assert about.holder.startswith(f"agentstepper serve (pid {os.getpid()} on ")
        assert (about.runs, about.damaged) == (5, ())
        with pytest.raises(StoreLockedError, match="belong to agentstepper serve"):
            repair_folder(folder)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statement", "damage"),
    [
        ("UPDATE runs SET heard = heard + 1 WHERE n = ?", "its header is damaged"),
        (
            "UPDATE events SET id = id || 'x' WHERE run = ? AND n % 5 = 0",
            "of its events is damaged",
        ),
        ("UPDATE breakpoints SET body = '{}' WHERE run = ?", "of its halt points is damaged"),
        ("DELETE FROM breakpoints WHERE run = ? AND n % 3 = 0", "halt points are there"),
        ("UPDATE commits SET body = '{}' WHERE run = ?", "of its commits is damaged"),
        ("DELETE FROM changes WHERE run = ? AND n % 2 = 0", "of 2 files of commit"),
        ("UPDATE notes SET body = '{}' WHERE run = ?", "of its notes is damaged"),
        ("UPDATE blobs SET bytes = x'00' WHERE run = ?", "a piece of a content"),
        ("DELETE FROM nodes WHERE run = ? AND parent > 0", "a piece of a content"),
        ("DELETE FROM runs WHERE n = ?", "its header is lost"),
    ],
    ids=lambda value: str(value).partition(" WHERE")[0],
)
def test_a_hurt_run_is_named_and_comes_back_without_what_is_lost(
    built: CoreFolderFiles, folder: Path, statement: str, damage: str
) -> None:
    harm(folder, statement, number(folder, FIRST))
    (hurt,) = examine_folder(folder).damaged
    if damage == "its header is lost":
        assert hurt.damage == damage
        said = read_repair_report(folder)
        assert examine_folder(folder).damaged_store is False
        assert {*others(folder, FIRST)} >= {*RUNS} - {FIRST}
        return
    assert (hurt.id, hurt.name) == (FIRST, built.histories[FIRST].run.name)
    assert damage in hurt.damage
    said = read_repair_report(folder)
    assert f"({FIRST}) is restored, without " in said
    assert "4 runs are restored whole from store.sqlite.damaged-" in said
    assert others(folder, FIRST) == {r: h for r, h in built.histories.items() if r != FIRST}
    back = histories(folder)[FIRST]
    assert DAMAGED_TAG in back.run.tags
    assert back.run.name == built.histories[FIRST].run.name
    about = examine_folder(folder)
    assert about.damaged_store is False
    assert [name.partition("-")[0] for name in about.store_copies] == ["store.sqlite.salvaged"]


# ---- repairing --------------------------------------------------------------------------------------


def test_a_lost_row_is_replaced_by_one_that_says_so(built: CoreFolderFiles, folder: Path) -> None:
    harm(folder, "DELETE FROM breakpoints WHERE run = ? AND n % 2 = 0", number(folder, FIRST))
    said = read_repair_report(folder)
    assert " halt points" in said
    assert "breakpoint" not in said
    back, truth = histories(folder)[FIRST], built.histories[FIRST]
    kept = {point.id for point in back.halt_points}
    lost = {point.seq for point in truth.halt_points if point.id not in kept}
    assert lost
    fillers = [event for event in back.events if event.data == LOST_ROW]
    assert {event.seq for event in fillers} == lost
    assert {event.kind for event in fillers} == {EventKind.DEBUG_MESSAGE}
    assert back.run.rows == truth.run.rows
    assert [point for point in truth.halt_points if point.id in kept] == list(back.halt_points)


def test_a_lost_content_is_replaced_by_words(built: CoreFolderFiles, folder: Path) -> None:
    harm(folder, "UPDATE blobs SET bytes = x'00' WHERE run = ?", number(folder, FIRST))
    said = read_repair_report(folder)
    back, truth = histories(folder)[FIRST], built.histories[FIRST]
    pairs = list(zip(back.halt_points, truth.halt_points, strict=True))
    assert any(point.data == LOST_CONTENT for point, _ in pairs)
    assert all(replace(point, data=was.data) == was for point, was in pairs)
    assert "contents" in said


def test_a_lost_event_is_made_again_of_its_breakpoints(
    built: CoreFolderFiles, folder: Path
) -> None:
    harm(folder, "DELETE FROM events WHERE run = ?", number(folder, FIRST))
    read_repair_report(folder)
    back, truth = histories(folder)[FIRST], built.histories[FIRST]
    known = {event.id: event.kind for event in truth.events}
    of_rows = {point.event for point in back.halt_points}
    assert of_rows <= {event.id for event in back.events}
    assert all(known[e.id] == e.kind for e in back.events if e.id in known)


def test_a_live_run_stays_live_and_its_agent_finds_it(built: CoreFolderFiles, folder: Path) -> None:
    (run, *_) = LIVE
    was = run_row(folder, run)
    harm(folder, "UPDATE notes SET body = '{}' WHERE run = ?", was.n)
    read_repair_report(folder)
    back, truth = histories(folder)[run], built.histories[run]
    assert (back.run.state, back.run.pending) == (truth.run.state, truth.run.pending)
    assert back.run.state is RunState.HALTED
    now = run_row(folder, run)
    assert (now.proof, now.heard) == (was.proof, was.heard)
    assert now.active is not None
    assert back.notes == ()


def test_what_a_model_said_and_which_files_were_taken_in_come_along(
    built: CoreFolderFiles, folder: Path
) -> None:
    with contextlib.closing(database.open_writer(folder / "store.sqlite")) as connection:
        tables = RecordWriter(connection)
        with migrations.transaction(connection):
            point = built.histories[FIRST].halt_points[0].id
            tables.write_record(SummarySaved(run=FIRST, id=point, key="key", text="It asks."))
            tables.finish()
            tables.note_imported_file("old.run", FIRST)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    harm(folder, "UPDATE notes SET body = '{}' WHERE run = ?", number(folder, "third"))
    read_repair_report(folder)
    with contextlib.closing(StoreReader(folder / "store.sqlite")) as reader:
        assert reader.find_model_summary("key") == "It asks."
        assert reader.list_imported_files() == {"old.run"}


def test_a_store_that_was_put_aside_comes_back_beside_what_is_new(
    built: CoreFolderFiles, folder: Path, tmp_path: Path
) -> None:
    path = folder / "store.sqlite"
    data = path.read_bytes()
    path.write_bytes(data.replace(b"UNIQUE (run, id)", b"UNIQUE (run,id )"))
    database.open_writer(path).close()  # what a Core does
    (aside,) = examine_folder(folder).set_aside_stores
    assert (aside.intact_runs, aside.damaged, aside.problem) == (5, (), "")
    said = read_repair_report(folder)
    assert "5 runs are restored whole from store.sqlite.damaged-" in said
    assert histories(folder) == built.histories
    assert read_repair_report(folder) == ""  # and nothing is left to do


def test_damaged_breakpoints_are_named_and_the_others_come_back(
    built: CoreFolderFiles, folder: Path
) -> None:
    harm(folder, "UPDATE rules SET body = replace(body, '2', '3') WHERE id = 'second'")
    about = examine_folder(folder)
    assert (about.damaged_config_rows, about.damaged, about.damaged_store) == (1, (), True)
    assert "5 runs are restored whole" in read_repair_report(folder)
    assert histories(folder) == built.histories
    first, _, third, prices = built.rules
    assert read_config(folder) == (first, third, prices)
    assert not examine_folder(folder).damaged_store


def test_what_was_set_since_stays_where_breakpoints_come_back(
    built: CoreFolderFiles, folder: Path
) -> None:
    path = folder / "store.sqlite"
    path.rename(folder / f"store.sqlite{database.DAMAGED_SUFFIX}1")
    since = BreakpointSaved(breakpoint=BreakpointRule(id="second", once=True)), PricesSet(prices=())
    with contextlib.closing(database.open_writer(path)) as connection:
        tables = RecordWriter(connection)
        with migrations.transaction(connection):
            for record in since:
                tables.write_record(record)
            tables.finish()
    read_repair_report(folder)
    first, _, third, _ = built.rules
    assert read_config(folder) == (*since, first, third)


def test_a_store_of_which_nothing_is_left(folder: Path) -> None:
    (folder / "store.sqlite").write_bytes(b"")
    about = examine_folder(folder)
    assert about.unopenable_store is not None
    assert about.unopenable_store.problem
    assert "contains no readable run. The file stays where it is." in read_repair_report(folder)
    (aside,) = examine_folder(folder).set_aside_stores
    assert aside.problem


def test_what_the_journal_lost_is_named_and_its_run_says_so(
    built: CoreFolderFiles, folder: Path
) -> None:
    marks = TransactionCounters(folder / "marks")
    marks.set(FIRST, run_row(folder, FIRST).changes + 3)
    marks.set("gone", 2)
    marks.close()
    about = examine_folder(folder)
    assert {run.id: run.damage for run in about.missing} == {
        FIRST: f"the last 3 changes are lost of run {FIRST}",
        "gone": "run gone is lost whole",
    }
    assert list_named_runs(about) == {FIRST, "gone"}
    assert "Repair can't undo that run gone is lost whole" in read_repair_report(folder)
    assert histories(folder)[FIRST].run.tags == (*built.histories[FIRST].run.tags, DAMAGED_TAG)
    assert examine_folder(folder).missing == ()


def test_a_store_that_cannot_be_read_now_is_left_where_it_is(folder: Path) -> None:
    path = folder / "store.sqlite"
    path.rename(folder / "elsewhere")
    path.mkdir()
    about = examine_folder(folder)
    assert about.unreadable_reason
    assert not about.damaged_store
    repair_folder(folder)
    assert path.is_dir()


def test_a_run_that_cannot_be_read_now_is_no_damaged_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: RunRowReader) -> None:
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode = sqlite3.SQLITE_IOERR_READ
        raise error

    before = (folder / "store.sqlite").read_bytes()
    monkeypatch.setattr(RunRowReader, "history", fail)
    about = examine_folder(folder)
    assert (about.unreadable_reason, about.damaged) == ("disk I/O error", ())
    assert not about.damaged_store
    assert repair_folder(folder) == []
    assert (folder / "store.sqlite").read_bytes() == before


def test_a_full_disk_ends_a_repair_that_can_be_run_again(
    built: CoreFolderFiles, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def open_small(path: Path) -> sqlite3.Connection:
        connection = database.open_writer(path)
        connection.execute("PRAGMA max_page_count = 1")
        return connection

    harm(folder, "UPDATE notes SET body = '{}' WHERE run = ?", number(folder, FIRST))
    with monkeypatch.context() as patched:
        patched.setattr(repairs, "open_writer", open_small)
        full = "database or disk is full. Free disk space there, and run the repair again."
        with pytest.raises(StoreError, match=full):
            repair_folder(folder)
    assert len(list_set_aside_stores(folder / "store.sqlite")) == 1
    assert "4 runs are restored whole" in read_repair_report(folder)
    assert {*histories(folder)} == {*built.histories}


def test_a_damaged_run_has_no_more_tags_than_a_run_may() -> None:
    tags = tuple(f"tag {number}" for number in range(MAX_TAGS))
    assert add_damaged_tag(tags) == (*tags[:-1], DAMAGED_TAG)
    assert add_damaged_tag(tags[:2]) == (*tags[:2], DAMAGED_TAG)


def test_a_newer_store_is_left_alone(folder: Path) -> None:
    with contextlib.closing(sqlite3.connect(folder / "store.sqlite")) as connection:
        migrations.write_version(connection, migrations.VERSION + 1)
    before = (folder / "store.sqlite").read_bytes()
    about = examine_folder(folder)
    assert (about.version, about.latest_version) == (migrations.VERSION + 1, migrations.VERSION)
    with pytest.raises(NewerStoreError):
        repair_folder(folder)
    assert (folder / "store.sqlite").read_bytes() == before
