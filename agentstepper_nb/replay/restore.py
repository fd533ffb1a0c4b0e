"""Restores a snapshot's files in the recorded run's folder, and undoes that.

The folder's present state is committed to the private repository first. Then only files that differ
are written, each beside its place and renamed; files that the snapshot lacks are deleted last.
Files that are stored nowhere are neither replaced nor deleted. A restore that was killed is undone
in the same way. The decisions are in docs/design/0026-replay.md.
"""

from __future__ import annotations

import os
import stat
import time
import uuid
from collections.abc import Iterator, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from ..errors import WorkspaceError
from ..history import StoredRun, load_run
from ..sdk.workspace import Workspace
from ..sdk.workspace.git_command import GitError, check_git
from ..sdk.workspace.repository import Repository, find_git_dir
from ..sdk.workspace.workspace import find_data_dir
from .restore_journal import JournalFolder, RestoreJournal, decode_path, encode_path
from .restore_plan import FolderRestorer, RestorePlan
from .tree_writer import TreeWriter
from .workspace_report import WorkspaceReport

#: The prefix of the branches that store the states before a restore.
_PROGRAM: Final = "before-restore"


@dataclass(frozen=True)
class SnapshotSource:
    """The snapshot that a fork begins with.

    Args:
        repository: The private repository that has the snapshot.
        folder: The workspace of the recorded run.
        commit: The snapshot, by git's hash.
        run: The recorded run's id.
        program: The recorded run's program name.
        row: The number of the row at which the run is forked.
    """

    repository: Repository
    folder: Path
    commit: str
    run: str
    program: str
    row: int


def restore_in_place(source: SnapshotSource, data_dir: Path) -> WorkspaceReport:
    """Restore a snapshot's files in the recorded run's workspace.

    Args:
        source: The snapshot.
        data_dir: The folder that stores snapshots.

    Raises:
        WorkspaceError: The present state can't be stored, the files can't be written, or an earlier
            restore was not finished.
    """
    folder = source.folder
    journals = JournalFolder(source.repository.git_dir, folder)
    with _explain_failures(folder), journals.lock():
        unfinished = journals.find_newest()
        if unfinished is not None and not unfinished.is_done:
            raise WorkspaceError(
                f"An earlier restore in {folder} didn't end, so that its files are of two states. "
                f"Put it back first: agentstepper put-back {folder}"
            )
        target = source.repository.list_files(source.commit)
        with _store_present(folder, data_dir, target.keys()) as present:
            plan = RestorePlan(target, present.files)
            journal = _make_journal(source, present.head, plan)
            journals.save(journal)
            report = _execute(source.repository, present, plan, journal)
        journals.finish(journal)
    return report


def find_restore(folder: Path, *, data_dir: Path | None = None) -> RestoreJournal | None:
    """Find the newest restore of a folder that was not put back; None: there is no such restore.

    Args:
        folder: The workspace.
        data_dir: The folder that stores snapshots; None: `agentstepper/` in Jupyter's data folder.

    Raises:
        WorkspaceError: The restore's journal can't be read.
    """
    git_dir = find_git_dir((data_dir or find_data_dir()).resolve(), folder)
    return JournalFolder(git_dir, folder).find_newest()


def put_back(
    target: str | os.PathLike[str] | StoredRun,
    *,
    data_dir: Path | None = None,
    restore: str | None = None,
) -> WorkspaceReport:
    """Undo the newest in-place restore of a folder, also one that was killed.

    The folder's files become what they were before the restore. First the present state is
    committed to the private repository, so that nothing is lost; `previous_commit` of the report
    names that commit.

    Args:
        target: The folder, or a run that worked on it: a stored run, its id or name. A text is
            taken as a folder if such a folder exists.
        data_dir: The folder that stores snapshots; None: `agentstepper/` in Jupyter's data folder.
        restore: The id of the restore to undo; None: the newest.

    Raises:
        CommandError: `unknown_run`.
        WorkspaceError: There is no restore to undo, another restore is the newest, or the files
            can't be written. In the last case, call this again once they can be.
    """
    folder = _find_folder(target)
    data = (data_dir or find_data_dir()).resolve()
    check_git()
    repository = Repository(find_git_dir(data, folder), folder)
    journals = JournalFolder(repository.git_dir, folder)
    restore = _find_journal(journals, folder, restore).id
    with _explain_failures(folder), journals.lock():
        # Another process may have put it back, in whole or in part, before the lock was free.
        journal = _find_journal(journals, folder, restore)
        before = repository.list_files(journal.previous_commit)
        _delete_temporary_files(folder, journal)
        planned = {decode_path(path) for path in journal.written}
        with _store_present(folder, data, before.keys() | planned) as present:
            plan = RestorePlan(before, present.files, made=planned)
            written = {*journal.written, *map(encode_path, plan.written)}
            journal = replace(journal, written=tuple(sorted(written)), is_done=False)
            journals.save(journal)
            report = _execute(
                repository, present, plan, replace(journal, commit=journal.previous_commit), journal
            )
        journals.delete(journal)
    return report


