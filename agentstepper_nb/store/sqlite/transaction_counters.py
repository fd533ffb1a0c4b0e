"""Counts transactions beside the journal, to detect a damaged journal, which SQLite doesn't report.

SQLite reads a write-ahead log up to the first invalid frame, and ignores the rest. So each commit is
counted a second time, in `DIR/marks`: a slot for each run touched since the journal was last emptied,
with the number of transactions that touched the run. A run that is read with a smaller number has lost
some. The file isn't synced: after a power cut it may be older than the journal, which means nothing,
or newer, which is right.

Missing transactions at a Core's start are logged, and stored in table `meta` until `agentstepper doctor
--repair` has handled them, since the counters begin anew then. A live run also gets the loss as its
failure, which its ending will report.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Final
from uuid import UUID

from msgspec.structs import replace

from ...protocol.data_model import CHANGES_LOST, Failure, Run
from ...protocol.records import RunTagged
from .migrations import transaction
from .reader import RunListing
from .record_writer import RecordWriter

log = logging.getLogger(__name__)

#: A slot: the run, its number of transactions, and a checksum over both and the slot's position.
_SLOT: Final = struct.Struct("<17sQ11xI")
_CHECKSUMMED_BYTES: Final = _SLOT.size - 4
#: In place of the number, where the run was deleted.
_DELETED: Final = 2**64 - 1
#: The prefix of a run's id in the names of table `meta`.
_LOSS_PREFIX: Final = "lost:"
#: The change count of a run whose header, with its own count, is damaged.
_UNKNOWN_CHANGES: Final = 2**63


@dataclass(frozen=True)
class MissingTransactions:
    """Transactions that the counters have and the store lacks.

    Args:
        run: The run, as far as its slot identifies it.
        transactions: The number of lost transactions; 0 if the run was deleted, and is back.
        is_run_known: Whether the store has the run.
    """

    run: str
    transactions: int
    is_run_known: bool = True

    def __str__(self) -> str:
        if not self.is_run_known:
            return f"run {self.run} is lost whole"
        if not self.transactions:
            return f"run {self.run} was deleted, and is back"
        some = "change is" if self.transactions == 1 else f"{self.transactions} changes are"
        return f"the last {some} lost of run {self.run}"


@dataclass(frozen=True)
class CountersReport:
    """The comparison of the counters with the store.

    Args:
        missing: The lost transactions.
        damaged: The number of unreadable slots: the losses of as many runs are unknown.
    """

    missing: tuple[MissingTransactions, ...] = ()
    damaged: int = 0


class TransactionCounters:
    """The file of marks, for the thread that writes the store.

    Args:
        path: `DIR/marks`; made where it is missing. A mark that can't be written is no reason to stop:
            the store is the truth, and this only looks after it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._slots: dict[bytes, int] = {}
        self._file = -1
        with contextlib.suppress(OSError):
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            self._slots = {key: at for at, (key, _) in _parse(path.read_bytes())[0].items()}
        self._next = max(self._slots.values(), default=-1) + 1

    def set(self, run: str, changes: int) -> None:
        """Note, after a commit, how many transactions have touched a run."""
        self._write(run, changes)

    def record_deletion(self, run: str) -> None:
        """Note, after a commit, that it deleted a run."""
        self._write(run, _DELETED)

    def clear(self) -> None:
        """Forget all: the journal was emptied into the store, and both are synced."""
        self._slots.clear()
        self._next = 0
        if self._file >= 0:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, 0)

    def close(self) -> None:
        """Close the file. Idempotent."""
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)

    def _write(self, run: str, number: int) -> None:
        key = _key(run)
        at = self._slots.get(key)
        if at is None:
            at = self._slots[key] = self._next
            self._next += 1
        if self._file >= 0:
            with contextlib.suppress(OSError):
                os.pwrite(self._file, _pack(at, key, number), at * _SLOT.size)


def compare_counters(path: Path, changes: Mapping[str, int]) -> CountersReport:
    """Find the transactions that the counters have and the store lacks; call it before any write.

    Args:
        path: `DIR/marks`; it may not exist.
        changes: Each run of the store with the number of its transactions.
    """
    try:
        marks, damaged_items = _parse(path.read_bytes())
    except FileNotFoundError:
        return CountersReport()
    except OSError:
        return CountersReport(damaged=1)
    runs = {_key(run): run for run in changes}
    missing = []
    for key, number in marks.values():
        run = runs.get(key)
        if run is None:
            if number != _DELETED:
                missing.append(MissingTransactions(_name(key), number, is_run_known=False))
        elif number == _DELETED:
            missing.append(MissingTransactions(run, 0))
        elif number > changes[run]:
            missing.append(MissingTransactions(run, number - changes[run]))
    return CountersReport(tuple(missing), damaged_items)


