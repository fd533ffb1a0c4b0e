"""A workspace and its commits."""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Set
from pathlib import Path

from agentstepper_nb.errors import WorkspaceError
from agentstepper_nb.protocol.data_model import Commit, FileChange

from . import commit_titles, git_command
from .cache import EntryCache
from .changes import CommitVersion, compare_commits
from .commit_draft import NAME
from .files import DEFAULT_FILE_LIMITS, FileEntry, FileLimits, FileStamp
from .git_command import GitError
from .git_names import escape_invalid, make_branch_name, make_snapshots_branch
from .outer_repository import OuterRepository, make_ignore_checker
from .reader import KnownFiles, WorkspaceReader
from .repository import Repository, find_git_dir
from .scan import ScanLimits, TrackedFiles, WorkspaceScanner

_log = logging.getLogger("agentstepper_nb.workspace")

Files = Mapping[bytes, FileEntry]

_MAX_NAMED = 5  # uncommitted files in a refusal

_SNAPSHOT = "Snapshot\n"
# Nobody can word a commit so that git takes it for a snapshot: two that are alike in all would be one.
_SNAPSHOTS_AUTHOR = f"{NAME} snapshot"


class Workspace:
    """A private git repository that tracks a folder's changes.

    The folder is only read. Its state when this object is made, committed or not, is the baseline. A
    commit has the changes since the last commit, a snapshot those since the last scan for a snapshot or
    a commit. Safe to use from several threads.

    Args:
        folder: The folder that the agent works on.
        program: The agent's name, for the branch.
        data_dir: The folder of the debugger's data; Jupyter's data folder by default.
        require_clean: Refuse when the user's own repository has uncommitted changes in the folder.
        clock: Gives the time of a commit, in POSIX seconds.
        limits: The largest folder that is tracked; None: any.
        file_limits: Limits of the stored bytes of a file, and of the sent bytes of a commit.
        git_timeout_s: Seconds that a git command may take.
        forced_files: Paths of files that are tracked though `.gitignore` excludes them.

    Raises:
        WorkspaceError: The folder can't be tracked; the text says why and what to do.
    """

    def __init__(
        self,
        folder: str | Path,
        program: str,
        *,
        data_dir: Path | None = None,
        require_clean: bool = False,
        clock: Callable[[], float] = time.time,
        limits: ScanLimits | None = None,
        file_limits: FileLimits = DEFAULT_FILE_LIMITS,
        git_timeout_s: float = git_command.TIMEOUT_S,
        forced_files: Set[bytes] = frozenset(),
    ) -> None:
        self.folder = _resolved(folder)
        git_command.check_git()
        self._clock = clock
        self._limits, self._file_limits = limits, file_limits
        self._git_timeout_s = git_timeout_s
        self._lock = threading.Lock()
        self._closed = False
        data = (data_dir or find_data_dir()).resolve()
        self._git_dir = find_git_dir(data, self.folder)
        with self._failing():
            owner = OuterRepository.find(self.folder, git_timeout_s)
            if require_clean:
                _refuse_uncommitted(self.folder, owner)
            self._repository = Repository.open(self._git_dir, self.folder)
            self._cache = EntryCache(
                self._repository.git_dir / "files.json", file_limits.max_stored_bytes
            )
            tracked = owner.list_tracked_ignored_files() if owner else frozenset()
            self._forced_files = tracked | forced_files
            self._reader = self._make_reader(owner, data)
            self._began_at = clock()
            self._branch, self._last_commit = self._start(make_branch_name(program, self._began_at))
        self._snapshots_branch = make_snapshots_branch(self._branch)
        self._last_seen = self._last_commit
        self._tracked = self._all_tracked(self._last_seen.files)
        self._baseline = self._last_commit.commit

    @property
    def branch(self) -> str:
        """The run's branch in the private repository."""
        return self._branch

    @property
    def head(self) -> str:
        """The newest commit of the run's branch."""
        return self._last_commit.commit

    @property
    def git_dir(self) -> Path:
        """The private repository."""
        return self._git_dir

    @property
    def files(self) -> Files:
        """The files as they were last seen, by path."""
        return self._last_seen.files

    @property
    def is_closed(self) -> bool:
        """Whether the watch has ended."""
        return self._closed

    @property
    def snapshots_branch(self) -> str:
        """The branch of the run's snapshots, which begins with the first of them."""
        return self._snapshots_branch

    def initial_commit(self) -> Commit:
        """The run's first commit: the baseline, without changes."""
        return Commit(id=self._baseline, at=self._began_at, title="Initialized repository")

    def commit(self, summary: str = "", description: str = "") -> Commit | None:
        """Commit the changes since the last commit.

        Args:
            summary: The first line is the title; without one the title is made by rule.
            description: The commit's description, unchanged.

        Returns:
            None where nothing changed.

        Raises:
            WorkspaceError: The folder is gone, or git failed. The next commit has these changes then.
        """
        with self._lock, self._failing():
            if self._closed:
                raise WorkspaceError(
                    f"The workspace {self.folder} is closed. Commit before close()."
                )
            at = self._clock()
            self._record_version(self._read_workspace(at))
            commit = self._name(commit_titles.make_message(summary, description), at)
        if commit is None:
            _log.info("No changes to commit.")
        return commit

    def snapshot(self) -> Commit | None:
        """Take a snapshot of the changes since the last scan.

        The snapshot is stored on its own branch, so that the next commit has its changes too.

        Returns:
            None where nothing changed, and after `close`.

        Raises:
            WorkspaceError: The folder is gone, or git failed. The next snapshot has these changes then.
        """
        with self._lock, self._failing():
            if self._closed:
                return None
            before, at = self._last_seen, self._clock()
            now = self._read_workspace(at)
            if now.commit == before.commit:
                self._record_version(now)
                return None
            changes = self._compare(before, now)
            self._record_version(now)
        title = commit_titles.make_title(changes)
        return Commit(
            id=now.commit, at=at, title=title, snapshot=True, has_rule_title=True, changes=changes
        )

    def record_changes(self) -> bool:
        """Store the changes since the last scan, without a comparison.

        The next snapshot has later changes only; the next commit has these changes too.

        Returns:
            Whether anything changed; False after `close`.

        Raises:
            WorkspaceError: The folder is gone, or git failed, as for `snapshot`.
        """
        with self._lock, self._failing():
            if self._closed:
                return False
            before = self._last_seen.commit
            self._record_version(self._read_workspace(self._clock()))
            return self._last_seen.commit != before

    def has_stored(self, path: Path) -> bool:
        """Whether the newest scan stored a file or link in its present state.

        Args:
            path: The absolute path, with the folder's links resolved.
        """
        with self._lock:
            if self._closed or not path.is_relative_to(self.folder):
                return False
            entry = self._last_seen.files.get(os.fsencode(path.relative_to(self.folder)))
        if entry is None or entry.size > self._file_limits.max_stored_bytes:
            return False
        try:
            return entry.stamp == FileStamp.from_stat(path.lstat())
        except OSError:
            return False

    def close(self) -> None:
        """End the watch. Does nothing the second time, and never touches the workspace."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._cache.save(self._last_seen.files)

    def _make_reader(self, owner: OuterRepository | None, data: Path) -> WorkspaceReader:
        git_dir, folder = self._repository.git_dir, self.folder
        ignore = make_ignore_checker(git_dir, folder, owner, self._git_timeout_s)
        root = os.fsencode(folder)
        own = {os.fsencode(data), os.fsencode(git_dir.parent)}
        max_stored_bytes = self._file_limits.max_stored_bytes
        scanner = WorkspaceScanner(root, ignore, own, self._limits, max_stored_bytes)
        return WorkspaceReader(root, scanner, self._file_limits)

    def _compare(self, before: CommitVersion, now: CommitVersion) -> tuple[FileChange, ...]:
        return compare_commits(self._repository, before, now, self._file_limits.max_bodies_bytes)

    def _start(self, name: str) -> tuple[str, CommitVersion]:
        """Commit the baseline on a branch of its own."""
        seen = self._cache.load()
        try:
            branch, now = self._branch_off(name, seen)
        except GitError as error:
            if not seen:
                raise
            _log.debug("The cache may not fit the repository, so all files are read: %s", error)
            branch, now = self._branch_off(name, {})
        if now.files != seen:
            self._cache.save(now.files)
        return branch, now

    def _branch_off(self, name: str, seen: Files) -> tuple[str, CommitVersion]:
        for number in itertools.count(1):
            branch = name if number == 1 else f"{name}-{number}"
            if self._repository.has_branch(branch):
                continue
            try:
                return branch, self._commit_baseline(branch, seen)
            except GitError:
                if not self._repository.has_branch(branch):  # else another run has just taken it
                    raise
        raise AssertionError("numbers don't end")

    def _commit_baseline(self, branch: str, seen: Files) -> CommitVersion:
        message = commit_titles.CommitMessage(
            "Workspace before the run",
            # The id keeps two runs from making the very same commit and sharing a branch.
            f"Folder: {escape_invalid(str(self.folder))}\nRun: {uuid.uuid4()}",
        )
        with self._repository.draft(branch, None, str(message), self._began_at) as draft:
            draft.begin()
            files = self._reader.read_into(
                draft, KnownFiles({}, seen, TrackedFiles(self._forced_files))
            )
            made = draft.finish()
        assert made is not None
        return CommitVersion(*made, files)

    def _read_workspace(self, at: float) -> CommitVersion:
        """Look at the workspace; what changed since the last look becomes a commit of the snapshots'."""
        before = self._last_seen
        with self._repository.draft(
            self._snapshots_branch, before.commit, _SNAPSHOT, at, _SNAPSHOTS_AUTHOR
        ) as draft:
            files = self._reader.read_into(
                draft, KnownFiles(before.files, before.files, self._tracked)
            )
            made = draft.finish()
        return before._replace(files=files) if made is None else CommitVersion(*made, files)

    def _record_version(self, now: CommitVersion) -> None:
        if now.files.keys() != self._last_seen.files.keys():
            self._tracked = self._all_tracked(now.files)
        self._last_seen = now

    def _all_tracked(self, files: Files) -> TrackedFiles:
        return TrackedFiles(files.keys() | self._forced_files)

    def _name(self, said: commit_titles.CommitMessage, at: float) -> Commit | None:
        """Make a commit of the last scan's state, on the run's branch."""
        before, now = self._last_commit, self._last_seen
        if now.tree == before.tree:
            return None
        changes = self._compare(before, now)
        ruled = not said.title
        if ruled:
            said = said._replace(title=commit_titles.make_title(changes))
        with self._repository.draft(self.branch, before.commit, str(said), at) as draft:
            draft.set_tree(now.tree)
            made = draft.finish()
        assert made is not None
        self._last_commit = CommitVersion(*made, now.files)
        return Commit(
            id=made.commit,
            at=at,
            title=said.title,
            description=said.description,
            has_rule_title=ruled,
            changes=changes,
        )

    @contextlib.contextmanager
    def _failing(self) -> Iterator[None]:
        """Turn whatever fails into the one error that is promised."""
        try:
            yield
        except WorkspaceError:
            raise
        except (GitError, OSError) as error:
            raise WorkspaceError(self._advice(error)) from error

    def _advice(self, error: Exception) -> str:
        if not self.folder.is_dir():
            return (
                f"The workspace {self.folder} no longer exists. Create the folder again, or "
                "start a new run."
            )
        advice = f"The workspace {self.folder} can't be watched: {error}."
        if isinstance(error, GitError):
            advice += (
                f" If this error repeats, delete {self._git_dir}, which holds only the "
                "changes of past runs."
            )
        return advice


