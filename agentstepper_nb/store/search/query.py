"""Converts a person's search query to FTS5's language, and finds its words in an index."""

from __future__ import annotations

import re
import sqlite3
import unicodedata
from contextlib import closing
from pathlib import Path
from typing import Final
from urllib.parse import quote

from ...errors import CommandError, ProtocolError
from ...protocol.run_queries import SearchHit, SearchHitPlace
from .documents import CLOSE, OPEN, VERSION, compute_checksum, split_snippet

#: The most words and phrases of one search.
MAX_TERMS: Final = 64

#: Quotes of other keyboards, and the character that would end FTS5's parsing.
_QUOTE_TABLE: Final = str.maketrans({"“": '"', "”": '"', "„": '"', "\0": " "})
_TERM: Final = re.compile(r'"([^"]*)"|([^\s"]+)')

_SELECT_HITS: Final = """
SELECT runs.id, documents.place, documents.id, snippet(words, 0, ?, ?, '…', 24),
    documents.checksum, documents.run, documents.part, words.text
FROM words
CROSS JOIN documents ON documents.document = words.rowid
CROSS JOIN runs ON runs.number = documents.run
WHERE words MATCH ? AND (? IS NULL OR runs.id = ?)
ORDER BY words.rowid DESC
"""

#: Seconds to wait while its owner writes.
_BUSY_TIMEOUT_S: Final = 5.0


def make_fts_expression(query: str) -> str:
    """Make an FTS5 expression that requires all words and phrases of a query.

    Every term becomes an FTS5 string, so that no word of the query is taken as an operator.

    Args:
        query: A query as for `Store.search`.

    Raises:
        ProtocolError: `invalid_search`: the query has no word or too many, or a quote isn't closed.
    """
    text = query.encode(errors="replace").decode().translate(_QUOTE_TABLE)
    if text.count('"') % 2:
        raise _make_search_error(
            'A quote isn\'t closed: write "the words of the phrase" with one at each end.'
        )
    terms = [(match[1] or match[2] or "", match[2] is not None) for match in _TERM.finditer(text)]
    terms = [(words, is_bare) for words, is_bare in terms if any(map(_is_word_character, words))]
    if not terms:
        raise _make_search_error("The query has no word: type letters or digits.")
    if len(terms) > MAX_TERMS:
        raise _make_search_error(f"The query has too many words: use up to {MAX_TERMS}.")
    expression = " ".join(f'"{words}"' for words, _ in terms)
    return f"{expression}*" if terms[-1][1] else expression


def _is_word_character(character: str) -> bool:
    """Whether a character belongs to words, as in FTS5's `unicode61`: letters, digits, private ones."""
    category = unicodedata.category(character)
    return category[0] in "LN" or category == "Co"


def _make_search_error(message: str) -> ProtocolError:
    return ProtocolError("invalid_search", message)


# ---- looking ----------------------------------------------------------------------------------------


def find_hits_in_file(
    path: Path, query: str, run: str | None = None, limit: int = 100
) -> list[SearchHit]:
    """Find text, newest first. Changes of the last second may be missing.

    Args:
        path: The index's file, which another process writes.
        query: A query as for `Store.search`.
        run: The id of the only run to search; None: all runs.
        limit: The most hits.

    Raises:
        ProtocolError: `invalid_search`: the query has no word, or a quote isn't closed.
        CommandError: `cannot_search`: the index doesn't exist, or can't be used.
    """
    address = f"file:{quote(str(path.absolute()))}?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=_BUSY_TIMEOUT_S)) as db:
            db.text_factory = decode_text
            version = db.execute("PRAGMA user_version").fetchone()[0]
            if version == VERSION:
                return find_hits(db, query, run, limit)
            why = f"it is of version {version}, but this program reads version {VERSION}"
    except (sqlite3.Error, UnicodeDecodeError) as error:
        why = str(error)
    raise CommandError(
        "cannot_search",
        f"The search index {path} can't be read: {why}. Search in the view of the Core "
        "that uses the folder.",
    )


def find_hits(db: sqlite3.Connection, query: str, run: str | None, limit: int) -> list[SearchHit]:
    """Find text, newest first; each row, commit, note and run is one hit at most.

    Args:
        db: An index.
        query: A query as for `Store.search`.
        run: The id of the only run to search; None: all runs.
        limit: The most hits.

    Raises:
        ProtocolError: `invalid_search`.
    """
    hits: dict[tuple[str, str, str], SearchHit] = {}
    rows = db.execute(_SELECT_HITS, (OPEN, CLOSE, make_fts_expression(query), run, run))
    for run_id, place, id, snippet, stored_checksum, number, part, text in rows:
        if compute_checksum(number, place, id, part, text) != stored_checksum:
            raise sqlite3.DatabaseError("a text isn't what was taken in")
        hit = SearchHit(
            run=run_id, place=SearchHitPlace(place), id=id or None, snippet=split_snippet(snippet)
        )
        hits.setdefault((run_id, place, id), hit)
        if len(hits) >= limit:
            break
    rows.close()
    return list(hits.values())


def decode_text(data: bytes) -> str:
    """Decode a text column; a damaged one becomes a text that its checksum rejects."""
    return data.decode(errors="replace")
