"""Which lines of which files match: by ripgrep where there is one, else in Python.

Either is told the same files and only says line numbers. What the model is shown is read through the
workspace afterwards, so that it makes no difference what stands in a file's place meanwhile.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

import regex
from msgspec import Struct

from ...sdk.workspace.git_environment import search_path
from ..sandbox.environment import environment
from ..workspace import Workspace

#: Seconds that one search may take.
PATIENCE: Final = 30.0
# Files that one ripgrep is given: far below what systems allow.
_BATCH: Final = 500


class Wanted(Struct, frozen=True, kw_only=True):
    """What to look for."""

    pattern: str
    literal: bool = False
    ignore_case: bool = False


class Match(Struct, frozen=True):
    """A line that matches, or seems to."""

    path: str
    line: int  # from 1


class PatternError(Exception):
    """The expression can't be used; the text says why."""


class SearchTimeoutError(Exception):
    """The search took too long."""


def ripgrep(workspace: Path) -> str | None:
    """Where ripgrep is: on PATH, or beside this Python, where its package puts it.

    Args:
        workspace: The folder of which no program is run.
    """
    beside = Path(sys.executable).parent / "rg"
    return shutil.which("rg", path=search_path(workspace)) or (
        str(beside) if os.access(beside, os.X_OK) else None
    )


class ByRipgrep:
    """Looks with ripgrep.

    Args:
        program: Its path.
        root: The folder that paths are relative to.
    """

    def __init__(self, program: str, root: Path) -> None:
        self._program = program
        self._root = root

    def matches(
        self, wanted: Wanted, files: Iterable[str], cancelled: Callable[[], bool]
    ) -> Iterator[Match]:
        """The lines that match, file by file.

        Raises:
            PatternError: ripgrep doesn't know such expressions.
            SearchTimeoutError: It takes too long.
        """
        deadline = time.monotonic() + PATIENCE
        files = iter(files)
        while (batch := list(islice(files, _BATCH))) and not cancelled():
            yield from self._batch(wanted, batch, deadline)

    def _batch(self, wanted: Wanted, files: Sequence[str], deadline: float) -> Iterator[Match]:
        try:
            started = self._start(wanted, files)
        except ValueError as error:  # a NUL, or half a character, is no argument
            raise PatternError(str(error)) from None
        with started as process:
            assert process.stdout is not None and process.stderr is not None
            try:
                out, err = process.communicate(timeout=max(deadline - time.monotonic(), 0.0))
            except subprocess.TimeoutExpired:
                process.kill()
                raise SearchTimeoutError from None
            except BaseException:
                process.kill()
                raise
        if process.returncode not in (0, 1) and not out:
            raise PatternError(err.decode("utf-8", "replace").strip())
        # It looks into several at a time, and answers in no order.
        order = {path: number for number, path in enumerate(files)}
        rows = [(os.fsdecode(path), line) for path, line in _lines(out)]
        known = [row for row in rows if row[0] in order]
        for path, line in sorted(known, key=lambda row: (order[row[0]], row[1])):
            yield Match(path, line)

    def _start(self, wanted: Wanted, files: Sequence[str]) -> subprocess.Popen[bytes]:
        options = [
            "--no-config",
            "--no-messages",
            "--color=never",
            "--sort=none",
            "--encoding=none",
        ]
        # No line's text, however long it is: a match is its line number.
        options += [
            "--text",
            "--crlf",
            "--null",
            "--with-filename",
            "--line-number",
            "--no-heading",
        ]
        options += ["--max-columns=1", "--max-count=1000"]
        options += ["--fixed-strings"] if wanted.literal else []
        options += ["--ignore-case"] if wanted.ignore_case else []
        command = [self._program, *options, f"--regexp={wanted.pattern}", "--", *files]
        return subprocess.Popen(
            command,
            cwd=self._root,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )


def _lines(out: bytes) -> Iterator[tuple[bytes, int]]:
    """The path and the number of each row: `path NUL number : …`."""
    for row in out.split(b"\n"):
        path, parted, rest = row.partition(b"\0")
        number = rest.partition(b":")[0]
        if parted and number.isdigit():
            yield path, int(number)


class InPython:
    """Looks in Python, with `regex`, which can be told when to give up.

    Args:
        workspace: Where the files are.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def matches(
        self, wanted: Wanted, files: Iterable[str], cancelled: Callable[[], bool]
    ) -> Iterator[Match]:
        """The lines that match, file by file.

        Raises:
            PatternError: It is no expression.
            SearchTimeoutError: It takes too long.
        """
        deadline = time.monotonic() + PATIENCE
        pattern = compiled(wanted)
        for path in files:
            if cancelled():
                return
            for number, line in enumerate(text_lines(self._workspace, path), 1):
                if _matches(pattern, line, deadline):
                    yield Match(path, number)


def _matches(pattern: Any, line: str, deadline: float) -> bool:
    try:
        left = deadline - time.monotonic()
        if left > 0:
            return pattern.search(line, timeout=left) is not None
    except TimeoutError:
        pass
    raise SearchTimeoutError


def compiled(wanted: Wanted) -> Any:
    """The expression, as `regex` has it.

    Raises:
        PatternError: It is none.
    """
    text = regex.escape(wanted.pattern) if wanted.literal else wanted.pattern
    try:
        return regex.compile(text, regex.IGNORECASE if wanted.ignore_case else 0)
    except (regex.error, ValueError, OverflowError, RecursionError, MemoryError) as error:
        raise PatternError(str(error)) from None


def text_lines(workspace: Workspace, path: str) -> list[str]:
    """A file's lines without their ends; none for what is no text, or can't be read."""
    try:
        data = workspace.read_bytes(path)
    except OSError:
        return []
    if b"\0" in data:
        return []
    lines = [line.removesuffix("\r") for line in data.decode("utf-8", "replace").split("\n")]
    return lines if lines[-1] else lines[:-1]
