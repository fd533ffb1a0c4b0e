"""Findings about a Core's data folder, made of what `store.checkup` found there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from .agent_findings import make_set_aside_finding
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


def make_store_findings(about: FolderReport) -> list[Finding]:
    """Say how it stands with each thing that was looked at."""
    return [
        *_store(about),
        *_runs(about),
        *(
            finding
            for each in about.set_aside_stores
            for finding in _make_set_aside_findings(each, about)
        ),
        *_agents(about),
        *_other_files(about),
        *_place(about),
    ]


def _repair(about: FolderReport) -> str:
    """What brings back what can be; a Core has to let go first."""
    command = f"`agentstepper doctor --data {about.folder} --repair`"
    if about.holder:
        return f"Stop {about.holder}, then run {command}."
    return f"Run {command}."


# ---- the store --------------------------------------------------------------------------------------


def _store(about: FolderReport) -> Iterator[Finding]:
    if about.holder:
        yield _well("holder", f"{about.folder} belongs to {about.holder}, which is running.")
    if not about.exists:
        yield _note("store", f"{about.folder} holds no store: no run was kept there yet.")
        return
    if about.version > about.latest_version:
        yield _wrong(
            "version",
            f"The store is of version {about.version}, and this agentstepper_nb reads versions up to "
            f"{about.latest_version}.",
            "Upgrade agentstepper_nb, or choose another folder.",
        )
        return
    if about.unreadable:
        yield _wrong(
            "store",
            f"The store can't be read now: {about.unreadable}.",
            "Look after its rights and the disk it is on; nothing in it needs to be damaged.",
        )
        return
    if about.unopened_store:
        yield from _make_set_aside_findings(about.unopened_store, about)
        return
    if about.version < about.latest_version:
        yield _note(
            "version",
            f"The store is of version {about.version}, and this agentstepper_nb keeps version "
            f"{about.latest_version}.",
            "The next Core brings it up to date and leaves a copy; its runs are looked at after that.",
        )
    else:
        mib = about.size // _MIB
        yield _well(
            "store",
            f"{about.folder} holds {_many(about.runs, 'run')} in a store of version "
            f"{about.version}; all its files have {mib} MiB.",
        )
    yield from _file(about)


def _file(about: FolderReport) -> Iterator[Finding]:
    if about.structure_problems:
        first, *more = about.structure_problems
        others = f", and {_many(len(more), 'thing')} more" if more else ""
        yield _wrong(
            "structure", f"The store's file itself is damaged: {first}{others}.", _repair(about)
        )
    else:
        yield _well("structure", "SQLite finds the store's file whole.")


def _runs(about: FolderReport) -> Iterator[Finding]:
    yield from _make_damage_findings(about.damaged, about)
    looked = about.exists and about.version == about.latest_version
    if looked and not (about.unreadable or about.unopened_store or about.damaged):
        yield _well("runs", "Every run agrees with its checksums.")
    for each in about.missing:
        name = f" ({each.name!r})" if each.name else ""
        yield _wrong(
            "marks",
            f"A damaged journal cost something: {each.damage}{name}.",
            "What its agent still holds comes again when it is back; the rest is lost. With --repair "
            "it isn't told again.",
        )
    for each in about.past_losses:
        name = f" ({each.name!r})" if each.name else ""
        yield _note(
            "marks",
            f"A damaged journal once cost something: {each.damage}{name}.",
            "If its agent came back it has sent again what it still had. --repair tags the run as "
            "damaged, and this isn't told again.",
        )
    if about.damaged_rules:
        yield _wrong(
            "rules",
            f"{_many(about.damaged_rules, 'row')} of the breakpoints and prices can't be read: "
            "a Core leaves them out.",
            f"{_repair(about)} Then set again what is missing.",
        )
    if about.damaged_marks:
        yield _note(
            "marks",
            f"{_many(about.damaged_marks, 'mark')} beside the journal can't be read: of as many runs "
            "nobody can tell whether the journal lost anything.",
        )


def _make_damage_findings(runs: Iterable[DamagedRun], about: FolderReport) -> Iterator[Finding]:
    for run in runs:
        name = f"{run.name!r} ({run.id})" if run.name else run.id
        yield _wrong("run", f"Of run {name} something is damaged: {run.damage}.", _repair(about))


def _make_set_aside_findings(aside: SetAsideStore, about: FolderReport) -> Iterator[Finding]:
    yield from _unopened(aside, about)
    yield from _make_damage_findings(aside.damaged, about)
    for run in aside.lost:
        yield _wrong(
            "run",
            f"Run {run} is lost: nothing of it is left in {aside.file}.",
            "Put back a copy of the file, if you have one.",
        )


def _unopened(aside: SetAsideStore, about: FolderReport) -> Iterator[Finding]:
    if aside.problem:
        yield _wrong(
            "damaged store",
            f"Nothing can be read of {aside.file}: {aside.problem}. All of its runs are lost.",
            "Put back a copy of it, if you have one. `sqlite3 FILE .recover` may find more in it; else "
            "delete it.",
        )
        return
    yield _wrong(
        "damaged store",
        f"{aside.file} can't be opened. Of its runs {aside.intact_runs} can be brought back whole, and "
        f"{len(aside.damaged)} in part.",
        _repair(about),
    )


# ---- agents that run on their own -------------------------------------------------------------------


def _agents(about: FolderReport) -> Iterator[Finding]:
    if about.agents:
        first, *more = about.agents
        others = f", and {_many(len(more), 'thing')} more" if more else ""
        file = f"{about.folder}/runtime.sqlite"
        yield _wrong(
            "agents",
            f"The file of agents that run on their own is damaged: {first}{others}.",
            f"Stop the Core, and move {file} away: a new one begins. `sqlite3 FILE .recover` brings "
            "back what can be read of the old one.",
        )
    yield from map(make_set_aside_finding, about.set_aside_agent_stores)


# ---- what else is there -----------------------------------------------------------------------------


def _other_files(about: FolderReport) -> Iterator[Finding]:
    if about.search:
        yield _note(
            "search",
            f"The search's file can't be used: {about.search}.",
            "Nothing is lost: the next Core makes it anew.",
        )
    for name, why in about.unreadable_run_files:
        yield _wrong(
            "file", f"logs/{name} isn't listed: {why}", "Put back a copy of it, or delete it."
        )
    for name, why in about.tokens:
        yield _wrong(
            "token",
            f"The token in {name} can't be used: {why}.",
            f"Delete the file {name}: the next Core makes another.",
        )
    if about.open_to_others:
        names = ["the folder" if name == "." else name for name in about.open_to_others]
        yield _wrong(
            "rights",
            f"Other users can read what is yours: {', '.join(names)}.",
            _repair(about),
        )
    if about.store_copies:
        yield _note(
            "copies",
            "An earlier state is kept, also of runs that were deleted since: "
            f"{', '.join(about.store_copies)}.",
            "Delete these files when you miss nothing.",
        )
    if about.others:
        yield _note(
            "others",
            f"Other Cores keep runs in folders of their own: {', '.join(about.others)}.",
            "Name one of them with --data to look there.",
        )
    if about.leftover_files:
        yield _note(
            "leftovers",
            f"Interrupted writes left something behind: {', '.join(about.leftover_files)}.",
            "Nothing needs these files; --repair deletes them.",
        )


def _place(about: FolderReport) -> Iterator[Finding]:
    if about.network:
        yield _note(
            "network",
            f"{about.folder} lies on a network file system ({about.network}): each change is synced, "
            "which is slower.",
            "Better choose a folder on a disk of this machine.",
        )
    if about.free < _LOW_SPACE_BYTES:
        yield _note(
            "room",
            f"Only {about.free // _MIB} MiB are free in {about.folder}.",
            "Agents wait where nothing can be written: delete some runs, or use another disk.",
        )
    if about.sqlite < _MIN_SQLITE_VERSION:
        yield _note(
            "sqlite",
            f"SQLite {'.'.join(map(str, about.sqlite))} can damage a file to which two programs write "
            "at once; ours doesn't.",
            "Let no other program write to store.sqlite.",
        )


def _many(number: int, damage: str) -> str:
    return f"{number} {damage}{'' if number == 1 else 's'}"
