"""Trees of files, what they are in every detail, and runs whose snapshots they are."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from pathlib import Path

from hypothesis import strategies as st

from agentstepper_nb.replay.recordings import RecordedFiles
from agentstepper_nb.sdk.workspace import Workspace

#: A file of a tree: whether it is executable, and its content; or the target of a link.
File = tuple[bool, bytes] | bytes
Tree = dict[bytes, File]

#: Few names, so that files, folders and links take each other's places.
NAMES = st.sampled_from(
    [b"a", b"b", b"c d", "ä".encode(), b"new\nline", b'quo"te', b"-x", b"not\xffutf8", b".hidden"]
)
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(b"/".join)
CONTENTS = st.one_of(
    st.sampled_from([b"", b"one\n", b"two\r\n", b"\0binary\xff"]), st.binary(max_size=40)
)
LINKS = st.sampled_from([b"a", b"../..", b"/etc", b"nowhere", b"b/a"])
FILES = st.one_of(st.tuples(st.booleans(), CONTENTS), LINKS)


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    """A tree; no file lies below another."""
    tree: Tree = {}
    for path, file in draw(st.dictionaries(PATHS, FILES, max_size=8)).items():
        if not any(_is_below(path, other) or _is_below(other, path) for other in tree):
            tree[path] = file
    return tree


def _is_below(path: bytes, other: bytes) -> bool:
    return path.startswith(other + b"/")


def write_tree(folder: Path, tree: Tree) -> None:
    """Make a folder's files those of a tree; `.git` stays."""
    folder.mkdir(exist_ok=True)
    for entry in list(folder.iterdir()):
        if entry.name == ".git":
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()
    for path, file in tree.items():
        where = Path(os.fsdecode(os.fsencode(folder) + b"/" + path))
        where.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(file, bytes):
            where.symlink_to(os.fsdecode(file))
        else:
            where.write_bytes(file[1])
            where.chmod(0o755 if file[0] else 0o644)


def digest(folder: Path, *, with_permissions: bool = False) -> str:
    """A digest over path, mode and content of all below a folder but `.git`.

    Args:
        folder: The folder.
        with_permissions: Whether all permission bits count, those of folders too; else, of files,
            whether they are executable, and folders only where they have files.
    """
    hashed = hashlib.sha256()
    for path, mode, content in list_tree(folder, with_permissions=with_permissions):
        for part in (path, str(mode).encode(), content):
            hashed.update(b"%d:%b" % (len(part), part))
    return hashed.hexdigest()


def list_tree(folder: Path, *, with_permissions: bool = False) -> list[tuple[bytes, int, bytes]]:
    """What `digest` is made of."""
    found = []
    root = os.fsencode(folder)
    for parent, folders, files in os.walk(root):
        if b".git" in folders:
            folders.remove(b".git")
        links = [name for name in folders if os.path.islink(os.path.join(parent, name))]
        for name in (*files, *links):
            path = os.path.join(parent, name)
            looked = os.lstat(path)
            if stat.S_ISLNK(looked.st_mode):
                found.append((os.path.relpath(path, root), stat.S_IFLNK, os.readlink(path)))
                continue
            mode = looked.st_mode if with_permissions else bool(looked.st_mode & 0o100)
            found.append((os.path.relpath(path, root), mode, Path(os.fsdecode(path)).read_bytes()))
        if with_permissions:
            found += [
                (os.path.relpath(path, root), os.lstat(path).st_mode, b"")
                for path in (os.path.join(parent, name) for name in folders if name not in links)
            ]
    return sorted(found)


class RecordedRun:
    """A run whose snapshots are made by hand, one after each row.

    Args:
        folder: Its workspace.
        data: Where snapshots are kept.
    """

    def __init__(self, folder: Path, data: Path) -> None:
        self.workspace = Workspace(folder, "agent", data_dir=data)
        self._snapshots = [(0, self.workspace.initial_commit().id)]
        self.rows = 0

    def add_row(self) -> int:
        """A row at which the folder is looked at; its number, behind which the snapshot counts."""
        self.rows += 1
        made = self.workspace.snapshot()
        if made is not None:
            self._snapshots.append((self.rows, made.id))
        return self.rows

    def files(self) -> RecordedFiles:
        """What a recording says of its files."""
        folder = str(self.workspace.folder)
        return RecordedFiles("run-1", "agent", folder, tuple(self._snapshots))


def exact(folder: Path) -> str:
    """The digest of a folder with the permissions of its files."""
    return digest(folder, with_permissions=True)


def write_files(folder: Path, text: str, number: int = 20) -> None:
    """Write files into four folders."""
    for each in range(number):
        path = folder / f"part{each % 4}" / f"{each}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{text} {each}\n")
