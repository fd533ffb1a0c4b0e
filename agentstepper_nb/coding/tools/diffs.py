"""Unified diffs: made of a change, and read as models write them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

_CONTEXT: Final = 3
# Comparing takes as long as its two sides multiplied: what is larger is shown as replaced.
_MAX_COMPARISONS: Final = 4_000_000
_NO_NEWLINE: Final = "\\ No newline at end of file"


def make_unified_diff(path: str, old: str | None, new: str | None) -> str:
    """Make the unified diff from one text to another; empty if the texts are equal.

    Args:
        path: The file's path, named on both sides.
        old: The old text; None: the file didn't exist.
        new: The new text; None: the file was deleted.
    """
    if old == new:
        return ""
    before = "/dev/null" if old is None else f"a/{path}"
    after = "/dev/null" if new is None else f"b/{path}"
    body = "".join(_hunks(split_lines(old or ""), split_lines(new or "")))
    return f"--- {before}\n+++ {after}\n{body}"


def split_lines(text: str) -> list[str]:
    """A text's lines with their ends, where git sees them end: at line feeds alone."""
    found = [f"{line}\n" for line in text.split("\n")]
    found[-1] = found[-1][:-1]
    return found if found[-1] else found[:-1]


def _hunks(old: list[str], new: list[str]) -> Iterator[str]:
    head = _count_common_lines(old, new)
    tail = _count_common_lines(old[head:][::-1], new[head:][::-1])
    # Only what differs is compared, with some lines around it.
    first = max(head - _CONTEXT, 0)
    last = max(tail - _CONTEXT, 0)
    a, b = old[first : len(old) - last], new[first : len(new) - last]
    if len(a) * len(b) > _MAX_COMPARISONS:
        groups = iter([_replaced(a, b, head - first, tail - last)])
    else:
        groups = iter(difflib.SequenceMatcher(None, a, b).get_grouped_opcodes(_CONTEXT))
    for group in groups:
        (_, a1, _, b1, _), (_, _, a2, _, b2) = group[0], group[-1]
        yield f"@@ -{_range(first, a1, a2)} +{_range(first, b1, b2)} @@\n"
        for what, i1, i2, j1, j2 in group:
            if what == "equal":
                yield from _marked(" ", a[i1:i2])
            else:
                yield from _marked("-", a[i1:i2])
                yield from _marked("+", b[j1:j2])


_Opcode = tuple[str, int, int, int, int]


def _replaced(a: list[str], b: list[str], head: int, tail: int) -> list[_Opcode]:
    """One hunk in which all between head and tail is another."""
    i, j = len(a) - tail, len(b) - tail
    return [
        ("equal", 0, head, 0, head),
        ("replace", head, i, head, j),
        ("equal", i, len(a), j, len(b)),
    ]


def _count_common_lines(old: list[str], new: list[str]) -> int:
    """How many lines both begin with."""
    for number, (one, other) in enumerate(zip(old, new, strict=False)):
        if one != other:
            return number
    return min(len(old), len(new))


def _range(first: int, begin: int, end: int) -> str:
    length = end - begin
    # An empty range is said to stand after the line before it.
    start = first + begin + (1 if length else 0)
    return f"{start}" if length == 1 else f"{start},{length}"


def _marked(mark: str, text: list[str]) -> Iterator[str]:
    for line in text:
        yield f"{mark}{line}" if line.endswith("\n") else f"{mark}{line}\n{_NO_NEWLINE}\n"


_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_MODE = re.compile(r"100([0-7]{3})")  # of a plain file; links and submodules have others
_OCTAL = re.compile(r"\\([0-7]{3}|.)")
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "a": "\a", "v": "\v"}
_SIDES: Final = ("a/", "b/")
_NOWHERE: Final = "/dev/null"
_PROGRAM: Final = 0o111


class PatchError(Exception):
    """A patch can't be read, or doesn't fit; the text says where and why."""


class Hunk(Struct, frozen=True):
    """A piece of a file, before and after. Lines have their ends, but for a last one without."""

    start: int  # its first line before, from 1; of none, the line it follows
    old: list[str]
    new: list[str]


class FilePatch(Struct, kw_only=True):
    """The patch of one file."""

    old: str | None  # its path before; None: it is created
    new: str | None  # its path after; None: it is deleted
    hunks: list[Hunk]
    is_executable: bool | None = None  # whether it is one afterwards; None: as before


