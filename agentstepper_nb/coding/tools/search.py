"""The tool that looks for text in files: by ripgrep where there is one, else in Python.

Either is told the same files and only says line numbers. What the model is shown is read through the
workspace afterwards, so that it makes no difference what stands in a file's place meanwhile.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, islice
from pathlib import Path
from typing import Annotated, Any, Final

import regex
from msgspec import Meta, Struct
from pathspec import GitIgnoreSpec

from ...sdk.workspace.git_environment import make_search_path
from ..sandbox.command_environment import make_environment
from ..tool import (
    FileTool,
    ToolContext,
    ToolPolicy,
    ToolResult,
    describe_omitted_files,
    escape_name,
)
from ..workspace import LocalWorkspace, PathKind
from .git_tools import to_git_path
from .list_files import ListingOptions, walk_files

#: Seconds that one search may take.
SEARCH_TIMEOUT_S: Final = 30.0
# Files that one ripgrep is given: far below what systems allow.
_BATCH_FILES: Final = 500


class SearchMatch(Struct, frozen=True):
    """A line that matches, or seems to."""

    path: str
    line: int  # from 1


class PatternError(Exception):
    """The expression can't be used; the text says why."""


class SearchTimeoutError(Exception):
    """The search took too long."""


def find_ripgrep(workspace: Path) -> str | None:
    """Find ripgrep on PATH, or beside this Python, where ripgrep's package installs it.

    Args:
        workspace: The workspace, whose programs are never run.
    """
    beside = Path(sys.executable).parent / "rg"
    return shutil.which("rg", path=make_search_path(workspace)) or (
        str(beside) if os.access(beside, os.X_OK) else None
    )


def search_by_ripgrep(
    program: str,
    root: Path,
    args: SearchArgs,
    files: Iterable[str],
    cancelled: Callable[[], bool],
    timeout_s: float = SEARCH_TIMEOUT_S,
) -> Iterator[SearchMatch]:
    """Find the lines that match, file by file, with ripgrep.

    Args:
        program: Its path.
        root: The folder that paths are relative to.
        args: What to look for.
        files: Where.
        cancelled: Asked now and then whether to end early.
        timeout_s: Seconds that it may take.

    Raises:
        PatternError: ripgrep doesn't know such expressions.
        SearchTimeoutError: It takes too long.
    """
    deadline = time.monotonic() + timeout_s
    files = iter(files)
    while (batch := list(islice(files, _BATCH_FILES))) and not cancelled():
        command = [program, *_options(args), f"--regexp={args.pattern}", "--", *batch]
        # It looks into several at a time, and answers in no order.
        order = {path: number for number, path in enumerate(batch)}
        rows = ((os.fsdecode(path), line) for path, line in _rows(command, root, deadline))
        known = [row for row in rows if row[0] in order]
        for path, line in sorted(known, key=lambda row: (order[row[0]], row[1])):
            yield SearchMatch(path, line)


def _options(args: SearchArgs) -> Iterator[str]:
    yield from ("--no-config", "--no-messages", "--color=never", "--sort=none", "--encoding=none")
    # No line's text, however long it is: a match is its line number.
    yield from ("--text", "--crlf", "--null", "--with-filename", "--line-number", "--no-heading")
    yield from ("--max-columns=1", "--max-count=1000")
    if args.literal:
        yield "--fixed-strings"
    if args.ignore_case:
        yield "--ignore-case"


def _rows(command: Sequence[str], root: Path, deadline: float) -> Iterator[tuple[bytes, int]]:
    """The path and the number of each row that ripgrep prints: `path NUL number : …`."""
    try:
        done = subprocess.run(
            command,
            cwd=root,
            env=make_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            start_new_session=True,
            timeout=max(deadline - time.monotonic(), 0.0),
            check=False,
        )
    except ValueError as error:  # a NUL, or half a character, is no argument
        raise PatternError(str(error)) from None
    except subprocess.TimeoutExpired:
        raise SearchTimeoutError from None
    if done.returncode not in (0, 1) and not done.stdout:
        raise PatternError(done.stderr.decode("utf-8", "replace").strip())
    for row in done.stdout.split(b"\n"):
        path, parted, rest = row.partition(b"\0")
        number = rest.partition(b":")[0]
        if parted and number.isdigit():
            yield path, int(number)


def search_in_python(
    workspace: LocalWorkspace,
    args: SearchArgs,
    files: Iterable[str],
    cancelled: Callable[[], bool],
    timeout_s: float = SEARCH_TIMEOUT_S,
) -> Iterator[SearchMatch]:
    """Find the lines that match, file by file, with `regex`, which can be told when to give up.

    Args:
        workspace: Where the files are.
        args: What to look for.
        files: Where.
        cancelled: Asked at each file whether to end early.
        timeout_s: Seconds that it may take.

    Raises:
        PatternError: It is no expression.
        SearchTimeoutError: It takes too long.
    """
    deadline = time.monotonic() + timeout_s
    text = regex.escape(args.pattern) if args.literal else args.pattern
    try:
        pattern = regex.compile(text, regex.IGNORECASE if args.ignore_case else 0)
    except (regex.error, ValueError, OverflowError, RecursionError, MemoryError) as error:
        raise PatternError(str(error)) from None
    for path in files:
        if cancelled():
            return
        for number, line in enumerate(read_text_lines(workspace, path), 1):
            if _is_match(pattern, line, deadline):
                yield SearchMatch(path, number)


