"""The tool that writes a whole file."""

from __future__ import annotations

from typing import Annotated, Any, Final

from msgspec import Meta, Struct

from ..tool import Risk, ToolContext, ToolPolicy, ToolResult
from ..workspace import Workspace
from .base import FileTool, Path
from .diffs import unified

#: Characters of a diff that are worth showing: the model knows what it wrote.
_DIFF_LIMIT: Final = 20_000
# Lines of both sides that are compared.
_LINES: Final = 200_000


class WriteFileArgs(Struct):
    """Arguments of `write_file`."""

    path: Path
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

    def work(self, args: WriteFileArgs, ctx: ToolContext) -> ToolResult:
        """Write it."""
        old = before(ctx.workspace, args.path)
        data = args.content.encode()
        ctx.workspace.write_bytes(args.path, data)
        return ToolResult.success(changed(args.path, old, data))


def before(workspace: Workspace, path: str) -> bytes | None:
    """What a file holds that is to be written; None where there is none. Raises OSError."""
    return None if workspace.kind(path) is None else workspace.read_bytes(path)


def changed(path: str, old: bytes | None, new: bytes | None) -> dict[str, Any]:
    """What the model is told of a file that was written.

    Args:
        path: Which.
        old: What it held; None where there was none.
        new: What it holds; None where there is none any more.
    """
    done = "created" if old is None else "deleted" if new is None else "changed"
    if sum(side.count(b"\n") for side in (old, new) if side) > _LINES:
        return {"path": path, "done": done, "diff": "It has too many lines to be shown."}
    told: dict[str, Any] = {"path": path, "done": "nothing to change" if old == new else done}
    try:
        diff = unified(path, _text(old), _text(new))
    except UnicodeDecodeError:
        return told | {"diff": "One side is no UTF-8 text."}
    return told | {"diff": cut_diff(diff)}


def cut_diff(diff: str) -> str:
    """A diff as far as it is worth showing."""
    if len(diff) <= _DIFF_LIMIT:
        return diff
    return f"{diff[:_DIFF_LIMIT]}\n[… {len(diff):,} characters in all]"


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode()