def parse_patch(text: str) -> list[FilePatch]:
    """Read a patch.

    Args:
        text: Unified diffs, git's headers or not; other text around them is passed over.

    Raises:
        PatchError: There is none in it, or one that can't be read.
    """
    try:
        return _Reader(text, is_counted=True).files()
    except PatchError:
        return _Reader(text, is_counted=False).files()


def find_patch_paths(patch: str) -> tuple[str, ...]:
    """Find the paths in a patch, for the policy; none if the patch can't be parsed.

    Args:
        patch: The patch, in the format of `apply_patch`.
    """
    try:
        files = parse_patch(patch)
    except PatchError:
        return ()
    paths = [path for file in files for path in (file.old, file.new) if path is not None]
    return tuple(dict.fromkeys(paths))


class _Reader:
    """Reads a patch line by line."""

    def __init__(self, text: str, *, is_counted: bool) -> None:
        self._lines = text.split("\n")
        if self._lines[-1] == "":
            self._lines.pop()
        self._at = 0
        self._is_counted = is_counted

    def files(self) -> list[FilePatch]:
        """Read it all."""
        found: list[FilePatch] = []
        while self._at < len(self._lines):
            line = self._head()
            if line.startswith("diff --git "):
                found.append(self._git_file())
            elif self._is_at_names():
                found.append(self._named(FilePatch(old=None, new=None, hunks=[])))
            elif _HUNK.match(line):
                raise PatchError(f"Line {self._at + 1}: a hunk without `---` and `+++` before it.")
            else:
                self._at += 1
        if not found:
            raise PatchError("There is no diff in it: each file needs `--- a/…` and `+++ b/…`.")
        return found

    def _git_file(self) -> FilePatch:
        """A file with git's header, which alone may tell of a rename or a new mode."""
        patch = FilePatch(old=None, new=None, hunks=[])
        both = _two_names(self._head().removeprefix("diff --git "))
        created = deleted = renamed = False
        self._at += 1
        while self._at < len(self._lines) and not self._is_at_names():
            line = self._head()
            if line.startswith(("diff --git ", "@@ ")):
                break
            self._refuse(line)
            if line.startswith(("new file mode ", "deleted file mode ", "new mode ")):
                patch.is_executable = self._program(line.rpartition(" ")[2])
                created |= line.startswith("new file")
                deleted |= line.startswith("deleted")
            elif line.startswith("rename from "):
                patch.old, renamed = _unquoted(line.removeprefix("rename from ")), True
            elif line.startswith("rename to "):
                patch.new, renamed = _unquoted(line.removeprefix("rename to ")), True
            self._at += 1
        if deleted:
            patch.is_executable = None
        if not renamed and both:
            patch.old = None if created else both
            patch.new = None if deleted else both
        return self._named(patch) if self._is_at_names() else self._known(patch)

    def _refuse(self, line: str) -> None:
        """Refuse a line of git's header that tells of what isn't applied here."""
        if line.startswith(("GIT binary patch", "Binary files ")):
            raise PatchError(f"Line {self._at + 1}: a binary file can't be patched.")
        if line.startswith(("copy from ", "copy to ")):
            raise PatchError(f"Line {self._at + 1}: copies aren't known; create the file.")

    def _program(self, mode: str) -> bool:
        found = _MODE.fullmatch(mode)
        if not found:
            raise PatchError(f"Line {self._at + 1}: only plain files can be patched.")
        return bool(int(found[1], 8) & _PROGRAM)

    def _known(self, patch: FilePatch) -> FilePatch:
        if patch.old is None and patch.new is None:
            raise PatchError(f"Line {self._at}: which file is meant can't be told.")
        return patch

    def _named(self, patch: FilePatch) -> FilePatch:
        """The names above the hunks, and the hunks."""
        old = _name(self._head().removeprefix("--- "))
        new = _name(self._lines[self._at + 1].rstrip("\r").removeprefix("+++ "))
        if _prefixed(old, "a/") and _prefixed(new, "b/"):
            old, new = old and old[2:], new and new[2:]
        if patch.old is None or patch.new is None or (patch.old == patch.new):
            # Else it is a rename, and git's header has them plainer.
            patch.old, patch.new = (
                old,
                new,
            )
        self._at += 2
        while self._at < len(self._lines) and (found := _HUNK.match(self._head())):
            self._at += 1
            patch.hunks.append(self._hunk(found))
        if not patch.hunks:
            raise PatchError(f"Line {self._at}: no hunk, as `@@ -1,3 +1,4 @@`, after the names.")
        return self._known(patch)

    def _hunk(self, found: re.Match[str]) -> Hunk:
        old_left, new_left = int(found[2] or 1), int(found[4] or 1)
        old: list[str] = []
        new: list[str] = []
        mark = ""
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.startswith("\\"):
                _end_without_break({" ": (old, new), "-": (old,), "+": (new,)}.get(mark, ()))
                self._at += 1
                continue
            if self._is_hunk_end(line, old_left - len(old), new_left - len(new)):
                break
            mark, rest = (line[0], line[1:]) if line.strip("\r") else (" ", line)
            if mark in " -":
                old.append(f"{rest}\n")
            if mark in " +":
                new.append(f"{rest}\n")
            self._at += 1
        right = (len(old), len(new)) == (old_left, new_left) and not self._has_more_lines()
        if self._is_counted and not right:
            raise PatchError(f"Line {self._at}: the hunk has other numbers of lines than it says.")
        if not old and not new:
            raise PatchError(f"Line {self._at}: the hunk is empty.")
        return Hunk(int(found[1]), old, new)

    def _has_more_lines(self) -> bool:
        """Whether a line of a hunk stands here. `-- ` is how mails end that carry patches."""
        if self._at >= len(self._lines) or self._is_at_names():
            return False
        return self._lines[self._at].startswith((" ", "-", "+")) and self._head() != "-- "

    def _is_hunk_end(self, line: str, old_left: int, new_left: int) -> bool:
        """Whether a hunk ends before a line."""
        if self._is_counted:
            return (old_left <= 0 and new_left <= 0) or not line.startswith((" ", "-", "+"))
        if not line.strip("\r"):  # an empty line of context, or one between two files
            following = self._lines[self._at + 1 : self._at + 2]
            goes_on = following and following[0].startswith((" ", "-", "+", "@@ ", "\\"))
            return not goes_on or self._is_at_names(self._at + 1)
        return not line.startswith((" ", "-", "+")) or self._is_at_names()

    def _is_at_names(self, at: int | None = None) -> bool:
        """Whether the names of a file stand here, and not a line taken away and one put in."""
        at = self._at if at is None else at
        lines = self._lines[at : at + 3]
        return (
            len(lines) > 2
            and lines[0].startswith("--- ")
            and lines[1].startswith("+++ ")
            and lines[2].startswith("@@ -")
        )

    def _head(self) -> str:
        return self._lines[self._at].rstrip("\r")


