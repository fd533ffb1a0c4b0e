"""The tool that lists files."""

from __future__ import annotations

from itertools import islice
from typing import Annotated, Any, Final

from msgspec import Meta, Struct

from ..tool import ToolContext, ToolPolicy, ToolResult
from ..workspace import Kind
from .base import FileTool, Path, shown
from .listing import Found, Listing, walk

#: Names that are listed at most; those deepest down are left out.
LIMIT: Final = 1000


class ListFilesArgs(Struct):
    """Arguments of `list_files`."""

    path: Path = "."
    depth: Annotated[int, Meta(ge=1, le=50, description="Folders below each other.")] = 3
    hidden: Annotated[bool, Meta(description="Also names that begin with a dot.")] = False
    ignored: Annotated[bool, Meta(description="Also what git ignores.")] = False


class ListFiles(FileTool[ListFilesArgs]):
    """Lists files and folders."""

    name = "list_files"
    description = (
        "List files and folders, with paths relative to the workspace. Folders end with `/`, links with "
        "`@`. What git ignores and hidden files are left out unless asked for."
    )
    policy = ToolPolicy(read_only=True)
    arguments = ListFilesArgs

    def work(self, args: ListFilesArgs, ctx: ToolContext) -> ToolResult:
        """List them."""
        what = Listing(path=args.path, depth=args.depth, hidden=args.hidden, ignored=args.ignored)
        found = list(islice(walk(ctx.workspace, what, ctx.cancel.is_set), LIMIT + 1))
        data: dict[str, Any] = {"path": args.path, "entries": sorted(map(_line, found[:LIMIT]))}
        if len(found) > LIMIT:
            data["more"] = f"There are more than {LIMIT}: list a folder below, or fewer levels."
        return ToolResult.success(data)


def _line(found: Found) -> str:
    mark = {Kind.FOLDER: "/", Kind.LINK: "@"}.get(found.entry.kind, "")
    return shown(found.path) + mark
