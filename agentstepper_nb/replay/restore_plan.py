"""Plans a restore in place: the files to write and to delete, and the order."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

from ..errors import WorkspaceError
from ..sdk.workspace.files import DEFAULT_FILE_LIMITS, FileEntry, parse_large_file
from ..sdk.workspace.git_names import format_wire_name
from ..sdk.workspace.ignore_rules import IgnoreQuery, list_folders_above
from ..sdk.workspace.outer_repository import OuterRepository, make_ignore_checker
from ..sdk.workspace.repository import Repository, StoredFile
from .tree_writer import LINK_MODE, TreeWriter, match_permissions
from .workspace_report import LeftOutFile

_LARGE: Final = "too large to be stored; it stays as it is"
_NOT_STORED: Final = "something that isn't stored stands there, and stays"
_IGNORED: Final = ".gitignore leaves it out; it stays"


class RestorePlan:
    """The differences between two states of a folder.

    Args:
        target: The files of the state to restore.
        present: The files of the present state.
        made: The files that the restore being put back had made; these are deleted even if `.gitignore`
            ignores them.
    """

    def __init__(
        self,
        target: Mapping[bytes, StoredFile],
        present: Mapping[bytes, FileEntry],
        made: Collection[bytes] = (),
    ) -> None:
        self.target = target
        self.present = present
        self.made = frozenset(made)
        #: Paths of the files to be written, links last.
        self.written = sorted(
            (path for path, file in target.items() if not _is_same(file, present.get(path))),
            key=lambda path: (target[path].mode == LINK_MODE, path),
        )
        #: Paths of the files to be deleted.
        self.deleted = sorted(path for path in present if path not in target)
        folders = {folder for path in self.written for folder in list_folders_above(path)}
        written = set(self.written)
        #: The deleted files whose path a new file or folder needs.
        self.blocking = [
            path
            for path in self.deleted
            if path in folders or not written.isdisjoint(list_folders_above(path))
        ]

    def list_touched_folders(self) -> set[bytes]:
        """The folders, or files in the place of folders, that may be made or removed."""
        touched = {
            folder for path in (*self.written, *self.deleted) for folder in list_folders_above(path)
        }
        return touched.union(self.written)


class FolderRestorer:
    """Changes a folder by a plan.

    Args:
        folder: The folder, without links.
        repository: The private repository that has the files.
        plan: The plan.
        temporary: The name under which a file is written before it takes its place.
    """

    def __init__(
        self, folder: Path, repository: Repository, plan: RestorePlan, temporary: bytes
    ) -> None:
        self._folder = folder
        self._repository = repository
        self._plan = plan
        self._temporary = temporary
        #: Permission bits of files, where they are known.
        self.permissions: Mapping[bytes, int] = {}
        #: Folders that stay, or are made again, with their permission bits.
        self.folders: Mapping[bytes, int] = {}
        self.written: list[str] = []
        self.deleted: list[str] = []
        self.left_out: list[LeftOutFile] = []

    def restore(self) -> None:
        """Change the folder.

        Raises:
            OSError: A file can't be written or deleted.
            GitError: The repository can't be read.
            WorkspaceError: A file was changed meanwhile.
        """
        plan, target = self._plan, self._plan.target
        with TreeWriter(self._folder, self._temporary) as writer:
            self._delete(writer, plan.blocking)
            with self._repository.open_blobs() as blobs:
                contents = blobs.read_many(target[path].blob for path in plan.written)
                for path, content in zip(plan.written, contents, strict=True):
                    self._write(writer, path, content)
            blocking = set(plan.blocking)
            self._delete(
                writer, self._leave_ignored([p for p in plan.deleted if p not in blocking])
            )
            for path, permissions in sorted(self.folders.items()):
                try:
                    writer.make_folder(path, permissions)
                except OSError as error:  # something that isn't stored stands there
                    self._leave_out(path, str(error))

    def _write(self, writer: TreeWriter, path: bytes, content: bytes) -> None:
        file = self._plan.target[path]
        if file.mode != LINK_MODE and parse_large_file(content) is not None:
            self._leave_out(path, _LARGE)
            return
        try:
            found = writer.find(path)
        except OSError:  # a link or a file in a folder's place
            self._leave_out(path, _NOT_STORED)
            return
        if not self._may_replace(writer, path, found):
            return
        permissions = self.permissions.get(path)
        if permissions is None:
            permissions = match_permissions(file.mode, found and found.st_mode)
        writer.write(path, file.mode, (content,), permissions)
        self.written.append(format_wire_name(path))

    def _may_replace(self, writer: TreeWriter, path: bytes, found: os.stat_result | None) -> bool:
        entry = self._plan.present.get(path)
        if entry is not None and _is_large(entry):
            self._leave_out(path, _LARGE)
            return False
        if entry is None and found is not None and not writer.remove_folder(path):
            self._leave_out(path, _NOT_STORED)
            return False
        if entry is not None:
            self._check_unchanged(path, entry, found)
        return True

    def _delete(self, writer: TreeWriter, paths: list[bytes]) -> None:
        for path in paths:
            entry = self._plan.present[path]
            if _is_large(entry):
                self._leave_out(path, _LARGE)
                continue
            found = writer.find(path)
            if found is None:
                continue
            self._check_unchanged(path, entry, found)
            writer.delete(path)
            self.deleted.append(format_wire_name(path))
            self._remove_empty_folders(writer, path)

    def _remove_empty_folders(self, writer: TreeWriter, path: bytes) -> None:
        for folder in list_folders_above(path):
            if folder in self.folders or not writer.remove_folder(folder):
                return

    def _leave_ignored(self, paths: list[bytes]) -> list[bytes]:
        """Those of the paths that the folder's rules, as they are by now, don't leave out."""
        asked = [path for path in paths if path not in self._plan.made]
        if not asked:
            return paths
        checker = make_ignore_checker(
            self._repository.git_dir, self._folder, OuterRepository.find(self._folder)
        )
        checker.begin()
        ignored = checker.select_ignored([IgnoreQuery(path, False, ()) for path in asked])
        for path in sorted(ignored):
            self._leave_out(path, _IGNORED)
        return [path for path in paths if path not in ignored]

    def _check_unchanged(self, path: bytes, entry: FileEntry, found: os.stat_result | None) -> None:
        """Refuse to lose what was written after the present state was stored."""
        stamp = entry.stamp
        # Not the change time: it changes where another name of the same file is replaced.
        if found is None or (
            found.st_mode,
            found.st_size,
            found.st_mtime_ns,
            found.st_ino,
        ) != (stamp.mode, stamp.size, stamp.mtime_ns, stamp.inode):
            raise WorkspaceError(
                f"{format_wire_name(path)} in {self._folder} was changed while files were restored "
                "there, and was left as it is. End what writes there, and run agentstepper put-back "
                f"{self._folder}"
            )

    def _leave_out(self, path: bytes, reason: str) -> None:
        self.left_out.append(LeftOutFile(format_wire_name(path), reason))


def _is_same(file: StoredFile, entry: FileEntry | None) -> bool:
    return entry is not None and (entry.mode, entry.blob) == (file.mode, file.blob)


def _is_large(entry: FileEntry) -> bool:
    return entry.size > DEFAULT_FILE_LIMITS.max_stored_bytes
