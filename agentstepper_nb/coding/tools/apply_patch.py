"""The tool that applies a patch: all of one or nothing."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import Annotated, Final

from msgspec import Meta, Struct
from msgspec.structs import replace

from ...errors import UnsafePathError
from ..safe_paths import split_path
from ..tool import FileTool, Risk, ToolContext, ToolPolicy, ToolResult
from ..tool_results import truncate_with_note
from ..workspace import LocalWorkspace, PathKind
from .diffs import FilePatch, Hunk, PatchError, parse_patch, split_lines
from .file_edits import MAX_DIFF_CHARS, make_change_result

# Places that are named where a hunk fits several, and lines that are shown where it fits none.
_MAX_NAMED_LINES: Final = 10
_MAX_SHOWN_LINES: Final = 20
# Of a hunk that fits nowhere, the lines whose places are tried.
_MAX_TRIED_LINES: Final = 50
# To look for a hunk's place takes as long as file and hunk multiplied.
_MAX_COMPARISONS: Final = 200_000_000


class PatchedFile(Struct, frozen=True, kw_only=True):
    """The result of a patch for one file."""

    path: str
    old: bytes | None  # None: there is none
    new: bytes | None  # None: there will be none
    old_mode: int | None = None
    new_mode: int | None = None


class _File(Struct, frozen=True):
    data: bytes
    mode: int | None  # None: that of any new file


def resolve_names(workspace: LocalWorkspace, patch: FilePatch) -> FilePatch:
    """The same patch with one name for each file, whatever links and `..` the patch names it by.

    Raises:
        UnsafePathError: A name is no path of the workspace.
    """

    def resolve(path: str | None) -> str | None:
        if path is None:
            return None
        *above, name = split_path(path) or (".",)
        folder = workspace.resolve_path("/".join(above) or ".")
        if folder is None:  # to read the file says why
            return path
        return (folder.relative_to(workspace.root) / name).as_posix()

    return replace(patch, old=resolve(patch.old), new=resolve(patch.new))


def plan_changes(workspace: LocalWorkspace, patches: Iterable[FilePatch]) -> list[PatchedFile]:
    """Compute the results of patches without writing.

    Args:
        workspace: The files.
        patches: The patches, as `resolve_names` gives them.

    Raises:
        PatchError: A patch doesn't fit its file.
        OSError: A file can't be read.
    """
    draft = _Draft(workspace)
    for patch in patches:
        draft.apply(patch)
    return draft.changes()


class _Draft:
    """The files as they will be."""

    def __init__(self, workspace: LocalWorkspace) -> None:
        self._workspace = workspace
        self._before: dict[str, _File | None] = {}
        self._after: dict[str, _File | None] = {}

    def apply(self, patch: FilePatch) -> None:
        """Apply one file's patch."""
        old, new = patch.old, patch.new
        old_file = None if old is None else self._read(old)
        if old is not None and old_file is None:
            raise PatchError(f"{old} isn't there, so that it can't be patched.")
        if new is not None and new != old and self._read(new) is not None:
            raise PatchError(f"{new} is there already, so that it can't be created.")
        data = _patched(old or new or "", old_file.data if old_file else b"", patch.hunks)
        if old is not None and old != new:
            self._after[old] = None
        if new is not None:
            self._after[new] = _File(data, _mode(old_file, patch.is_executable))
        elif data:
            raise PatchError(f"{old} isn't empty after the patch that deletes it; take it all out.")

    def changes(self) -> list[PatchedFile]:
        """Return the changed files, deleted files first, since others may need their names."""
        changes = [
            PatchedFile(
                path=path,
                old=before.data if before else None,
                new=after.data if after else None,
                old_mode=before.mode if before else None,
                new_mode=after.mode if after else None,
            )
            for path, after in self._after.items()
            if (before := self._before[path]) != after
        ]
        return sorted(changes, key=lambda change: change.new is not None)

    def _read(self, path: str) -> _File | None:
        if path not in self._after:
            self._before[path] = self._after[path] = self._on_disk(path)
        return self._after[path]

    def _on_disk(self, path: str) -> _File | None:
        kind = self._workspace.kind(path)
        if kind is None:
            return None
        if kind is not PathKind.FILE:
            raise UnsafePathError(path, f"it is a {kind}, which can't be patched")
        return _File(self._workspace.read_bytes(path), self._workspace.mode(path))


