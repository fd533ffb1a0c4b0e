"""The tables of a store without its thread: what is kept is there when the call returns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from agentstepper_nb.protocol.records import Record
from agentstepper_nb.store.sqlite.database import STORE_FILE, TransactionJournal, open_writer
from agentstepper_nb.store.sqlite.reader import StoreReader
from agentstepper_nb.store.sqlite.record_writer import RecordWriter, TransactionChanges


class StoreTables:
    """A store's file in a folder, and what reads it.

    Args:
        folder: Made where it is missing.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / STORE_FILE
        self.connection = open_writer(self.path)
        self.journal = TransactionJournal(self.connection, self.path)
        self.tables = RecordWriter(self.connection)
        self.reader = StoreReader(self.path)

    def write(self, records: Iterable[Record]) -> TransactionChanges:
        """Keep records in one transaction, or none of them."""
        try:
            with self.journal.transaction(full=False):
                for record in records:
                    self.tables.write_record(record)
                return self.tables.finish()
        except BaseException:
            self.tables.roll_back()
            raise

    def close(self) -> None:
        """Let go of the file."""
        self.reader.close()
        self.connection.close()


@contextmanager
def open_store_tables(folder: Path) -> Iterator[StoreTables]:
    """A store's tables, closed at the end."""
    with closing(StoreTables(folder)) as found:
        yield found
