"""Patterns of what differs from one execution to the next, offered where a replay diverges by it."""

from __future__ import annotations

from typing import Final

from .content_hashes import ContentHasher

_MONTH: Final = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
_DAY: Final = r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? +)?"
#: The patterns, those first that match more at once. None has a quotation mark: they stand in messages.
PATTERNS: Final[tuple[str, ...]] = (
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?: ?Z|[+-]\d\d:?\d\d)?",  # ISO times
    r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}",  # UUIDs
    r"(?:/private)?/(?:tmp|var/tmp|var/folders)/[\w.+/-]+",  # temporary paths
    r"\d{4}-\d\d-\d\d",  # dates
    rf"{_DAY}(?:{_MONTH} \d{{1,2}},? |\d{{1,2}} {_MONTH} )\d{{4}}",  # dates in words
    r"\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?",  # times of day
    r"\b1\d{9}(?:\.\d+)?\b",  # POSIX seconds
    r"\b(?:0x)?[0-9a-fA-F]{6,}\b",  # addresses of objects, and ids
)


def suggest_patterns(expected: str, actual: str) -> tuple[str, ...]:
    """Suggest the patterns whose matches are the only differences between two requests.

    Args:
        expected: The recorded JSON text.
        actual: The present JSON text.

    Returns:
        The smallest set of patterns; empty: the requests have other differences.
    """
    needed = PATTERNS
    if not _is_same(expected, actual, needed):
        return ()
    for pattern in reversed(PATTERNS):
        fewer = tuple(each for each in needed if each != pattern)
        if _is_same(expected, actual, fewer):
            needed = fewer
    return needed


def _is_same(expected: str, actual: str, patterns: tuple[str, ...]) -> bool:
    normalize = ContentHasher(None, patterns).normalize
    try:
        return normalize(expected) == normalize(actual)
    except ValueError:  # lenient JSON of version 1
        return False


def format_patterns(patterns: tuple[str, ...]) -> str:
    """Patterns as a list in Python's text."""
    return "[" + ", ".join(f"r'{pattern}'" for pattern in patterns) + "]"