def _end_without_break(sides: tuple[list[str], ...]) -> None:
    """Take the line break from each side's last line."""
    for side in sides:
        side[-1] = side[-1].removesuffix("\n")


def _name(text: str) -> str | None:
    """A name as it stands after `---`; None for nowhere."""
    name = _unquoted(text if text.startswith('"') else text.partition("\t")[0].rstrip())
    return None if name == _NOWHERE else name


def _prefixed(name: str | None, prefix: str) -> bool:
    return name is None or name.startswith(prefix)


def _two_names(text: str) -> str | None:
    """The one path that `diff --git a/… b/…` names twice; None for two."""
    if text.startswith('"'):
        return _unquoted(text.partition('" ')[0] + '"')[2:]
    # A name may have spaces, too.
    for place in (found.start() for found in re.finditer(" ", text)):
        old, new = text[:place], text[place + 1 :]
        if old[2:] == new[2:] and old[:2] in _SIDES and new[:2] in _SIDES:
            return old[2:]
        if old == new:
            return old
    return None


def _unquoted(name: str) -> str:
    """A name without the quotes that git puts around those with special characters."""
    if not (name.startswith('"') and name.endswith('"') and len(name) > 1):
        return name

    def plain(found: re.Match[str]) -> str:
        code = found[1]
        return chr(int(code, 8)) if len(code) == 3 else _ESCAPES.get(code, code)

    characters = _OCTAL.sub(plain, name[1:-1])
    try:  # the codes are bytes of UTF-8
        return characters.encode("latin-1").decode()
    except UnicodeError:
        return characters
