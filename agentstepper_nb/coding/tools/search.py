"""The tool that looks for text in files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby, islice
from typing import Annotated, Any, Final

from msgspec import Meta, Struct
from pathspec import GitIgnoreSpec

from ..tool import ToolContext, ToolPolicy, ToolResult
from ..workspace import Kind, Workspace
from .base import FileTool, counted, shown
from .list_files import Listing, walk
from .matching import (
    PATIENCE,
    ByRipgrep,
    InPython,
    Match,
    PatternError,
    SearchTimeoutError,
    Wanted,
    ripgrep,
    text_lines,
)
from .repository import below

#: Characters of one line that are shown.
LINE_LIMIT: Final = 500
#: Files that are looked through at most.
FILE_LIMIT: Final = 50_000

_BRACES = re.compile(r"\{([^{}]*)\}")
# Alternatives that the braces of one glob may come to.
_GLOBS: Final = 64


class SearchArgs(Struct):
    """Arguments of `search`."""

    pattern: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=10_000,
            description="A regular expression, matched line by line.",
        ),
    ]
    path: Annotated[str, Meta(description="The folder or file to look in.")] = "."
    glob: Annotated[
        str | None, Meta(description="Only files whose path matches, as `*.py` or `src/**/*.ts`.")
    ] = None
    literal: Annotated[bool, Meta(description="Take the pattern as plain text.")] = False
    ignore_case: bool = False
    context: Annotated[int, Meta(ge=0, le=20, description="Lines shown around each match.")] = 0
    limit: Annotated[int, Meta(ge=1, le=1000, description="Matches shown at most.")] = 100
    hidden: Annotated[bool, Meta(description="Also names that begin with a dot.")] = False
    ignored: Annotated[bool, Meta(description="Also what git ignores.")] = False


class Search(FileTool[SearchArgs]):
    """Looks for text in files."""

    name = "search"
    description = (
        "Look for a regular expression in text files. Gives `path:line: text` for each line that "
        "matches and `path-line- text` for lines around it. What git ignores and hidden files are "
        "left out unless asked for."
    )
    policy = ToolPolicy(read_only=True)
    arguments = SearchArgs

    def work(self, args: SearchArgs, ctx: ToolContext) -> ToolResult:
        """Look for it."""
        wanted = Wanted(pattern=args.pattern, literal=args.literal, ignore_case=args.ignore_case)
        files = list(islice(_files(args, ctx), FILE_LIMIT))
        readable = [path for path in files if not ctx.workspace.is_denied(path)]
        try:
            found = list(islice(_matches(wanted, readable, ctx), args.limit + 1))
        except PatternError as error:
            return ToolResult.failure(f"This is no regular expression: {error}. Or set `literal`?")
        except SearchTimeoutError:
            return ToolResult.failure(
                f"The search took more than {PATIENCE:.0f} seconds: use a simpler expression, or look "
                "in fewer files."
            )
        text = "".join(_shown(ctx.workspace, found[: args.limit], args.context))
        data: dict[str, Any] = {"matches": min(len(found), args.limit), "text": text}
        if len(found) > args.limit:
            data["more"] = "There are more: look for something rarer, or in fewer files."
        if left_out := len(files) - len(readable):
            data["left_out"] = f"{counted(left_out)}: a rule denies reading."
        return ToolResult.success(data)


def _matches(wanted: Wanted, files: list[str], ctx: ToolContext) -> Iterator[Match]:
    """The matches, by ripgrep if it can: it has no look-around and no back references."""
    cancelled = ctx.cancel.is_set
    program = ripgrep(ctx.workspace.root)
    if program is not None:
        try:
            found = ByRipgrep(program, ctx.workspace.root).matches(wanted, files, cancelled)
            yield from _standing(ctx.workspace, found)
            return
        except PatternError:
            pass  # Python says what is wrong, or finds nothing wrong
    yield from InPython(ctx.workspace).matches(wanted, files, cancelled)


def _standing(workspace: Workspace, found: Iterable[Match]) -> Iterator[Match]:
    """The matches in lines that the workspace has: none in what is no text, or isn't inside."""
    for path, matches in groupby(found, key=lambda match: match.path):
        count = len(text_lines(workspace, path))
        yield from (match for match in matches if match.line <= count)


def _files(args: SearchArgs, ctx: ToolContext) -> Iterator[str]:
    """The files to look through."""
    path = below(ctx.workspace, args.path) or args.path  # unsafe: the walk says what is wrong
    if ctx.workspace.kind(path) is Kind.FILE:
        yield path
        return
    what = Listing(path=path, depth=100, hidden=args.hidden, ignored=args.ignored)
    fits = _fitting(args.glob)
    for found in walk(ctx.workspace, what, ctx.cancel.is_set):
        if found.entry.kind is Kind.FILE and fits(found.path):
            yield found.path


def _fitting(glob: str | None) -> Callable[[str], bool]:
    """Tells which paths a glob means."""
    if glob is None:
        return lambda path: True
    return GitIgnoreSpec.from_lines(_without_braces(glob)).match_file


def _without_braces(glob: str) -> list[str]:
    """Globs that together are one with braces: `*.{js,ts}`."""
    plain: list[str] = []
    todo = [glob]
    while todo and len(plain) + len(todo) < _GLOBS:
        first = todo.pop()
        found = _BRACES.search(first)
        if found is None:
            plain.append(first)
        else:
            before, after = first[: found.start()], first[found.end() :]
            todo += [before + each + after for each in found[1].split(",")]
    return plain + todo


def _shown(workspace: Workspace, found: Iterable[Match], context: int) -> Iterator[str]:
    """What the model is shown: matches with the lines around them, as they stand there now."""
    for path, matches in groupby(found, key=lambda match: match.path):
        lines = text_lines(workspace, path)
        hits = {match.line for match in matches}
        around = sorted(
            {near for hit in hits for near in range(hit - context, hit + context + 1)}
            & set(range(1, len(lines) + 1))
        )
        for before, number in zip([None, *around], around, strict=False):
            if context and before is not None and number > before + 1:
                yield "--\n"
            mark = ":" if number in hits else "-"
            yield f"{shown(path)}{mark}{number}{mark} {_cut(lines[number - 1])}\n"


def _cut(line: str) -> str:
    return line if len(line) <= LINE_LIMIT else f"{line[:LINE_LIMIT]} [… {len(line):,} characters]"
