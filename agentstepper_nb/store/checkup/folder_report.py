"""Examines a store's folder without locking it and without changing anything."""

from __future__ import annotations

import contextlib
import re
import shutil
import sqlite3
from collections.abc import Iterator, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from ...errors import DamagedRunError, NewerStoreError, ProtocolError, StoreError
from ...protocol.data_model import Run
from ...protocol.v1 import runfile
from ..archive import read_run_file
from ..atomic_files import find_network_file_system
from ..folder_lock import find_lock_holder
from ..runtime.sqlite.runtime_file import RUNTIME_FILE
from ..sqlite import migrations
from ..sqlite.database import COUNTERS_FILE, STORE_FILE, connect
from ..sqlite.error_codes import is_no_damage
from ..sqlite.reader import RUN_FILES_FOLDER, StoreReader
from ..sqlite.store import SEARCH_FILE
from ..sqlite.transaction_counters import CountersReport, compare_counters, read_losses
from .core_files import (
    TOKEN_FILES,
    list_core_files,
    list_leftover_files,
    list_set_aside_stores,
    list_store_copies,
)
from .salvage import join_losses, open_damaged_store

_OTHERS_MODE_BITS: Final = 0o077
_TOKEN: Final = re.compile(rb"[!-~]+\s*")
#: The most lines of SQLite about a file.
_MAX_PROBLEM_LINES: Final = 20
_TABLES_OF_RUNS: Final = ("events", "breakpoints", "commits", "notes", "blobs")


@dataclass(frozen=True)
class DamagedRun:
    """A run that is partly damaged.

    Args:
        id: The run's id.
        name: The run's name, as far as it can be read.
        damage: The damaged parts, in words.
    """

    id: str
    name: str
    damage: str


@dataclass(frozen=True)
class SetAsideStore:
    """A store that couldn't be opened and was set aside, or that can't be opened now.

    Args:
        file: The file's name.
        intact_runs: The number of its runs that can be read completely.
        damaged: Its runs that are partly lost.
        lost_run_ids: The ids of its lost runs, as far as the search index still has them.
        problem: The reason why nothing can be read of the store; empty if something can.
    """

    file: str
    intact_runs: int = 0
    damaged: tuple[DamagedRun, ...] = ()
    lost_run_ids: tuple[str, ...] = ()
    problem: str = ""


@dataclass(frozen=True)
class FolderReport:
    """The findings about a folder.

    Args:
        folder: The folder.
        exists: Whether the folder has a store.
        holder: The process that holds the folder's lock, in words; empty: none.
        network_file_system: The network file system of the folder; empty on a disk of this machine.
        sqlite: SQLite's version.
        free_bytes: Free bytes on the file system.
        size_bytes: Bytes of the store's files, and of those of version 1.
        open_to_others: Files, and "." for the folder, that other users may read or write.
        version: The store's version; 0 if unknown.
        latest_version: The version that this program reads.
        unreadable_reason: The reason why the store can't be read now, possibly outside the store:
            permissions, the disk.
        unopenable_store: The store, if it is too damaged to be opened.
        structure_problems: SQLite's findings about the file itself.
        runs: The number of runs.
        damaged: The partly damaged runs.
        missing: The runs whose last transactions the journal lost.
        past_losses: The same, of an earlier damage, after which Cores have continued.
        damaged_config_rows: The number of damaged breakpoints and prices.
        damaged_counters: The number of transaction counters that can't be read.
        search_problem: The reason why the search index can't be used; empty if it can.
        set_aside_stores: The stores that were set aside.
        store_copies: Files with an earlier state: from before a migration or a repair.
        leftover_files: Leftovers of interrupted writes.
        unreadable_run_files: `.run` files that can't be read, each with the reason.
        other_core_folders: Subfolders in which other Cores store their runs.
        tokens: The token files that can't be used, each with the reason.
        agent_store_problems: SQLite's findings about the file of background agents.
        set_aside_agent_stores: Files of background agents that couldn't be read and were set aside.
    """

    folder: str
    exists: bool = True
    holder: str = ""
    network_file_system: str = ""
    sqlite: tuple[int, ...] = (3, 99, 0)
    free_bytes: int = 1 << 40
    size_bytes: int = 0
    open_to_others: tuple[str, ...] = ()
    version: int = 0
    latest_version: int = 0
    unreadable_reason: str = ""
    unopenable_store: SetAsideStore | None = None
    structure_problems: tuple[str, ...] = ()
    runs: int = 0
    damaged: tuple[DamagedRun, ...] = ()
    missing: tuple[DamagedRun, ...] = ()
    past_losses: tuple[DamagedRun, ...] = ()
    damaged_config_rows: int = 0
    damaged_counters: int = 0
    search_problem: str = ""
    set_aside_stores: tuple[SetAsideStore, ...] = ()
    store_copies: tuple[str, ...] = ()
    leftover_files: tuple[str, ...] = ()
    unreadable_run_files: tuple[tuple[str, str], ...] = ()
    other_core_folders: tuple[str, ...] = ()
    tokens: tuple[tuple[str, str], ...] = ()
    agent_store_problems: tuple[str, ...] = ()
    set_aside_agent_stores: tuple[str, ...] = ()

    @property
    def damaged_store(self) -> bool:
        """Whether the store has to be built anew to be well again."""
        hurt = (
            self.unopenable_store,
            self.structure_problems,
            self.damaged,
            self.damaged_config_rows,
        )
        return any(hurt)