def _mode(old_file: _File | None, program: bool | None) -> int | None:
    if old_file is None or old_file.mode is None:
        return 0o755 if program else None
    if program is None:
        return old_file.mode
    return old_file.mode | (old_file.mode & 0o444) >> 2 if program else old_file.mode & ~0o111


def _patched(path: str, data: bytes, hunks: list[Hunk]) -> bytes:
    if not hunks:
        return data
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise PatchError(f"{path} is no UTF-8 text, so that it can't be patched.") from None
    has_crlf = "\r\n" in text
    if has_crlf and text.count("\n") == text.count("\r\n"):
        hunks = [
            hunk if any("\r" in line for line in hunk.old) else _with_crlf(hunk) for hunk in hunks
        ]
    try:
        return "".join(apply_hunks(path, split_lines(text), hunks)).encode()
    except PatchError:
        if not has_crlf:
            raise
        other = [_with_crlf(hunk) for hunk in hunks]
        with contextlib.suppress(PatchError):
            return "".join(apply_hunks(path, split_lines(text), other)).encode()
        raise


def _with_crlf(hunk: Hunk) -> Hunk:
    """A hunk with the file's line breaks: models write LF where it has CRLF."""
    old, new = (
        [line.replace("\r\n", "\n").replace("\n", "\r\n") for line in side]
        for side in (hunk.old, hunk.new)
    )
    return Hunk(hunk.start, old, new)


def apply_hunks(path: str, text: list[str], hunks: list[Hunk]) -> Iterator[str]:
    """A file's lines with its hunks applied, in their order.

    Args:
        path: What errors call the file.
        text: Its lines.
        hunks: What to apply.

    Raises:
        PatchError: One doesn't fit.
    """
    done = 0  # lines of the text that were given
    shift = 0  # by how many lines the last hunk stood elsewhere than it said
    for number, hunk in enumerate(hunks, 1):
        at = _place(f"Hunk {number} of {path}", text, hunk, done, shift)
        shift = at - _stated_start(hunk)
        yield from text[done:at]
        yield from hunk.new
        done = at + len(hunk.old)
    yield from text[done:]


def _stated_start(hunk: Hunk) -> int:
    """Where a hunk begins, as it says, counted from 0."""
    return max(hunk.start - 1, 0) if hunk.old else hunk.start


def _place(named: str, text: list[str], hunk: Hunk, done: int, shift: int) -> int:
    """Where a hunk fits exactly: where it says, or in the only other place."""
    for at in (_stated_start(hunk) + shift, _stated_start(hunk)):
        if done <= at <= len(text) and text[at : at + len(hunk.old)] == hunk.old:
            return at
    places = list(_places(text, hunk.old, done)) if hunk.old else []
    if len(places) == 1:
        return places[0]
    if places:
        found = ", ".join(str(at + 1) for at in places[:_MAX_NAMED_LINES])
        raise PatchError(
            f"{named} doesn't fit where it says, line {hunk.start}, but at lines {found}. Correct the "
            "line, or take in more lines around the change."
        )
    raise PatchError(f"{named} doesn't fit{_difference(text, hunk, done, shift)}")


def _places(text: list[str], old: list[str], first: int) -> Iterator[int]:
    if len(text) * len(old) > _MAX_COMPARISONS:
        return
    for at in range(first, len(text) - len(old) + 1):
        if (
            text[at] == old[0]
            and text[at + len(old) - 1] == old[-1]
            and text[at : at + len(old)] == old
        ):
            yield at


def _difference(text: list[str], hunk: Hunk, done: int, shift: int) -> str:
    """What stands where a hunk should fit."""
    if not hunk.old:
        return f": it begins after line {hunk.start}, and there are {len(text)}."
    rest = text[done:]  # what the hunks before it left
    at = _find_likeliest_start(
        rest, hunk.old, (_stated_start(hunk) + shift - done, _stated_start(hunk) - done)
    )
    found_lines = rest[at : at + max(len(hunk.old), 1)]
    same = len(list(takewhile(bool, map(operator.eq, found_lines, hunk.old))))
    has = (
        f"there stands {_bare(found_lines[same])!r}"
        if same < len(found_lines)
        else "the file is over"
    )
    first = done + at + 1
    shown = [
        f"{number}\t{_bare(line)}\n"
        for number, line in enumerate(found_lines[:_MAX_SHOWN_LINES], first)
    ]
    return (
        f" at line {first + same}: the patch has {_bare(hunk.old[same])!r}, and {has}.\n"
        f"There stands:\n{''.join(shown)}"
    )