def _find_journal(journals: JournalFolder, folder: Path, restore: str | None) -> RestoreJournal:
    """Find the journal of the restore to undo.

    Raises:
        WorkspaceError: There is none, or another restore is the newest.
    """
    journal = journals.find_newest()
    if journal is None:
        raise WorkspaceError(
            f"There is nothing to put back in {folder}: no fork restored files in it that weren't put "
            "back since."
        )
    if restore is not None and journal.id != restore:
        raise WorkspaceError(
            f"Another fork has restored files in {folder} since, or they were put back in part. Look at "
            "the forks again, and put back the newest first."
        )
    return journal


def is_folder(target: str | os.PathLike[str]) -> bool:
    """Whether a target names a folder; otherwise it is a run's id or name."""
    return not isinstance(target, str) or Path(target).expanduser().is_dir()


def _execute(
    repository: Repository,
    present: Workspace,
    plan: RestorePlan,
    journal: RestoreJournal,
    undone: RestoreJournal | None = None,
) -> WorkspaceReport:
    restorer = FolderRestorer(present.folder, repository, plan, journal.temporary.encode())
    if undone is not None:
        restorer.permissions = {
            decode_path(path): mode for path, mode in undone.permissions.items()
        }
        restorer.folders = {decode_path(path): mode for path, mode in undone.folders.items()}
    restorer.restore()
    return WorkspaceReport(
        folder=present.folder,
        commit=journal.commit,
        written=tuple(restorer.written),
        deleted=tuple(restorer.deleted),
        left_out=tuple(restorer.left_out),
        previous_commit=present.head,
    )


def _make_journal(source: SnapshotSource, present: str, plan: RestorePlan) -> RestoreJournal:
    folder, token = source.folder, uuid.uuid4().hex[:12]
    return RestoreJournal(
        id=f"{time.time_ns():020}-{token}",
        folder=str(folder),
        run=source.run,
        row=source.row,
        commit=source.commit,
        previous_commit=present,
        temporary=f".agentstepper-{token}.tmp",
        written=tuple(map(encode_path, plan.written)),
        folders=_list_present_folders(folder, plan),
        permissions=_list_permissions(plan),
    )


def _list_present_folders(folder: Path, plan: RestorePlan) -> dict[str, int]:
    """The folders that are there now, among those that a restore may make or remove."""
    found: dict[bytes, int] = {}
    for path in sorted(plan.list_touched_folders()):
        above = path.rpartition(b"/")[0]
        if above and above not in found:  # what is beyond a link isn't in the folder
            continue
        with suppress(OSError):
            mode = os.lstat(os.path.join(os.fsencode(folder), path)).st_mode  # noqa: PTH118
            if stat.S_ISDIR(mode):
                found[path] = stat.S_IMODE(mode)
    return {encode_path(path): mode for path, mode in found.items()}


def _list_permissions(plan: RestorePlan) -> dict[str, int]:
    """The permission bits of the present files, where they aren't those of a new file."""
    mask = os.umask(0o077)
    os.umask(mask)
    found = {}
    for path, entry in plan.present.items():
        new = 0o777 if entry.mode == "100755" else 0o666
        if stat.S_ISREG(entry.stamp.mode) and stat.S_IMODE(entry.stamp.mode) != new & ~mask:
            found[encode_path(path)] = stat.S_IMODE(entry.stamp.mode)
    return found


def _delete_temporary_files(folder: Path, journal: RestoreJournal) -> None:
    """Delete what a restore that was killed left beside the file that it was about to replace."""
    folders = {decode_path(path).rpartition(b"/")[0] for path in journal.written}
    with TreeWriter(folder, journal.temporary.encode()) as writer:
        for each in sorted(folders):
            writer.delete_temporary(each)


@contextmanager
def _store_present(folder: Path, data_dir: Path, forced_files: Set[bytes]) -> Iterator[Workspace]:
    """The folder as it is now, committed."""
    present = Workspace(folder, _PROGRAM, data_dir=data_dir, forced_files=forced_files)
    try:
        yield present
    finally:
        present.close()


def _find_folder(target: str | os.PathLike[str] | StoredRun) -> Path:
    if isinstance(target, StoredRun):
        run = target
    elif is_folder(target):
        return Path(target).expanduser().resolve()
    else:
        run = load_run(os.fspath(target))
    folder = run.header.workspace
    if folder is None:
        raise WorkspaceError(
            f"Run {run.id} had no workspace, so that there is nothing to put back. Name the folder."
        )
    return Path(folder)


@contextmanager
def _explain_failures(folder: Path) -> Iterator[None]:
    try:
        yield
    except WorkspaceError:
        raise
    except (OSError, GitError) as error:
        raise WorkspaceError(
            f"The files in {folder} can't be restored: {error}. Files that were changed already are "
            f"stored: once the cause is removed, run agentstepper put-back {folder}"
        ) from error
