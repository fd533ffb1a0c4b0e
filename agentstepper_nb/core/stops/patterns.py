"""Regular expressions that a person writes into a condition: they end, and take little room."""

from __future__ import annotations

import re
from math import prod
from typing import Any, Final

from .failing import ConditionError

#: Characters of a pattern.
_LONGEST: Final = 500
#: Nodes that a pattern may be compiled to: repeats of groups are written out, over and over if nested.
_LARGEST: Final = 400_000
#: Seconds that a search may take.
_TIMEOUT: Final = 0.05
_VERBOSE: Final = re.compile(r"\(\?[a-zA-Z0-9-]*x")
_REPEAT: Final = re.compile(r"(\)?)(?:(\+)|\{ *(\d*) *(?:(,) *(\d*) *)?\})")


class Pattern:
    """A regular expression, ready to be searched for.

    Args:
        text: The expression, as the `regex` package has it.

    Raises:
        ConditionError: It is none, or one that would take too much.
    """

    __slots__ = ("_compiled", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._compiled = _compile(text)

    def is_in(self, text: str) -> bool:
        """Whether the expression matches anywhere in a text.

        Raises:
            ConditionError: Nobody knows: the search takes too long.
        """
        try:
            return self._compiled.search(text, timeout=_TIMEOUT) is not None
        except (TimeoutError, MemoryError, RecursionError):
            raise ConditionError(
                f"the search for {self._text!r} takes too long: use a simpler pattern"
            ) from None


def _compile(text: str) -> Any:
    import regex  # costs a start-up what few need

    if "\b" in text:
        raise ConditionError(r'“\b” is a backspace here: put an r before the quotes, r"\bword\b"')
    if _VERBOSE.search(text):
        raise ConditionError("a pattern can't have the flag x")
    if len(text) > _LONGEST or _size(text) > _LARGEST:
        raise ConditionError("the pattern is too long, or repeats too much")
    try:
        return regex.compile(text)
    except (regex.error, ValueError, OverflowError, RecursionError, MemoryError) as failed:
        raise ConditionError(f"the pattern can't be read: {failed}") from None


def _size(text: str) -> int:
    """The most that a pattern is compiled to: as if all its groups were nested."""
    groups, others = [1], [2]
    for closed, plus, low, comma, high in _REPEAT.findall(text):
        times = 2 if plus else max(1, int(low[:9] or 0)) + (comma != "" and low != high)
        (groups if closed else others).append(times)
    return len(text) * prod(groups) * max(others)
