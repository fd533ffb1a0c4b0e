"""The tools that write a whole file, and change a part of one."""

from __future__ import annotations

from typing import Annotated, Any, Final

from msgspec import Meta, Struct

from ..tool import FileTool, PathArgument, Risk, ToolContext, ToolPolicy, ToolResult
from ..tool_results import truncate_with_note
from ..workspace import MAX_READ_BYTES, LocalWorkspace
from .diffs import make_unified_diff

#: The most characters of a diff in a result. The model knows its own edits.
MAX_DIFF_CHARS: Final = 20_000
# Lines of both sides that are compared.
_MAX_LINES: Final = 200_000


class WriteFileArgs(Struct):
    """Arguments of `write_file`."""

    path: PathArgument
    content: Annotated[str, Meta(description="All that the file is to hold.")]


class WriteFile(FileTool[WriteFileArgs]):
    """Writes a file."""

    name = "write_file"
    description = (
        "Write a whole file: a new one with the folders it needs, or all of an old one anew. To change "
        "a part use edit_file. Gives the change as a diff."
    )
    policy = ToolPolicy(risk=Risk.MEDIUM)
    arguments = WriteFileArgs

    def run_blocking(self, args: WriteFileArgs, ctx: ToolContext) -> ToolResult:
        """Write it."""
        old = read_previous_content(ctx.workspace, args.path)
        data = args.content.encode()
        ctx.workspace.write_bytes(args.path, data)
        return ToolResult.success(make_change_result(args.path, old, data))


def read_previous_content(workspace: LocalWorkspace, path: str) -> bytes | None:
    """Read a file's content before it is written; None: the file doesn't exist. Raises OSError."""
    return None if workspace.kind(path) is None else workspace.read_bytes(path)


def make_change_result(path: str, old: bytes | None, new: bytes | None) -> dict[str, Any]:
    """Make the model's result of a change of a file.

    Args:
        path: The file's path.
        old: The old content; None: the file didn't exist.
        new: The new content; None: the file was deleted.
    """
    done = "created" if old is None else "deleted" if new is None else "changed"
    if sum(side.count(b"\n") for side in (old, new) if side) > _MAX_LINES:
        return {"path": path, "done": done, "diff": "It has too many lines to be shown."}
    fields: dict[str, Any] = {"path": path, "done": "nothing to change" if old == new else done}
    try:
        diff = make_unified_diff(path, _text(old), _text(new))
    except UnicodeDecodeError:
        return fields | {"diff": "One side is no UTF-8 text."}
    return fields | {"diff": truncate_with_note(diff, MAX_DIFF_CHARS)}


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode()


# Places that are named where a text isn't unique.
_MAX_NAMED_LINES: Final = 10
# To look for what is likely meant takes as long as both multiplied.
_MAX_COMPARISONS: Final = 4_000_000


class EditFileArgs(Struct):
    """Arguments of `edit_file`."""

    path: PathArgument
    old: Annotated[
        str, Meta(description="What stands there now, to the character, without line numbers.")
    ]
    new: Annotated[str, Meta(description="What is to stand there.")]
    all: Annotated[bool, Meta(description="Replace it wherever it stands, not only once.")] = False


class EditFile(FileTool[EditFileArgs]):
    """Replaces a text in a file by another."""

    name = "edit_file"
    description = (
        "Replace a text in a file by another. `old` must stand there exactly, spaces and line breaks "
        "included, and only once unless `all` is true: take in lines around it until it is unique. "
        "Gives the change as a diff."
    )
    policy = ToolPolicy(risk=Risk.LOW)
    arguments = EditFileArgs

    def run_blocking(self, args: EditFileArgs, ctx: ToolContext) -> ToolResult:
        """Replace it."""
        before = ctx.workspace.read_bytes(args.path)
        try:
            text = before.decode()
        except UnicodeDecodeError:
            return ToolResult.failure(f"{args.path} is no UTF-8 text, so that it can't be edited.")
        if not args.old:
            return ToolResult.failure("`old` is empty. To write a whole file use write_file.")
        old, new = _with_its_breaks(text, args.old, args.new)
        if problem := _problem(args, text, old):
            return ToolResult.failure(problem)
        after = text.replace(old, new).encode()
        ctx.workspace.write_bytes(args.path, after)
        return ToolResult.success(
            make_change_result(args.path, before, after)
            | {"replaced": text.count(old) if args.all else 1}
        )


def _with_its_breaks(text: str, old: str, new: str) -> tuple[str, str]:
    """The same edit with the file's line breaks: models write LF where it has CRLF."""
    if "\r\n" not in text or "\r" in old:
        return old, new
    has_other_breaks = text.count("\n") > text.count("\r\n")
    if has_other_breaks and old in text:
        return old, new
    return old.replace("\n", "\r\n"), new.replace("\r\n", "\n").replace("\n", "\r\n")


def _problem(args: EditFileArgs, text: str, old: str) -> str | None:
    """Why the edit can't be made, and what to do about it."""
    count = text.count(old)
    if len(text) + count * (len(args.new) - len(old)) > MAX_READ_BYTES:
        return f"{args.path} would be larger than {MAX_READ_BYTES:,} characters afterwards."
    places = _places(text, old)
    if len(places) == 1 or (places and args.all):
        return None
    if places:
        lines = ", ".join(str(text.count("\n", 0, at) + 1) for at in places[:_MAX_NAMED_LINES])
        more = ", …" if len(places) > _MAX_NAMED_LINES else ""
        return (
            f"`old` stands in {args.path} {max(count, len(places))} times, at lines {lines}{more}. Take "
            "in lines around it until it is unique, or set `all`."
        )
    return f"`old` doesn't stand in {args.path}.{_hint(text, old)} Read the file again."


def _places(text: str, old: str) -> list[int]:
    """Where a text stands, also where places overlap; one more than are named, at most."""
    found: list[int] = []
    at = text.find(old)
    while at >= 0 and len(found) <= _MAX_NAMED_LINES:
        found.append(at)
        at = text.find(old, at + 1)
    return found


def _hint(text: str, old: str) -> str:
    """What is likely wrong with it: mostly spaces."""
    if text.count("\n") * (old.count("\n") + 1) > _MAX_COMPARISONS:
        return ""
    wanted = [line.split() for line in old.strip().split("\n")]
    file_lines = [line.split() for line in text.split("\n")]
    if not any(wanted):
        return ""
    for number in range(len(file_lines) - len(wanted) + 1):
        if file_lines[number : number + len(wanted)] == wanted:
            return f" Lines {number + 1} to {number + len(wanted)} differ from it in spaces alone."
    first = wanted[0]
    near = [str(number) for number, line in enumerate(file_lines, 1) if first and line == first]
    return f" Its first line stands at {', '.join(near[:_MAX_NAMED_LINES])}." if near else ""