def examine_folder(folder: Path, *, is_locked_here: bool = False) -> FolderReport:
    """Examine everything in a folder. Takes as long as reading the whole folder.

    Args:
        folder: A Core's data folder.
        is_locked_here: Whether the caller holds the folder's lock.
    """
    path, agents = folder / STORE_FILE, folder / RUNTIME_FILE
    owner = None if is_locked_here else find_lock_holder(folder)
    there = next(each for each in (folder, *folder.absolute().parents) if each.exists())
    leftovers = list_leftover_files(folder, is_locked=owner is not None)
    report = FolderReport(
        folder=str(folder),
        exists=path.exists(),
        holder=str(owner) if owner else "",
        network_file_system=find_network_file_system(folder) or "",
        sqlite=sqlite3.sqlite_version_info,
        free_bytes=shutil.disk_usage(there).free,
        size_bytes=sum(map(_size, (*folder.glob("*"), *(folder / RUN_FILES_FOLDER).glob("*")))),
        open_to_others=tuple(_find_open_to_others(folder)),
        latest_version=migrations.VERSION,
        search_problem=_check_search(folder / SEARCH_FILE),
        set_aside_stores=tuple(map(_examine_set_aside_store, list_set_aside_stores(path))),
        store_copies=tuple(each.name for each in list_store_copies(path)),
        leftover_files=tuple(each.name for each in leftovers),
        unreadable_run_files=tuple(_find_unreadable_run_files(folder / RUN_FILES_FOLDER)),
        other_core_folders=tuple(
            str(each.parent) for each in sorted(folder.glob(f"[0-9]*/{STORE_FILE}"))
        ),
        tokens=tuple(_tokens(folder)),
        agent_store_problems=tuple(_check_structure(agents)) if agents.exists() else (),
        set_aside_agent_stores=tuple(map(str, list_set_aside_stores(agents))),
    )
    return _examine_store(report, path) if report.exists else report


# ---- the store --------------------------------------------------------------------------------------


def _examine_store(report: FolderReport, path: Path) -> FolderReport:
    try:
        with contextlib.closing(StoreReader(path)) as reader:
            runs = reader.list_runs()
            names = {each.run.id: each.run.name for each in runs}
            damaged_config_rows = reader.read_config_rows().damaged
            orphans = list(_find_orphaned_runs(path, set(names)))
            damaged_runs = [*_find_damaged_runs(reader, [each.run for each in runs]), *orphans]
            held = bool(report.holder)  # a running Core has compared them when it began
            changes = {each.run.id: each.change_count for each in runs if not each.damaged}
            marks = (
                CountersReport()
                if held
                else compare_counters(path.with_name(COUNTERS_FILE), changes)
            )
            known = {*changes, *(run.id for run in damaged_runs)}
        return replace(
            report,
            version=migrations.VERSION,
            structure_problems=tuple(_check_structure(path)),
            runs=len(runs),
            damaged=tuple(damaged_runs),
            missing=tuple(_find_missing_changes(marks, names, known)),
            past_losses=tuple(_find_past_losses(path, names)),
            damaged_config_rows=damaged_config_rows,
            damaged_counters=marks.damaged,
        )
    except NewerStoreError:
        return replace(report, version=_version(path))
    except (StoreError, sqlite3.Error) as error:
        cause = error.__cause__ if isinstance(error, StoreError) else error
        if is_no_damage(cause):
            return replace(report, unreadable_reason=str(cause))
        older = _version(path)
        if 0 < older < migrations.VERSION:  # the next Core migrates it
            return replace(report, version=older, structure_problems=tuple(_check_structure(path)))
        known = _read_search_run_ids(path.with_name(SEARCH_FILE))
        return replace(report, unopenable_store=_examine_set_aside_store(path, known))


def _find_damaged_runs(reader: StoreReader, runs: list[Run]) -> Iterator[DamagedRun]:
    for run in runs:
        try:
            reader.history(run.id)
        except DamagedRunError as error:
            yield DamagedRun(run.id, run.name, error.damage)
        except KeyError:  # deleted meanwhile; or it can't be found by its id
            if any(run.id == each.run.id for each in reader.list_runs()):
                yield DamagedRun(run.id, run.name, "its header is missing")