def _is_match(pattern: Any, line: str, deadline: float) -> bool:
    try:
        left = deadline - time.monotonic()
        if left > 0:
            return pattern.search(line, timeout=left) is not None
    except TimeoutError:
        pass
    raise SearchTimeoutError


def read_text_lines(workspace: LocalWorkspace, path: str) -> list[str]:
    """Read a file's lines without line ends; none if the file isn't text, or can't be read."""
    try:
        data = workspace.read_bytes(path)
    except OSError:
        return []
    if b"\0" in data:
        return []
    lines = [line.removesuffix("\r") for line in data.decode("utf-8", "replace").split("\n")]
    return lines if lines[-1] else lines[:-1]


#: Characters of one line that are shown.
MAX_LINE_CHARS: Final = 500
#: Files that are looked through at most.
MAX_FILES: Final = 50_000

_BRACES = re.compile(r"\{([^{}]*)\}")
# Alternatives that the braces of one glob may come to.
_MAX_GLOBS: Final = 64


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


class SearchFiles(FileTool[SearchArgs]):
    """Looks for text in files.

    Args:
        timeout_s: Seconds that one search may take.
    """

    name = "search"
    description = (
        "Look for a regular expression in text files. Gives `path:line: text` for each line that "
        "matches and `path-line- text` for lines around it. What git ignores and hidden files are "
        "left out unless asked for."
    )
    policy = ToolPolicy(read_only=True)
    arguments = SearchArgs

    def __init__(self, timeout_s: float = SEARCH_TIMEOUT_S) -> None:
        self._timeout_s = timeout_s

    def run_blocking(self, args: SearchArgs, ctx: ToolContext) -> ToolResult:
        """Look for it."""
        files = list(islice(_files(args, ctx), MAX_FILES))
        readable = [path for path in files if not ctx.workspace.is_denied(path)]
        try:
            found = list(islice(_matches(args, readable, ctx, self._timeout_s), args.limit + 1))
        except PatternError as error:
            return ToolResult.failure(f"This is no regular expression: {error}. Or set `literal`?")
        except SearchTimeoutError:
            return ToolResult.failure(
                f"The search took more than {self._timeout_s:.0f} seconds: "
                "use a simpler expression, or look in fewer files."
            )
        text = "".join(_shown(ctx.workspace, found[: args.limit], args.context))
        data: dict[str, Any] = {"matches": min(len(found), args.limit), "text": text}
        if len(found) > args.limit:
            data["more"] = "There are more: look for something rarer, or in fewer files."
        return ToolResult.success(data | describe_omitted_files(len(files) - len(readable)))


def _matches(
    args: SearchArgs, files: list[str], ctx: ToolContext, timeout_s: float
) -> Iterator[SearchMatch]:
    """The matches, by ripgrep if it can: it has no look-around and no back references."""
    cancelled = ctx.cancellation.is_set
    program = find_ripgrep(ctx.workspace.root)
    if program is not None:
        try:
            found = search_by_ripgrep(
                program, ctx.workspace.root, args, files, cancelled, timeout_s
            )
            yield from _select_existing(ctx.workspace, found)
            return
        except PatternError:
            pass  # Python says what is wrong, or finds nothing wrong
    yield from search_in_python(ctx.workspace, args, files, cancelled, timeout_s)


def _select_existing(
    workspace: LocalWorkspace, found: Iterable[SearchMatch]
) -> Iterator[SearchMatch]:
    """The matches in lines that the workspace has: none in what is no text, or isn't inside."""
    for path, matches in groupby(found, key=lambda match: match.path):
        count = len(read_text_lines(workspace, path))
        yield from (match for match in matches if match.line <= count)


def _files(args: SearchArgs, ctx: ToolContext) -> Iterator[str]:
    """The files to look through."""
    path = to_git_path(ctx.workspace, args.path) or args.path  # unsafe: the walk says what is wrong
    if ctx.workspace.kind(path) is PathKind.FILE:
        yield path
        return
    what = ListingOptions(
        path=path, depth=100, include_hidden=args.hidden, include_ignored=args.ignored
    )
    fits = _fitting(args.glob)
    for found in walk_files(ctx.workspace, what, ctx.cancellation.is_set):
        if found.entry.kind is PathKind.FILE and fits(found.path):
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
    while todo and len(plain) + len(todo) < _MAX_GLOBS:
        first = todo.pop()
        found = _BRACES.search(first)
        if found is None:
            plain.append(first)
        else:
            before, after = first[: found.start()], first[found.end() :]
            todo += [before + each + after for each in found[1].split(",")]
    return plain + todo


def _shown(workspace: LocalWorkspace, found: Iterable[SearchMatch], context: int) -> Iterator[str]:
    """What the model is shown: matches with the lines around them, as they stand there now."""
    for path, matches in groupby(found, key=lambda match: match.path):
        lines = read_text_lines(workspace, path)
        hits = {match.line for match in matches}
        around = sorted(
            {near for hit in hits for near in range(hit - context, hit + context + 1)}
            & set(range(1, len(lines) + 1))
        )
        for before, number in zip([None, *around], around, strict=False):
            if context and before is not None and number > before + 1:
                yield "--\n"
            mark = ":" if number in hits else "-"
            yield f"{escape_name(path)}{mark}{number}{mark} {_cut(lines[number - 1])}\n"


def _cut(line: str) -> str:
    return (
        line
        if len(line) <= MAX_LINE_CHARS
        else f"{line[:MAX_LINE_CHARS]} [… {len(line):,} characters]"
    )
