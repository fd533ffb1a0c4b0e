"""What a person types to search, in FTS5's language."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from ...errors import ProtocolError

#: Words and phrases that one search takes.
MOST: Final = 64

#: Quotes that keyboards make of others; what would end FTS5's reading.
_AS: Final = str.maketrans({"“": '"', "”": '"', "„": '"', "\0": " "})
_TERM: Final = re.compile(r'"([^"]*)"|([^\s"]+)')


def expression(query: str) -> str:
    """An FTS5 expression that asks for all words and phrases of a query.

    Every term goes in as a string of FTS5's, so that nothing of what a person types is an operator.

    Args:
        query: As `Store.search` takes it.

    Raises:
        ProtocolError: `invalid_search`: no word in it, too many, or a quote that isn't closed.
    """
    text = query.encode(errors="replace").decode().translate(_AS)
    if text.count('"') % 2:
        raise _invalid(
            'A quote isn\'t closed: write "the words of the phrase" with one at each end.'
        )
    terms = [(match[1] or match[2] or "", match[2] is not None) for match in _TERM.finditer(text)]
    terms = [(words, is_bare) for words, is_bare in terms if any(map(_counts, words))]
    if not terms:
        raise _invalid("There is no word to look for: type letters or digits.")
    if len(terms) > MOST:
        raise _invalid(f"Look for up to {MOST} words at once.")
    asked = " ".join(f'"{words}"' for words, _ in terms)
    return f"{asked}*" if terms[-1][1] else asked


def _counts(character: str) -> bool:
    """Whether words are made of it: FTS5's `unicode61` takes letters, digits and private ones."""
    category = unicodedata.category(character)
    return category[0] in "LN" or category == "Co"


def _invalid(message: str) -> ProtocolError:
    return ProtocolError("invalid_search", message)
