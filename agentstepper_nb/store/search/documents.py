"""The tables of an index: texts with their places, and the strings that each run has had."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Final
from zlib import crc32

import msgspec

from ...protocol.data_model import Commit, Failure, HaltPoint, Run
from ...protocol.run_queries import SearchHitPlace
from ...protocol.segments import split_content

#: Of the tables' form: an index of another number is made anew.
VERSION: Final = 2

SCHEMA: Final = f"""
CREATE TABLE runs (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, changes INTEGER);
CREATE TABLE documents (
    document INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    place TEXT NOT NULL,
    id TEXT NOT NULL,
    part TEXT NOT NULL,
    checksum INTEGER NOT NULL,
    UNIQUE (run, place, id, part)
);
CREATE TABLE seen (run INTEGER, digest INTEGER, PRIMARY KEY (run, digest)) WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5 (text, tokenize = 'unicode61 remove_diacritics 2', prefix = '2 3');
PRAGMA user_version = {VERSION};
"""

#: The application id in the file's header while bytes of deleted runs may still be in the file.
NEEDS_CLEANUP_APPLICATION_ID: Final = 1

#: Characters from which a string is indexed once per run: repeated messages aren't new.
_MIN_SHARED_CHARS: Final = 24


class Documents:
    """Reads and writes an index's tables, in its caller's transaction.

    Args:
        db: The index.
    """

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def ensure_run_number(self, run: str) -> int:
        """Return a run's number in the tables; a new run gets one."""
        found = self._db.execute("SELECT number FROM runs WHERE id = ?", (run,)).fetchone()
        if found is None:
            return self._db.execute("INSERT INTO runs (id) VALUES (?)", (run,)).lastrowid or 0
        return int(found[0])

    def has_run(self, run: str) -> bool:
        """Whether the index has any data of a run."""
        found = self._db.execute("SELECT 1 FROM runs WHERE id = ?", (run,)).fetchone()
        return found is not None

    def find(self, run: int, place: SearchHitPlace, id: str, part: str) -> int | None:
        """A document's own number."""
        found = self._db.execute(
            "SELECT document FROM documents WHERE run = ? AND place = ? AND id = ? AND part = ?",
            (run, place, id, part),
        ).fetchone()
        return None if found is None else int(found[0])

    def put(self, run: int, place: SearchHitPlace, id: str, part: str, text: str) -> None:
        """Set a document's text, which is the newest then; unless it is the same as before."""
        old = self.find(run, place, id, part)
        if old is not None and self._text(old) == text:
            return
        self._remove(old)
        document = self._db.execute(
            "INSERT INTO documents (run, place, id, part, checksum) VALUES (?, ?, ?, ?, ?)",
            (run, place, id, part, compute_checksum(run, place, id, part, text)),
        ).lastrowid
        self._db.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (document, text))

    def remove(self, run: int, place: SearchHitPlace, id: str, part: str) -> None:
        """Remove a document, if it exists."""
        self._remove(self.find(run, place, id, part))

    def forget(self, run: int) -> None:
        """Remove a run with all its documents. Their bytes stay in the file until `clean_up`."""
        own = "SELECT document FROM documents WHERE run = ?"
        self._db.execute(f"DELETE FROM words WHERE rowid IN ({own})", (run,))
        for table in ("documents", "seen"):
            self._db.execute(f"DELETE FROM {table} WHERE run = ?", (run,))
        self._db.execute("DELETE FROM runs WHERE number = ?", (run,))
        self._db.execute(f"PRAGMA application_id = {NEEDS_CLEANUP_APPLICATION_ID}")

    def add_all_strings(self, run: int, data: str) -> list[str]:
        """Return all strings of a content, and record them as seen in the run."""
        found: list[str] = []
        for piece in split_content(data.encode(errors="replace")):
            self._mark_seen(run, piece)
            for string in extract_strings(piece):
                if len(string) >= _MIN_SHARED_CHARS:
                    self._mark_seen(run, _bytes(string))
                found.append(string)
        return found

    def add_new_strings(self, run: int, data: str) -> Iterator[str]:
        """Yield the strings of a content that are new in the run, and record them."""
        for piece in split_content(data.encode(errors="replace")):
            if self._mark_seen(run, piece):
                for string in extract_strings(piece):
                    if len(string) < _MIN_SHARED_CHARS or self._mark_seen(run, _bytes(string)):
                        yield string

    def find_unseen_strings(self, run: int, data: str) -> Iterator[str]:
        """Yield an edit's strings that are new in the run, without recording them: edits may change."""
        for piece in split_content(data.encode(errors="replace")):
            if not self._is_seen(run, piece):
                for string in extract_strings(piece):
                    if len(string) < _MIN_SHARED_CHARS or not self._is_seen(run, _bytes(string)):
                        yield string

    def _text(self, document: int) -> str:
        found = self._db.execute("SELECT text FROM words WHERE rowid = ?", (document,)).fetchone()
        return str(found[0])

    def _remove(self, document: int | None) -> None:
        self._db.execute("DELETE FROM words WHERE rowid = ?", (document,))
        self._db.execute("DELETE FROM documents WHERE document = ?", (document,))

    def _mark_seen(self, run: int, data: bytes) -> bool:
        done = self._db.execute("INSERT OR IGNORE INTO seen VALUES (?, ?)", (run, _digest(data)))
        return done.rowcount == 1

    def _is_seen(self, run: int, data: bytes) -> bool:
        query = "SELECT 1 FROM seen WHERE run = ? AND digest = ?"
        return self._db.execute(query, (run, _digest(data))).fetchone() is not None


