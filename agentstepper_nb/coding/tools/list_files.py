"""The tool that lists files, and the walk that finds them."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Annotated, Any, Final

from msgspec import Meta, Struct

from ...errors import WorkspaceError
from ...sdk.workspace.git_command import GitError
from ..safe_paths import GIT
from ..tool import FileTool, PathArgument, ToolContext, ToolPolicy, ToolResult, escape_name
from ..workspace import FolderEntry, LocalWorkspace, PathKind
from .git_tools import UnignoredPaths, find_unignored

_log: Final = logging.getLogger("agentstepper_nb.coding")


class ListedFile(Struct, frozen=True):
    """One file or folder."""

    path: str  # relative to the workspace
    entry: FolderEntry


class ListingOptions(Struct, frozen=True, kw_only=True):
    """What to list."""

    path: str
    depth: int  # folders below each other
    hidden: bool  # with names that begin with a dot
    ignored: bool  # what git ignores, too


def walk_files(
    workspace: LocalWorkspace, what: ListingOptions, stop: Callable[[], bool]
) -> Iterator[ListedFile]:
    """What is below a folder, the outermost first. Links are named, never gone through.

    Args:
        workspace: Where.
        what: What to list.
        stop: Asked at each folder whether to end early.

    Raises:
        OSError: The folder itself can't be read. Those below it that can't are left out.
    """
    kept = None if what.ignored else _unignored(workspace, what.path)
    top = _normal(what.path)
    todo = deque([(top, 1)])
    first = True
    while todo and not stop():
        folder, depth = todo.popleft()
        try:
            entries = workspace.list_dir(folder)
        except OSError:
            if first:
                raise
            continue
        first = False
        for entry in entries:
            path = entry.name if folder == "." else f"{folder}/{entry.name}"
            if not _wanted(path, entry, what, kept):
                continue
            yield ListedFile(path, entry)
            if entry.kind is PathKind.FOLDER and depth < what.depth:
                todo.append((path, depth + 1))


def _wanted(
    path: str, entry: FolderEntry, what: ListingOptions, kept: UnignoredPaths | None
) -> bool:
    if entry.name.casefold() == GIT or (entry.name.startswith(".") and not what.hidden):
        return False
    return kept is None or kept.has(path)


def _unignored(workspace: LocalWorkspace, path: str) -> UnignoredPaths | None:
    try:
        return find_unignored(workspace, path)
    except (GitError, WorkspaceError) as error:  # then all is listed
        _log.debug("git doesn't say what it ignores: %s", error)
        return None


def _normal(path: str) -> str:
    return "/".join(name for name in path.split("/") if name not in ("", ".")) or "."


#: Names that are listed at most; those deepest down are left out.
LIMIT: Final = 1000


class ListFilesArgs(Struct):
    """Arguments of `list_files`."""

    path: PathArgument = "."
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
        what = ListingOptions(
            path=args.path, depth=args.depth, hidden=args.hidden, ignored=args.ignored
        )
        found = list(islice(walk_files(ctx.workspace, what, ctx.cancel.is_set), LIMIT + 1))
        data: dict[str, Any] = {"path": args.path, "entries": sorted(map(_line, found[:LIMIT]))}
        if len(found) > LIMIT:
            data["more"] = f"There are more than {LIMIT}: list a folder below, or fewer levels."
        return ToolResult.success(data)


def _line(found: ListedFile) -> str:
    mark = {PathKind.FOLDER: "/", PathKind.LINK: "@"}.get(found.entry.kind, "")
    return escape_name(found.path) + mark
