"""Findings about a Core's data folder, made of what `store.checkup` found there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from .agent_findings import make_damaged_store_finding
from .findings import Finding
from .findings import make_note_finding as _note
from .findings import make_ok_finding as _well
from .findings import make_problem_finding as _wrong

if TYPE_CHECKING:
    from ..store.checkup import DamagedRun, FolderReport, SetAsideStore

_LOW_SPACE_BYTES: Final = 200 << 20  # bytes: a few large runs
_MIB: Final = 1 << 20
#: The first version of SQLite without the WAL-reset defect.
_MIN_SQLITE_VERSION: Final = (3, 51, 3)


def make_store_findings(report: FolderReport) -> list[Finding]:
    """Say how it stands with each thing that was looked at."""
    return [
        *_store(report),
        *_runs(report),
        *(
            finding
            for each in report.set_aside_stores
            for finding in _make_set_aside_findings(each, report)
        ),
        *_agents(report),
        *_other_files(report),
        *_place(report),
    ]


def _repair(report: FolderReport) -> str:
    """What brings back what can be; a Core has to let go first."""
    command = f"`agentstepper doctor --data {report.folder} --repair`"
    if report.holder:
        return f"Stop {report.holder}, then run {command}."
    return f"Run {command}."


# ---- the store --------------------------------------------------------------------------------------


def _store(report: FolderReport) -> Iterator[Finding]:
    if report.holder:
        yield _well("holder", f"{report.folder} belongs to {report.holder}, which is running.")
    if not report.exists:
        yield _note("store", f"{report.folder} has no store, since no run was stored there yet.")
        return
    if report.version > report.latest_version:
        yield _wrong(
            "version",
            f"The store has version {report.version}, and this agentstepper_nb reads "
            f"versions up to {report.latest_version}.",
            "Upgrade agentstepper_nb, or choose another folder.",
        )
        return
    if report.unreadable_reason:
        yield _wrong(
            "store",
            f"The store can't be read: {report.unreadable_reason}.",
            "Check the file's permissions and its disk; the content may be undamaged.",
        )
        return
    if report.unopenable_store:
        yield from _make_set_aside_findings(report.unopenable_store, report)
        return
    if report.version < report.latest_version:
        yield _note(
            "version",
            f"The store has version {report.version}, and this agentstepper_nb writes "
            f"version {report.latest_version}.",
            "The next Core upgrades the store and leaves a copy. Run the doctor again "
            "after that to check the runs.",
        )
    else:
        mib = report.size_bytes // _MIB
        yield _well(
            "store",
            f"{report.folder} holds {_many(report.runs, 'run')} in a store of version "
            f"{report.version}; its files have {mib} MiB in all.",
        )
    yield from _file(report)


def _file(report: FolderReport) -> Iterator[Finding]:
    if report.structure_problems:
        first, *more = report.structure_problems
        others = f", and {_many(len(more), 'thing')} more" if more else ""
        yield _wrong(
            "structure", f"The store's file itself is damaged: {first}{others}.", _repair(report)
        )
    else:
        yield _well("structure", "SQLite finds no damage in the store's file.")


def _runs(report: FolderReport) -> Iterator[Finding]:
    yield from _make_damage_findings(report.damaged, report)
    looked = report.exists and report.version == report.latest_version
    if looked and not (report.unreadable_reason or report.unopenable_store or report.damaged):
        yield _well("runs", "Every run matches its checksums.")
    for each in report.missing:
        name = f" ({each.name!r})" if each.name else ""
        yield _wrong(
            "marks",
            f"A damaged journal lost data: {each.damage}{name}.",
            "The run's agent sends again what it still has once it reconnects; the rest "
            "is lost. --repair removes this finding.",
        )
    for each in report.past_losses:
        name = f" ({each.name!r})" if each.name else ""
        yield _note(
            "marks",
            f"A damaged journal lost data earlier: {each.damage}{name}.",
            "An agent that reconnected has sent again what it still had. --repair tags "
            "the run as damaged, and removes this finding.",
        )
    if report.damaged_config_rows:
        yield _wrong(
            "rules",
            f"{_many(report.damaged_config_rows, 'row')} of the breakpoints and prices can't be "
            "read, so a Core leaves them out.",
            f"{_repair(report)} Then set the missing breakpoints and prices again.",
        )
    if report.damaged_counters:
        yield _note(
            "marks",
            f"{_many(report.damaged_counters, 'mark')} beside the journal can't be read, so "
            "losses of as many runs can't be detected.",
        )


def _make_damage_findings(runs: Iterable[DamagedRun], report: FolderReport) -> Iterator[Finding]:
    for run in runs:
        name = f"{run.name!r} ({run.id})" if run.name else run.id
        yield _wrong("run", f"Run {name} is damaged: {run.damage}.", _repair(report))


def _make_set_aside_findings(aside: SetAsideStore, report: FolderReport) -> Iterator[Finding]:
    yield from _unopened(aside, report)
    yield from _make_damage_findings(aside.damaged, report)
    for run in aside.lost_run_ids:
        yield _wrong(
            "run",
            f"Run {run} is lost: {aside.file} has none of its data.",
            "Restore a copy of the file, if you have one.",
        )


def _unopened(aside: SetAsideStore, report: FolderReport) -> Iterator[Finding]:
    if aside.problem:
        yield _wrong(
            "damaged store",
            f"{aside.file} can't be read: {aside.problem}. All runs in it are lost.",
            "Restore a copy of the file, if you have one. Otherwise try `sqlite3 FILE "
            ".recover`, or delete the file.",
        )
        return
    yield _wrong(
        "damaged store",
        f"{aside.file} can't be opened. {aside.intact_runs} of its runs can be repaired "
        f"completely, and {len(aside.damaged)} in part.",
        _repair(report),
    )


# ---- background agents -------------------------------------------------------------------


def _agents(report: FolderReport) -> Iterator[Finding]:
    if report.agent_store_problems:
        first, *more = report.agent_store_problems
        others = f", and {_many(len(more), 'thing')} more" if more else ""
        file = f"{report.folder}/runtime.sqlite"
        yield _wrong(
            "agents",
            f"The file of background agents is damaged: {first}{others}.",
            f"Stop the Core, and move {file} away; the next Core begins a new file. "
            "`sqlite3 FILE .recover` reads what is left in the old one.",
        )
    yield from map(make_damaged_store_finding, report.set_aside_agent_stores)


# ---- what else is there -----------------------------------------------------------------------------


def _other_files(report: FolderReport) -> Iterator[Finding]:
    if report.search_problem:
        yield _note(
            "search",
            f"The index for search can't be used: {report.search_problem}.",
            "Nothing is lost: the next Core builds the index again.",
        )
    for name, why in report.unreadable_run_files:
        yield _wrong(
            "file", f"logs/{name} isn't listed: {why}", "Restore a copy of the file, or delete it."
        )
    for name, why in report.tokens:
        yield _wrong(
            "token",
            f"The token in {name} can't be used: {why}.",
            f"Delete the file {name}; the next Core creates a new token.",
        )
    if report.open_to_others:
        names = ["the folder" if name == "." else name for name in report.open_to_others]
        yield _wrong(
            "rights",
            f"Other users can read your files: {', '.join(names)}.",
            _repair(report),
        )
    if report.store_copies:
        yield _note(
            "copies",
            "There are copies of earlier states, which include runs that were deleted "
            f"since: {', '.join(report.store_copies)}.",
            "Delete these files when you miss nothing.",
        )
    if report.other_core_folders:
        yield _note(
            "others",
            f"Other Cores store runs in other folders: {', '.join(report.other_core_folders)}.",
            "Pass --data with one of these folders to check it.",
        )
    if report.leftover_files:
        yield _note(
            "leftovers",
            f"Interrupted writes left files behind: {', '.join(report.leftover_files)}.",
            "Nothing needs these files; --repair deletes them.",
        )


def _place(report: FolderReport) -> Iterator[Finding]:
    if report.network_file_system:
        yield _note(
            "network",
            f"{report.folder} is on a network file system ({report.network_file_system}), where each "
            "change is synced, which is slower.",
            "Choose a folder on a disk of this machine.",
        )
    if report.free_bytes < _LOW_SPACE_BYTES:
        yield _note(
            "room",
            f"Only {report.free_bytes // _MIB} MiB are free in {report.folder}.",
            "Agents wait when the disk is full. Delete some runs, or use another disk.",
        )
    if report.sqlite < _MIN_SQLITE_VERSION:
        yield _note(
            "sqlite",
            f"SQLite {'.'.join(map(str, report.sqlite))} can damage a file that two "
            "programs write at once; agentstepper_nb never does so.",
            "Don't write to store.sqlite with another program.",
        )


def _many(number: int, damage: str) -> str:
    return f"{number} {damage}{'' if number == 1 else 's'}"
