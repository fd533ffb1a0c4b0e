"""The known word that a mistyped one resembles."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

#: The least similarity of two words, from 0 to 1: one letter of four may be wrong.
_MIN_SIMILARITY: Final = 0.7


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Suggest the known word that resembles another.

    Args:
        word: A word that is not known.
        known: The words that are.

    Returns:
        A sentence behind a space, or an empty text where no word is like it.
    """
    found = get_close_matches(word.lower(), list(known), n=1, cutoff=_MIN_SIMILARITY)
    return f" Did you mean “{found[0]}”?" if found else ""