def compute_checksum(run: int, place: str, id: str, part: str, text: str) -> int:
    """Compute a document's checksum, which SQLite doesn't do."""
    return crc32("\0".join((str(run), place, id, part, text)).encode())


def _bytes(string: str) -> bytes:
    return string.encode(errors="replace")


def _digest(data: bytes) -> int:
    return int.from_bytes(blake2b(data, digest_size=8).digest(), signed=True)


# ---- words: texts, without the marks of JSON around them ------------------------------------------


#: Characters of one document that are indexed. Later text isn't found.
MAX_DOCUMENT_CHARS: Final = 1 << 18
#: Stand around a found word while SQLite hands it out.
OPEN, CLOSE = "\ue000", "\ue001"

#: A string of JSON; with a colon behind it, it names a member.
_STRING: Final = re.compile(rb'"([^"\\]*(?:\\.[^"\\]*)*)"(\s*:)?', re.DOTALL)
#: Values in every message: a search for “user” doesn't mean these.
_PROTOCOL_VALUES: Final = {
    b"role": {b"system", b"developer", b"user", b"assistant", b"tool"},
    b"type": {b"text", b"input_text", b"output_text", b"function", b"tool_use", b"tool_result"},
}
#: Encoded bytes: pictures, signatures. A search never means their middle.
_BASE64: Final = re.compile(r"([A-Za-z0-9+/=_-]{200})[A-Za-z0-9+/=_-]+")
_RESERVED_CHARACTERS: Final = dict.fromkeys(map(ord, "\0" + OPEN + CLOSE), " ")


def extract_strings(piece: bytes) -> Iterator[str]:
    """The strings in a piece of a JSON text, without the names of members, roles and block types."""
    member = b""
    for match in _STRING.finditer(piece):
        text = match[1]
        if match[2] is not None:
            member = text
        elif text and not (member in _PROTOCOL_VALUES and text in _PROTOCOL_VALUES[member]):
            yield _unescaped(text)


def _unescaped(inner: bytes) -> str:
    if b"\\" in inner:
        try:
            return msgspec.json.decode(b'"' + inner + b'"', type=str)
        except (msgspec.DecodeError, UnicodeError):
            pass  # what only a lenient parser takes is looked for as it stands there
    return inner.decode(errors="replace")


def collect_run_texts(run: Run) -> str:
    """Collect the texts by which a run is found."""
    return join_texts([run.name, run.program, *run.tags, *_failure(run.failure)])


def collect_halt_point_texts(halt_point: HaltPoint) -> list[str]:
    """Collect a halt point's texts besides its contents."""
    own = [halt_point.name or "", halt_point.summary or ""]
    return own + _failure(halt_point.failure)


def collect_commit_texts(commit: Commit) -> str:
    """Collect a commit's title, its paths, and its added lines."""
    return join_texts([commit.title, commit.description, *_paths(commit), *_added(commit)])


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


def join_texts(texts: Iterable[str]) -> str:
    """Texts as one document, as SQLite can hold it."""
    chars_left = MAX_DOCUMENT_CHARS
    kept = []
    for text in texts:
        if chars_left <= 0:
            break
        kept.append(text[:chars_left])
        chars_left -= len(kept[-1])
    whole = "\n".join(filter(None, kept)).translate(_RESERVED_CHARACTERS)
    return _BASE64.sub(r"\1", whole).encode(errors="replace").decode()


def split_snippet(snippet: str) -> tuple[str, ...]:
    """A marked snippet as plain and found pieces in turns, beginning with a plain one."""
    line = re.sub(r"\s+", " ", snippet)
    pieces: list[str] = []
    for plain_and_found in line.split(OPEN):
        pieces += plain_and_found.split(CLOSE, 1)
    # Without a match in view there is one plain piece; else each OPEN began a found one.
    return tuple(pieces)