def _parse(data: bytes) -> tuple[dict[int, tuple[bytes, int]], int]:
    """The slots that agree with their checksums, and how many don't."""
    found: dict[int, tuple[bytes, int]] = {}
    damaged_items = 0
    for start in range(0, len(data), _SLOT.size):
        slot = data[start : start + _SLOT.size]
        at = start // _SLOT.size
        if len(slot) == _SLOT.size and not any(slot):
            continue  # never written: a hole that a lost write left
        if len(slot) == _SLOT.size and slot == _pack(at, *(parts := _SLOT.unpack(slot))[:2]):
            found[at] = (parts[0], parts[1])
        else:
            damaged_items += 1
    return found, damaged_items


def _pack(at: int, key: bytes, number: int) -> bytes:
    slot = _SLOT.pack(key, number, 0)[:_CHECKSUMMED_BYTES]
    return slot + struct.pack("<I", zlib.crc32(slot, at))  # at: a slot in another's place is hurt


def _key(run: str) -> bytes:
    """Encode a run's id in 17 bytes: a UUID or a short id as it is, another one as a digest."""
    with contextlib.suppress(ValueError):
        if str(found := UUID(run)) == run:
            return b"u" + found.bytes
    name = run.encode(errors="surrogatepass")
    if len(name) <= 16 and b"\0" not in name:
        return b"s" + name.ljust(16, b"\0")
    return b"d" + blake2b(name, digest_size=16).digest()


def _name(key: bytes) -> str:
    """Decode a run's id; a digest means that the id is unknown."""
    if key[:1] == b"u":
        return str(UUID(bytes=key[1:]))
    if key[:1] == b"s":
        return key[1:].rstrip(b"\0").decode(errors="replace")
    return "of an unknown id"


# ---- at a Core's start ----------------------------------------------------------------------------


def record_missing(
    connection: sqlite3.Connection, marks: Path, listed: Sequence[RunListing]
) -> bool:
    """Compare the runs with their counters, and record what is missing.

    Args:
        connection: The store's writer, outside of a transaction.
        marks: The file of counters.
        listed: All runs.

    Returns:
        Whether any header was changed.
    """
    report = compare_counters(
        marks,
        {each.run.id: _UNKNOWN_CHANGES if each.damaged else each.change_count for each in listed},
    )
    if report.damaged:
        log.error(
            "%s: %d marks are damaged: it can't be told whether that many runs lost something",
            marks,
            report.damaged,
        )
    for missing in report.missing:
        log.error("%s: the journal was damaged, or the power failed: %s", marks.parent, missing)
    live = {each.run.id: each.run for each in listed if each.active is not None}
    damaged_items = [(live[each.run], each) for each in report.missing if each.run in live]
    if report.missing:
        record_losses(connection, report.missing)
        with transaction(connection):
            _mark_runs_failed(RecordWriter(connection), damaged_items)
    return bool(damaged_items)


def record_losses(connection: sqlite3.Connection, lost: Iterable[MissingTransactions]) -> None:
    """Record losses, besides those recorded before."""
    with transaction(connection):
        connection.executemany(
            "INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)",
            [(_LOSS_PREFIX + each.run, str(each)) for each in lost],
        )


def read_losses(connection: sqlite3.Connection) -> dict[str, str]:
    """Read the recorded losses: the runs, each with its loss in words."""
    found = connection.execute(
        "SELECT substr(name, ?), value FROM meta WHERE name GLOB ?",
        (len(_LOSS_PREFIX) + 1, f"{_LOSS_PREFIX}*"),
    )
    return {str(run): str(what) for run, what in found}


def delete_losses(connection: sqlite3.Connection) -> None:
    """Delete the recorded losses after their repair."""
    with transaction(connection):
        connection.execute("DELETE FROM meta WHERE name GLOB ?", (f"{_LOSS_PREFIX}*",))


def _mark_runs_failed(
    tables: RecordWriter, damaged_items: Iterable[tuple[Run, MissingTransactions]]
) -> None:
    for run, missing in damaged_items:
        message = f"The store's journal was damaged, or the power failed: {missing}."
        failure = Failure(type=CHANGES_LOST, message=message)
        tables.write_record(RunTagged(run=replace(run, failure=failure)))
    tables.finish()
