"""What a change looks like: unified diffs, made quickly whatever the files are."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Final

_CONTEXT: Final = 3
# Comparing takes as long as its two sides multiplied: what is larger is shown as replaced.
_COMPARED: Final = 4_000_000
_NO_NEWLINE: Final = "\\ No newline at end of file"


def unified(path: str, old: str | None, new: str | None) -> str:
    """The unified diff from one text to another; empty where they are equal.

    Args:
        path: The file's path, named on both sides.
        old: What it held; None where there was none.
        new: What it holds; None where there is none any more.
    """
    if old == new:
        return ""
    before = "/dev/null" if old is None else f"a/{path}"
    after = "/dev/null" if new is None else f"b/{path}"
    body = "".join(_hunks(lines(old or ""), lines(new or "")))
    return f"--- {before}\n+++ {after}\n{body}"


def lines(text: str) -> list[str]:
    """A text's lines with their ends, where git sees them end: at line feeds alone."""
    found = [f"{line}\n" for line in text.split("\n")]
    found[-1] = found[-1][:-1]
    return found if found[-1] else found[:-1]


def _hunks(old: list[str], new: list[str]) -> Iterator[str]:
    head = _alike(old, new)
    tail = _alike(old[head:][::-1], new[head:][::-1])
    # Only what differs is compared, with some lines around it.
    first = max(head - _CONTEXT, 0)
    last = max(tail - _CONTEXT, 0)
    a, b = old[first : len(old) - last], new[first : len(new) - last]
    if len(a) * len(b) > _COMPARED:
        groups = iter([_replaced(a, b, head - first, tail - last)])
    else:
        groups = iter(difflib.SequenceMatcher(None, a, b).get_grouped_opcodes(_CONTEXT))
    for group in groups:
        (_, a1, _, b1, _), (_, _, a2, _, b2) = group[0], group[-1]
        yield f"@@ -{_range(first, a1, a2)} +{_range(first, b1, b2)} @@\n"
        for what, i1, i2, j1, j2 in group:
            if what == "equal":
                yield from _marked(" ", a[i1:i2])
            else:
                yield from _marked("-", a[i1:i2])
                yield from _marked("+", b[j1:j2])


_Opcode = tuple[str, int, int, int, int]


def _replaced(a: list[str], b: list[str], head: int, tail: int) -> list[_Opcode]:
    """One hunk in which all between head and tail is another."""
    i, j = len(a) - tail, len(b) - tail
    return [
        ("equal", 0, head, 0, head),
        ("replace", head, i, head, j),
        ("equal", i, len(a), j, len(b)),
    ]


def _alike(old: list[str], new: list[str]) -> int:
    """How many lines both begin with."""
    for number, (one, other) in enumerate(zip(old, new, strict=False)):
        if one != other:
            return number
    return min(len(old), len(new))


def _range(first: int, begin: int, end: int) -> str:
    length = end - begin
    # An empty range is said to stand after the line before it.
    start = first + begin + (1 if length else 0)
    return f"{start}" if length == 1 else f"{start},{length}"


def _marked(mark: str, text: list[str]) -> Iterator[str]:
    for line in text:
        yield f"{mark}{line}" if line.endswith("\n") else f"{mark}{line}\n{_NO_NEWLINE}\n"
