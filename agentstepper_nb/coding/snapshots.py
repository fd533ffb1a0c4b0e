"""Snapshots of the workspace before a command or a tool changes it, so that lost work comes back."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Final

from ..errors import WorkspaceError
from ..sdk.workspace import Workspace
from ..sdk.workspace.repository import find_git_dir
from ..sdk.workspace.scan import ScanLimits
from .policy.unrecoverable_files import CommittedFiles

#: The largest workspace that a session takes snapshots of by itself.
SCAN_LIMITS: Final = ScanLimits(max_files=100_000, max_unread_bytes=2 * 1024**3)
#: The prefix of the names of the snapshots' branches.
_PROGRAM: Final = "code"


class Snapshots:
    """Stores the files of a workspace as they were before they are changed.

    The files go to the private repository of docs/design/0004. Where a debugger watches the folder, its
    snapshots are continued, so that each change is stored once. Blocking; may be called from any thread.

    Args:
        folder: The workspace, without links.
        data_dir: The folder that keeps private repositories.
        scan_limits: The largest workspace of which snapshots are taken.
    """

    def __init__(self, folder: Path, data_dir: Path, scan_limits: ScanLimits = SCAN_LIMITS) -> None:
        self._folder = folder
        self._data_dir = data_dir
        self._scan_limits = scan_limits
        self._lock = threading.Lock()
        self._debugger_workspace: Workspace | None = None
        self._own: Workspace | None = None
        self._unavailable_reason: str | None = None
        self._is_closed = False

    @property
    def git_dir(self) -> Path:
        """The private repository that has the session's own snapshots, once there is one."""
        return find_git_dir(self._data_dir.resolve(), self._folder)

    @property
    def unavailable_reason(self) -> str | None:
        """Why the newest look stored nothing; None where it did."""
        return self._unavailable_reason

    def use_debugger_workspace(self, workspace: Workspace | None) -> None:
        """Continue the snapshots of a debugger's run; None: it has ended, or watches another folder."""
        with self._lock:
            self._debugger_workspace = workspace

    def save_snapshot(self) -> Workspace | None:
        """Store what changed since the last look.

        Returns:
            The workspace that stored it; None where nothing can be stored: `unavailable_reason`
            says why.
        """
        with self._lock:
            if self._is_closed:
                return None
            try:
                workspace = self._get_workspace()
                workspace.record_changes()
            except WorkspaceError as error:
                self._unavailable_reason = str(error)
                return None
            self._unavailable_reason = None
            return workspace

    def is_recoverable(self, path: Path) -> bool:
        """Whether a commit or a snapshot holds a file as it is now; see `RecoverableFiles` of the
        policy.

        What changed since the last look is stored first. Without snapshots only a commit of the user's
        repository counts.
        """
        workspace = self.save_snapshot()
        if workspace is not None:
            return workspace.has_stored(path)
        return CommittedFiles(self._folder).is_recoverable(path)

    def close(self) -> None:
        """End the session's own watch. Idempotent."""
        with self._lock:
            self._is_closed = True
            own, self._own = self._own, None
            if own is not None:
                own.close()

    def _get_workspace(self) -> Workspace:
        if self._debugger_workspace is not None and not self._debugger_workspace.is_closed:
            return self._debugger_workspace
        if self._own is None:
            self._own = Workspace(
                self._folder, _PROGRAM, data_dir=self._data_dir, limits=self._scan_limits
            )
        return self._own
