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
from ..safe_paths import GIT_FOLDER_NAME
from ..tool import FileTool, PathArgument, ToolContext, ToolPolicy, ToolResult, escape_name
from ..workspace import FolderEntry, LocalWorkspace, PathKind
from .git_tools import UnignoredPaths, find_unignored

_log: Final = logging.getLogger("agentstepper_nb.coding")


class ListedFile(Struct, frozen=True):
    """One file or folder."""

    path: str  # relative to the workspace
    entry: FolderEntry


class ListingOptions(Struct, frozen=True, kw_only=True):
    """The options of a listing."""

    path: str
    depth: int  # folders below each other
    include_hidden: bool  # with names that begin with a dot
    include_ignored: bool  # what git ignores, too


def walk_files(
    workspace: LocalWorkspace, options: ListingOptions, stop: Callable[[], bool]
) -> Iterator[ListedFile]:
    """Iterate over the files below a folder, the outermost first. Links are listed, never followed.

    Args:
        workspace: The workspace.
        options: The options.
        stop: Called at each folder; returns whether to end early.

    Raises:
        OSError: The folder itself can't be read. Unreadable folders below it are skipped.
    """
    unignored = None if options.include_ignored else _unignored(workspace, options.path)
    top = _normal(options.path)
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
            if not _is_listed(path, entry, options, unignored):
                continue
            yield ListedFile(path, entry)
            if entry.kind is PathKind.FOLDER and depth < options.depth:
                todo.append((path, depth + 1))


def _is_listed(
    path: str, entry: FolderEntry, options: ListingOptions, unignored: UnignoredPaths | None
) -> bool:
    if entry.name.casefold() == GIT_FOLDER_NAME or (
        entry.name.startswith(".") and not options.include_hidden
    ):
        return False
    return unignored is None or unignored.has(path)


def _unignored(workspace: LocalWorkspace, path: str) -> UnignoredPaths | None:
    try:
        return find_unignored(workspace, path)
    except (GitError, WorkspaceError) as error:  # then all is listed
        _log.debug("git doesn't say what it ignores: %s", error)
        return None


def _normal(path: str) -> str:
    return "/".join(name for name in path.split("/") if name not in ("", ".")) or "."


#: Names that are listed at most; those deepest down are left out.
MAX_ENTRIES: Final = 1000


class ListFilesArgs(Struct):
    """Arguments of `list_files`."""

    path: PathArgument = "."
    depth: Annotated[int, Meta(ge=1, le=50, description="Folders below each other.")] = 3
    hidden: Annotated[bool, Meta(description="Also names that begin with a dot.")] = False
    ignored: Annotated[bool, Meta(description="Also what git ignores.")] = False


class ListFiles(FileTool[ListFilesArgs]):
    """Lists files and folders.

    Args:
        max_entries: Names that are listed at most.
    """

    name = "list_files"
    description = (
        "List files and folders, with paths relative to the workspace. Folders end with `/`, links with "
        "`@`. What git ignores and hidden files are left out unless asked for."
    )
    policy = ToolPolicy(read_only=True)
    arguments = ListFilesArgs

    def __init__(self, max_entries: int = MAX_ENTRIES) -> None:
        self._max_entries = max_entries

    def run_blocking(self, args: ListFilesArgs, ctx: ToolContext) -> ToolResult:
        """List them."""
        options = ListingOptions(
            path=args.path,
            depth=args.depth,
            include_hidden=args.hidden,
            include_ignored=args.ignored,
        )
        limit = self._max_entries
        walked = walk_files(ctx.workspace, options, ctx.cancellation.is_set)
        found = list(islice(walked, limit + 1))
        data: dict[str, Any] = {
            "path": args.path,
            "entries": sorted(map(_line, found[:limit])),
        }
        if len(found) > limit:
            data["more"] = f"There are more than {limit}: list a folder below, or fewer levels."
        return ToolResult.success(data)


def _line(found: ListedFile) -> str:
    mark = {PathKind.FOLDER: "/", PathKind.LINK: "@"}.get(found.entry.kind, "")
    return escape_name(found.path) + mark
