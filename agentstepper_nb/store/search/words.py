"""What of a record is worth finding: texts, without the marks of JSON around them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from ...protocol.values import Breakpoint, Commit, Failure, Run

#: Characters of one document that are looked at. What stands behind them isn't found.
LONGEST: Final = 1 << 18
#: Stand around a found word while SQLite hands it out.
OPEN, CLOSE = "\ue000", "\ue001"

#: A string of JSON; with a colon behind it, it names a member.
_STRING: Final = re.compile(rb'"([^"\\]*(?:\\.[^"\\]*)*)"(\s*:)?', re.DOTALL)
#: Words that stand in each message: whoever looks for “user” doesn't mean these.
_FORMAL: Final = {
    b"role": {b"system", b"developer", b"user", b"assistant", b"tool"},
    b"type": {b"text", b"input_text", b"output_text", b"function", b"tool_use", b"tool_result"},
}
#: Encoded bytes: pictures, signatures. Nobody looks for their middle.
_ENCODED: Final = re.compile(r"([A-Za-z0-9+/=_-]{200})[A-Za-z0-9+/=_-]+")
_UNWANTED: Final = dict.fromkeys(map(ord, "\0" + OPEN + CLOSE), " ")


def strings(piece: bytes) -> Iterator[str]:
    """The strings in a piece of a JSON text, without the names of members, roles and block types."""
    member = b""
    for match in _STRING.finditer(piece):
        text = match[1]
        if match[2] is not None:
            member = text
        elif text and not (member in _FORMAL and text in _FORMAL[member]):
            yield _unescaped(text)


def _unescaped(inner: bytes) -> str:
    if b"\\" in inner:
        try:
            return msgspec.json.decode(b'"' + inner + b'"', type=str)
        except (msgspec.DecodeError, UnicodeError):
            pass  # what only a lenient parser takes is looked for as it stands there
    return inner.decode(errors="replace")


def of_run(run: Run) -> str:
    """What a run is found by."""
    return joined([run.name, run.program, *run.tags, *_failure(run.failure)])


def about(breakpoint: Breakpoint) -> list[str]:
    """What is said of a breakpoint beside its contents."""
    own = [breakpoint.name or "", breakpoint.summary or ""]
    return own + _failure(breakpoint.failure)


def of_commit(commit: Commit) -> str:
    """A commit's title, its paths, and the lines that were added."""
    return joined([commit.title, commit.description, *_paths(commit), *_added(commit)])


def _paths(commit: Commit) -> Iterator[str]:
    for change in commit.changes:
        yield change.path
        yield change.previous_path or ""


def _added(commit: Commit) -> Iterator[str]:
    for change in commit.changes:
        body = change.body
        if body is None:
            continue
        if not body.diff:
            yield body.content
        for line in body.diff.splitlines():
            if line.startswith("+") and not line.startswith("+++"):
                yield line[1:]


def _failure(failure: Failure | None) -> list[str]:
    return [] if failure is None else [failure.type, failure.message]


def joined(texts: Iterable[str]) -> str:
    """Texts as one document, as SQLite can hold it."""
    left = LONGEST
    kept = []
    for text in texts:
        if left <= 0:
            break
        kept.append(text[:left])
        left -= len(kept[-1])
    whole = "\n".join(filter(None, kept)).translate(_UNWANTED)
    return _ENCODED.sub(r"\1", whole).encode(errors="replace").decode()


def turns(snippet: str) -> tuple[str, ...]:
    """A marked snippet as plain and found pieces in turns, beginning with a plain one."""
    line = re.sub(r"\s+", " ", snippet)
    pieces: list[str] = []
    for plain_and_found in line.split(OPEN):
        pieces += plain_and_found.split(CLOSE, 1)
    # Without a match in view there is one plain piece; else each OPEN began a found one.
    return tuple(pieces)
