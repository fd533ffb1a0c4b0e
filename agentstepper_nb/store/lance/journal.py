"""The journal: what was kept since the tables were last made safe, a line a change.

LanceDB has no transactions over tables, and on a disk of this machine it never syncs. So a change is
kept once its line is: whole, or not at all. The tables follow, and what they lost with the power they
are told again. Rows are kept as they are to be, so that telling twice changes nothing.

The first line is the head: the versions of the tables that are safe. A new head begins a new file, which
takes the old one's place in one step.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

import msgspec
from msgspec import Raw, Struct

from ...errors import NewerStoreError, StoreError
from ..atomic_files import sync_folder
from .table_specs import TABLES_BY_NAME, Changes, Row

JOURNAL: Final = "journal"
_NEXT: Final = "journal.new"
#: The form of the journal and of the tables.
FORMAT: Final = 1
_SUM: Final = 9  # characters of a line's checksum, with the space after it

_sync = getattr(os, "fdatasync", os.fsync)


class JournalHeader(Struct, frozen=True, kw_only=True, rename={"last_number": "n"}):
    """What the journal goes on from.

    Args:
        format: The form of what is kept.
        last_number: The number that the next row gets.
        versions: Each table's version that is safe.
        merges: How many there were since the tables were compacted.
        closed: The store was closed after this: the tables are as their last writer left them.
    """

    format: int = FORMAT
    last_number: int = 0
    versions: dict[str, int] = {}
    merges: int = 0
    closed: bool = False


class Journal:
    """The file. It is written and synced by whoever calls, off the event loop.

    Args:
        folder: The store's.
        file: Its descriptor, at the end of what holds.
        size: How long it is.
    """

    def __init__(self, folder: Path, file: int, size: int) -> None:
        self.size = size
        self.entries = 0  # since the head
        self._folder = folder
        self._file = file
        self._broken = False

    @classmethod
    def open(cls, folder: Path) -> tuple[Self, JournalHeader | None, list[Changes]]:
        """Open the journal and read it; what a kill left half-written at its end is cut off.

        Returns:
            The journal, its head, None where there was none yet, and what was kept since.

        Raises:
            StoreError: It is damaged, or can't be read.
        """
        file = os.open(folder / JOURNAL, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            data = (folder / JOURNAL).read_bytes()
            lines, size = _lines(data, folder)
            header, changes = _read(lines, folder)
            if header is not None and header.format > FORMAT:
                raise NewerStoreError(
                    f"{folder} was written by a newer agentstepper_nb: upgrade this one, or choose "
                    "another folder."
                )
            os.ftruncate(file, size)
            os.lseek(file, size, os.SEEK_SET)
        except BaseException:
            os.close(file)
            raise
        journal = cls(folder, file, size)
        journal.entries = len(changes)
        return journal, header, changes

    def append(self, changes: Changes) -> None:
        """Keep changes: once this returns they outlive a power cut.

        Raises:
            StoreError: They can't be kept; none of them is.
            ValueError: JSON can't carry a value; `TypeError` and `RecursionError` say the same.
        """
        if self._broken:
            raise StoreError(_broken(self._folder))
        text = msgspec.json.encode(
            {name: list(_numbered_values(rows)) for name, rows in _nonempty_tables(changes)}
        )
        _changes(text)  # what couldn't be read again isn't kept
        line = _line(text)
        try:
            _write(self._file, line)
        except OSError as error:
            self._cut()
            raise StoreError(
                f"The store can't write to {self._folder} right now: {error}."
            ) from error
        try:
            _sync(self._file)
        except OSError as error:  # what is on the disk now, nobody knows
            self._broken = True
            raise StoreError(_broken(self._folder)) from error
        self._check_own_file()
        self.size += len(line)
        self.entries += 1

    def _check_own_file(self) -> None:
        """See that nobody else has begun a journal here, in spite of the lock."""
        if os.fstat(self._file).st_nlink == 0:
            self._broken = True
            raise StoreError(
                f"Another process took over {self._folder} from this one: was its lock "
                "file deleted? The other process continues; end this one."
            )

    def restart(self, header: JournalHeader) -> None:
        """Begin anew: the tables have all of it, at these versions.

        Raises:
            OSError: It can't be written; what there was goes on. A `StoreError`: it is another's by now.
        """
        self._check_own_file()
        following = self._folder / _NEXT
        line = _line(msgspec.json.encode(header))
        file = os.open(following, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            _write(file, line)
            os.fsync(file)
            following.replace(self._folder / JOURNAL)
        except OSError:
            os.close(file)
            raise
        os.close(self._file)
        self._file, self.size, self.entries = file, len(line), 0
        try:
            sync_folder(self._folder)
        except OSError:  # which of the two files is there after a power cut, nobody knows
            self._broken = True
            raise

    def close(self) -> None:
        """Let the file go. Idempotent."""
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)

    def _cut(self) -> None:
        """Take back a line that could not be written whole."""
        self._broken = True
        with suppress(OSError):
            os.ftruncate(self._file, self.size)
            os.lseek(self._file, self.size, os.SEEK_SET)
            self._broken = False


def _broken(folder: Path) -> str:
    return (
        f"The disk of {folder} failed to sync, so that its content is unknown. Check the "
        "disk, then start again: earlier data is read from it."
    )


def _nonempty_tables(changes: Changes) -> Iterator[tuple[str, dict[str, Row]]]:
    return ((name, rows) for name, rows in changes.rows.items() if rows)


def _numbered_values(rows: dict[str, Row]) -> Iterator[tuple[int, Struct]]:
    return ((row.number, row.value) for row in rows.values())


def _write(file: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(file, left) :]


def _line(text: bytes) -> bytes:
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _lines(data: bytes, folder: Path) -> tuple[list[bytes], int]:
    """The texts of the lines that hold, and how long they are together."""
    found: list[bytes] = []
    size = 0
    lines = data.splitlines(keepends=True)
    for at, line in enumerate(lines):
        text = line[_SUM:-1]
        if line != _line(text):
            # Each line was synced before the next was begun: only the last may be hurt by a kill.
            if any(each == _line(each[_SUM:-1]) for each in lines[at + 1 :]):
                raise StoreError(_damaged(folder, f"line {at + 1} is damaged"))
            break
        found.append(text)
        size += len(line)
    return found, size


def _damaged(folder: Path, why: str) -> str:
    return (
        f"{folder / JOURNAL} is damaged: {why}. Restore a copy of the folder, or choose "
        "another; without that file, the tables open with what they have."
    )


def _read(lines: list[bytes], folder: Path) -> tuple[JournalHeader | None, list[Changes]]:
    try:
        header = msgspec.json.decode(lines[0], type=JournalHeader) if lines else None
        if header is not None and header.format > FORMAT:
            return header, []
        return header, [_changes(line) for line in lines[1:]]
    except (msgspec.DecodeError, KeyError) as error:
        raise StoreError(_damaged(folder, str(error))) from None


def _changes(text: bytes) -> Changes:
    changes = Changes()
    for name, rows in msgspec.json.decode(text, type=dict[str, Raw]).items():
        spec = TABLES_BY_NAME[name]
        for n, value in msgspec.json.decode(rows, type=list[tuple[int, Raw]]):
            changes.put(spec, Row(n, msgspec.json.decode(value, type=spec.type)))
    return changes