def _find_orphaned_runs(path: Path, listed: set[str]) -> Iterator[DamagedRun]:
    """Yield the runs whose header is lost, but not all of their rows."""
    with contextlib.closing(connect(path, "ro")) as connection:
        connection.execute("BEGIN")  # one state for all that follows
        tables = " UNION ".join(f"SELECT run FROM {table}" for table in _TABLES_OF_RUNS)
        query = f"SELECT run FROM ({tables}) WHERE run NOT IN (SELECT n FROM runs NOT INDEXED)"
        lost = {n for (n,) in connection.execute(query)}
        present = {n for (n,) in connection.execute("SELECT n FROM runs NOT INDEXED")}
        known = dict(connection.execute("SELECT n, id FROM runs ORDER BY id"))
        for n in sorted(lost | (known.keys() - present), key=str):
            id = known.get(n)
            if id not in listed:
                yield DamagedRun(str(id or f"number {n}"), "", "its header is lost")


def _find_missing_changes(
    marks: CountersReport, names: dict[str, str], known: set[str]
) -> Iterator[DamagedRun]:
    for each in marks.missing:
        if each.is_run_known or each.run not in known:
            yield DamagedRun(each.run, names.get(each.run, ""), str(each))


def _find_past_losses(path: Path, names: dict[str, str]) -> Iterator[DamagedRun]:
    with contextlib.closing(connect(path, "ro")) as connection:
        for id, damage in read_losses(connection).items():
            if id in names or "lost whole" in damage:  # else it was deleted since
                yield DamagedRun(id, names.get(id, ""), damage)


def _check_structure(path: Path) -> Iterator[str]:
    try:
        with contextlib.closing(connect(path, "ro")) as connection:
            for (line,) in connection.execute(f"PRAGMA integrity_check({_MAX_PROBLEM_LINES})"):
                yield from (each for each in line.splitlines() if each not in ("ok", ""))
    except sqlite3.DatabaseError as error:
        yield str(error)


def _version(path: Path) -> int:
    with contextlib.suppress(sqlite3.Error), contextlib.closing(connect(path, "ro")) as connection:
        return migrations.read_version(connection)
    return 0


def _examine_set_aside_store(path: Path, known: Set[str] = frozenset()) -> SetAsideStore:
    """Examine the readable runs of a store; `known` are the ids of runs that it should have."""
    intact_runs, damaged_runs, lost = 0, [], set(known)
    try:
        with open_damaged_store(path) as found:
            for each in found.runs():
                lost.discard(each.history.run.id)
                if each.losses:
                    run = each.history.run
                    damaged_runs.append(DamagedRun(run.id, run.name, join_losses(each.losses)))
                else:
                    intact_runs += 1
    except (sqlite3.Error, OSError) as error:
        return SetAsideStore(path.name, lost_run_ids=tuple(sorted(known)), problem=str(error))
    problem = "" if intact_runs or damaged_runs else "no run can be found in it"
    return SetAsideStore(path.name, intact_runs, tuple(damaged_runs), tuple(sorted(lost)), problem)


# ---- what else lies there ---------------------------------------------------------------------------


def _check_search(path: Path) -> str:
    if not path.exists():
        return ""
    try:
        with contextlib.closing(connect(path, "ro")) as connection:
            ((line,),) = connection.execute("PRAGMA quick_check(1)")
    except UnicodeDecodeError:  # what SQLite says of it quotes it
        return "its schema is damaged"
    except sqlite3.Error as error:
        return str(error)
    return "" if line == "ok" else str(line)


def _read_search_run_ids(path: Path) -> set[str]:
    """Read the ids of runs in the search index, a second list in case the store's own is lost."""
    try:
        with contextlib.closing(connect(path, "ro")) as connection:
            return {str(id) for (id,) in connection.execute("SELECT id FROM runs")}
    except (sqlite3.Error, UnicodeDecodeError):
        return set()


def _find_open_to_others(folder: Path) -> Iterator[str]:
    files = list_core_files(folder)
    for each in (folder, *files) if files else ():
        with contextlib.suppress(OSError):
            if each.stat().st_mode & _OTHERS_MODE_BITS:
                yield str(each.relative_to(folder))


def _find_unreadable_run_files(logs: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(logs.glob("*.run")):
        try:
            runfile.load_run(read_run_file(path))
        except (ProtocolError, OSError) as error:
            yield path.name, str(error)


def _tokens(folder: Path) -> Iterator[tuple[str, str]]:
    for name in TOKEN_FILES:
        try:
            data = (folder / name).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            yield name, str(error)
        else:
            if not _TOKEN.fullmatch(data):
                yield name, "it is damaged"


def _size(path: Path) -> int:
    with contextlib.suppress(OSError):
        return path.stat().st_size if path.is_file() else 0
    return 0