def _resolved(folder: str | Path) -> Path:
    try:
        resolved = Path(folder).resolve(strict=True)
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links; a NUL
        raise WorkspaceError(
            f"The workspace {str(folder)!r} can't be found ({error}). Create the folder "
            "first, or pass the one your agent works in."
        ) from error
    if not resolved.is_dir():
        raise WorkspaceError(
            f"The workspace {str(folder)!r} is not a folder. Pass the folder your agent works in."
        )
    return resolved


def _refuse_uncommitted(folder: Path, owner: OuterRepository | None) -> None:
    if owner is None:
        if os.path.lexists(folder / ".git"):
            raise WorkspaceError(
                f"git can't read {folder / '.git'}, so uncommitted changes in {folder} "
                "can't be found. Repair the repository, or leave out require_clean."
            )
        return
    paths = owner.list_uncommitted()
    if paths:
        more = f" and {len(paths) - _MAX_NAMED} more" if len(paths) > _MAX_NAMED else ""
        raise WorkspaceError(
            f"{folder} has uncommitted changes: {', '.join(paths[:_MAX_NAMED])}{more}. "
            "Commit or stash them, or leave out require_clean to make them part of the "
            "baseline."
        )


def find_data_dir() -> Path:
    """The default folder of the debugger's data: Jupyter's data folder."""
    from agentstepper_nb.discover import data_dir

    return data_dir()