def _find_likeliest_start(text: list[str], old: list[str], stated_starts: Iterable[int]) -> int:
    """Where most of a hunk stands, which is likely where it was meant."""
    starts = {min(max(at, 0), len(text)) for at in stated_starts}
    for index, line in enumerate(old[:_MAX_TRIED_LINES]):
        if line.strip() and line in text:
            starts.add(max(text.index(line) - index, 0))
    return max(sorted(starts), key=lambda at: sum(map(operator.eq, text[at:], old)))


def _bare(line: str) -> str:
    return line.removesuffix("\n")


def apply_changes(workspace: LocalWorkspace, changes: list[PatchedFile]) -> None:
    """Make changes; where one fails, those before it are taken back.

    Raises:
        OSError: One failed, and nothing is changed, unless the text says what could not be taken back.
    """
    done: list[PatchedFile] = []
    for change in changes:
        try:
            _make(workspace, change.path, change.new, change.new_mode)
        except OSError as error:
            left = [each.path for each in reversed(done) if not _is_reverted(workspace, each)]
            if left:
                raise OSError(
                    f"{error}, and what was written stays in: {', '.join(left)}"
                ) from error
            raise
        done.append(change)


def _make(workspace: LocalWorkspace, path: str, data: bytes | None, mode: int | None) -> None:
    if data is None:
        workspace.delete(path)
    else:
        workspace.write_bytes(path, data, mode)


def _is_reverted(workspace: LocalWorkspace, change: PatchedFile) -> bool:
    try:
        _make(workspace, change.path, change.old, change.old_mode)
    except OSError:
        return False
    return True


class ApplyPatchArgs(Struct):
    """Arguments of `apply_patch`."""

    patch: Annotated[str, Meta(description="Unified diffs, of one file or several.")]


class ApplyPatch(FileTool[ApplyPatchArgs]):
    """Applies a unified diff."""

    name = "apply_patch"
    description = (
        "Apply a patch: unified diffs of one file or several, as `git diff` writes them. "
        "`--- /dev/null` creates a file, `+++ /dev/null` deletes one, `rename from` and `rename to` "
        "rename one. All of it is applied or nothing. Lines of context must stand there exactly. Gives "
        "the changes as a diff."
    )
    policy = ToolPolicy(risk=Risk.MEDIUM)
    arguments = ApplyPatchArgs

    def run_blocking(self, args: ApplyPatchArgs, ctx: ToolContext) -> ToolResult:
        """Apply it."""
        try:
            patches = parse_patch(args.patch)
            resolved = [resolve_names(ctx.workspace, patch) for patch in patches]
            changes = plan_changes(ctx.workspace, resolved)
        except PatchError as error:
            return ToolResult.failure(f"Nothing was changed. {error}")
        apply_changes(ctx.workspace, changes)
        files = [_describe_change(patch) for patch in patches]
        return ToolResult.success({"files": files, "diff": _diff(resolved, changes)})


def _diff(patches: list[FilePatch], changes: list[PatchedFile]) -> str:
    """What the patch changed, file by file, as the other tools that write show it."""
    made = {change.path: change for change in changes}
    pairs = dict.fromkeys((patch.old, patch.new) for patch in patches)
    diffs: list[str] = []
    for before, after in pairs:
        old, new = made.get(before or ""), made.get(after or "")
        if old is not None or new is not None:
            old_file, holds = old.old if old else None, new.new if new else None
            diffs.append(make_change_result(after or before or "", old_file, holds)["diff"])
    return truncate_with_note("".join(diffs), MAX_DIFF_CHARS)


def _describe_change(patch: FilePatch) -> dict[str, str | None]:
    if patch.new is None:
        return {"path": patch.old, "done": "deleted"}
    if patch.old is None:
        return {"path": patch.new, "done": "created"}
    renamed = patch.old != patch.new
    return {"path": patch.new, "done": f"renamed from {patch.old}" if renamed else "changed"}
