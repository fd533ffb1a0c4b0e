"""The folder that a fork works on: the files of the snapshot at its row, fresh or in place.

`prepare_workspace` makes one; docs/design/0026-replay.md has the decisions. Begin reading there.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ..errors import WorkspaceError
from ..history import StoredRun, load_run
from ..sdk.workspace.files import LargeFile, open_file, parse_large_file
from ..sdk.workspace.git_command import GitError, check_git
from ..sdk.workspace.git_names import format_wire_name
from ..sdk.workspace.repository import Repository, StoredFile, find_git_dir
from ..sdk.workspace.scan import list_ignored_files
from ..sdk.workspace.workspace import find_data_dir
from ..sdk.workspace_redirect import (
    WORKSPACE_VARIABLE,
    WorkspaceRedirect,
    redirect_workspace,
)
from .recordings import RecordedFiles, Recording, find_recorded_files
from .restore import SnapshotSource, restore_in_place
from .tree_writer import LINK_MODE, TreeWriter
from .workspace_report import LeftOutFile, WorkspaceMode, WorkspaceReport, make_notice

_CHUNK_BYTES: Final = 1024 * 1024
_MAX_NAME_CHARS: Final = 40
_REFUSED: Final = re.compile(r"[^\w.-]+")
_IGNORED: Final = ".gitignore leaves it out, so that no snapshot has it"
_LARGE: Final = "too large to be stored, and it isn't in the recorded folder any more"


@dataclass(frozen=True)
class PreparedWorkspace:
    """A folder with the files of a snapshot, for a fork to work on.

    Args:
        path: The folder, with links resolved.
        recorded: The workspace of the recorded run, which this folder replaces.
        cwd: The agent's working folder; None: the process's own stays, since it lies outside of the
            recorded workspace.
        report: Which files were written, and which were not.
    """

    path: Path
    recorded: Path
    cwd: Path | None
    report: WorkspaceReport

    @contextmanager
    def use(self) -> Iterator[None]:
        """Run an agent in the folder: `with prepared.use():`.

        Inside of the block `cwd` is the process's working folder. An AgentStepper that is made for
        the recorded workspace, or for a folder in it, watches this folder instead. A run that
        begins inside has a notice that names the files that were left out.

        Raises:
            OSError: The working folder can't be changed.
        """
        with redirect_workspace(self._make_redirect()), _change_folder(self.cwd):
            yield

    def make_variables(self) -> dict[str, str]:
        """Return environment variables by which a process's AgentSteppers watch this folder.

        They have the effect of `use`. The program that starts the process also sets the process's
        working folder to `cwd`, if that isn't None.
        """
        return {WORKSPACE_VARIABLE: self._make_redirect().make_variable()}

    def _make_redirect(self) -> WorkspaceRedirect:
        return WorkspaceRedirect(self.recorded, self.path, make_notice(self.report))


def prepare_workspace(
    run: str | StoredRun | Recording,
    row: int,
    mode: WorkspaceMode | str = WorkspaceMode.FRESH,
    *,
    cwd: str | os.PathLike[str] | None = None,
    data_dir: Path | None = None,
) -> PreparedWorkspace | None:
    """Make the folder that a fork works on.

    The files are those of the last snapshot before the row: at the end of a tool call the files
    after the call, at its begin the files before the call.

    Args:
        run: The recorded run: a stored run, its id or name, or the result of `load_recording`.
        row: The number of the row at which the run is forked.
        mode: Whether the folder is a new one, or the recorded run's.
        cwd: The working folder of the recorded agent; None: this process's.
        data_dir: The folder that stores snapshots and forks' folders; None: `agentstepper/` in
            Jupyter's data folder.

    Returns:
        None if the run had no workspace, and for `WorkspaceMode.NONE`.

    Raises:
        CommandError: `unknown_run`.
        WorkspaceError: The snapshot isn't on this machine, or the files can't be written.
        ValueError: `mode` is no workspace mode.
    """
    mode = WorkspaceMode(mode)
    files = None if mode is WorkspaceMode.NONE else _find_files(run)
    if files is None:
        return None
    data = (data_dir or find_data_dir()).resolve()
    source = find_snapshot(files, row, data)
    if mode is WorkspaceMode.IN_PLACE:
        report = restore_in_place(source, data)
    else:
        report = _write_fresh(source, data)
    return PreparedWorkspace(
        path=report.folder,
        recorded=source.folder,
        cwd=_find_cwd(source.folder, report.folder, cwd),
        report=report,
    )


def prepare_cut_workspace(
    recording: Recording, *, cwd: str | os.PathLike[str] | None = None
) -> PreparedWorkspace | None:
    """Make the folder of an agent that is served a part of a recording and then goes on by itself.

    Args:
        recording: The recording; each event that isn't served has a refusal. The folder is a new
            one, with the files after the last served outcome.
        cwd: As for `prepare_workspace`.

    Returns:
        None if the run had no workspace.

    Raises:
        WorkspaceError: As for `prepare_workspace`.
    """
    served = (each.end_seq or 0 for each in recording.events if each.refusal is None)
    return prepare_workspace(recording, max(served, default=1), cwd=cwd)


def find_snapshot(files: RecordedFiles, row: int, data_dir: Path) -> SnapshotSource:
    """Find the snapshot with a run's files at a row.

    Args:
        files: The place of the run's files.
        row: The row's number: the last snapshot before the row counts.
        data_dir: The folder that stores snapshots.

    Raises:
        WorkspaceError: The run has no snapshot before the row, or the snapshot isn't on this
            machine.
    """
    if row < files.first_row:
        raise WorkspaceError(
            f"The files of run {files.run} at row {row} are those of the run that it replays. Fork that "
            'run, or fork without files (workspace="none").'
        )
    folder, commit = Path(files.folder), files.find_snapshot(row)
    check_git()
    git_dir = find_git_dir(data_dir, folder)
    repository = Repository(git_dir, folder)
    if commit is None or not repository.has_commit(commit):
        raise WorkspaceError(
            f"The files of run {files.run} at row {row} can't be restored: {git_dir} has no snapshot of "
            f"{folder} for that row. Fork on the machine where the agent ran, or without files "
            '(workspace="none").'
        )
    return SnapshotSource(repository, folder, commit, files.run, files.program, row)


def _find_files(run: str | StoredRun | Recording) -> RecordedFiles | None:
    if isinstance(run, Recording):
        return run.files
    return find_recorded_files((load_run(run) if isinstance(run, str) else run).history())


def _write_fresh(source: SnapshotSource, data_dir: Path) -> WorkspaceReport:
    """Write the files of a snapshot to a new folder."""
    parent = data_dir / "forks"
    name = _REFUSED.sub("_", source.program)[:_MAX_NAME_CHARS]
    made: Path | None = None
    try:
        parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f"{name}-row{source.row}-", dir=parent))
        folder = made / (source.folder.name or "workspace")
        folder.mkdir()
        return _FreshFolder(source, folder).fill()
    except (OSError, GitError) as error:
        if made is not None:
            shutil.rmtree(made, ignore_errors=True)
        raise WorkspaceError(
            f"The files of run {source.run} at row {source.row} can't be written below {parent}: "
            f"{error}. No folder was left there."
        ) from error


class _FreshFolder:
    """Fills a new folder with the files of a snapshot.

    Args:
        source: The snapshot.
        folder: The folder, empty.
    """

    def __init__(self, source: SnapshotSource, folder: Path) -> None:
        self._source = source
        self._folder = folder
        self._left_out: list[LeftOutFile] = []
        self._written: list[str] = []

    def fill(self) -> WorkspaceReport:
        """Write all files.

        Raises:
            OSError: A file can't be written.
            GitError: The snapshot can't be read.
        """
        files = self._source.repository.list_files(self._source.commit)
        self._report_ignored(files.keys())
        # Links last, so that no file is ever written beside one.
        paths = sorted(files, key=lambda path: (files[path].mode == LINK_MODE, path))
        with self._source.repository.open_blobs() as blobs, TreeWriter(self._folder) as writer:
            contents = blobs.read_many(files[path].blob for path in paths)
            for path, content in zip(paths, contents, strict=True):
                self._write(writer, path, files[path], content)
        return WorkspaceReport(
            folder=self._folder,
            commit=self._source.commit,
            written=tuple(self._written),
            left_out=tuple(self._left_out),
        )

    def _report_ignored(self, files: Set[bytes]) -> None:
        """Say what the recorded folder has by now that no snapshot has."""
        git_dir, folder = self._source.repository.git_dir, self._source.folder
        try:
            own = (os.fsencode(git_dir.parents[1]), os.fsencode(git_dir.parent))
            ignored = list_ignored_files(git_dir, folder, files, own)
        except (OSError, GitError):  # the folder is gone, which is no harm
            return
        self._left_out += [
            LeftOutFile(format_wire_name(path), _IGNORED) for path in sorted(ignored - files)
        ]

    def _write(self, writer: TreeWriter, path: bytes, file: StoredFile, content: bytes) -> None:
        large = None if file.mode == LINK_MODE else parse_large_file(content)
        if large is None:
            writer.write(path, file.mode, (content,))
        elif not self._copy_large(writer, path, file, large):
            self._left_out.append(LeftOutFile(format_wire_name(path), _LARGE))
            return
        self._written.append(format_wire_name(path))

    def _copy_large(
        self, writer: TreeWriter, path: bytes, file: StoredFile, large: LargeFile
    ) -> bool:
        """Copy a file that isn't stored from the recorded folder, where it is still the same."""
        try:
            with open_file(os.fsencode(self._source.folder), path) as descriptor:
                if os.fstat(descriptor).st_size != large.size:
                    return False
                writer.write(path, file.mode, _read_checked(descriptor, large))
        except (_OtherContentError, FileNotFoundError, NotADirectoryError, PermissionError):
            return False
        return True


class _OtherContentError(OSError):
    """A file isn't the one that was recorded."""


def _read_checked(descriptor: int, large: LargeFile) -> Iterator[bytes]:
    hashed = hashlib.sha256()
    while part := os.read(descriptor, _CHUNK_BYTES):
        hashed.update(part)
        yield part
    if hashed.hexdigest() != large.digest:
        raise _OtherContentError


def _find_cwd(recorded: Path, folder: Path, cwd: str | os.PathLike[str] | None) -> Path | None:
    """The working folder in the place of one inside the recorded workspace; None for one outside."""
    try:
        inside = Path(cwd or os.getcwd()).resolve().relative_to(recorded)  # noqa: PTH109
    except (OSError, ValueError):  # it is gone; it lies elsewhere
        return None
    wanted = folder / inside
    return wanted if wanted.resolve().is_relative_to(folder) and wanted.is_dir() else folder


@contextmanager
def _change_folder(folder: Path | None) -> Iterator[None]:
    if folder is None:
        yield
        return
    before = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.chdir(folder)
        yield
    finally:
        with suppress(OSError):  # the agent's process may have lost the right to go back
            os.fchdir(before)
        os.close(before)
