"""A writer of a store for tests, and what became of what it was given, in order."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

from agentstepper_nb.protocol.data_model import Event, EventKind, Run
from agentstepper_nb.protocol.records import (
    EventSaved,
    Record,
    RunStarted,
)
from agentstepper_nb.protocol.store_info import Durability
from agentstepper_nb.store.sqlite.database import STORE_FILE, open_writer
from agentstepper_nb.store.sqlite.reader import StoreReader
from agentstepper_nb.store.sqlite.record_writer import TransactionChanges
from agentstepper_nb.store.sqlite.writer import (
    DEFAULT_WRITER_LIMITS,
    AppendRequest,
    Callback,
    StoreWriter,
    WriterCallbacks,
    WriterLimits,
)

#: What a trace shows that is of interest here.
SHOWN = {
    "PRAGMA synchronous = FULL": "full",
    "PRAGMA synchronous = NORMAL": "normal",
    "COMMIT": "commit",
}


class WriterHarness:
    """A writer, and what became of what it was given, in order."""

    def __init__(
        self, folder: Path, durability: Durability, limits: WriterLimits = DEFAULT_WRITER_LIMITS
    ) -> None:
        self.path = folder / STORE_FILE
        self.events: list[str] = []
        self.troubles: list[str | None] = []
        self.in_trouble: Callable[[str | None], None] = lambda trouble: None
        self.sizes: list[int] = []  # of the journal, whenever it is said to be empty
        self.emptied = threading.Event()  # after this was told
        self.awaited = "one"
        self._hold = threading.Event()
        self._held = threading.Event()
        self.connection = open_writer(self.path)
        self.connection.set_trace_callback(self._trace)
        ears = WriterCallbacks(
            run_callbacks=self._run_callbacks,
            on_transaction=self._on_written,
            on_checkpoint=self._emptied,
            on_write_trouble=self._on_trouble,
            on_close=lambda: None,
        )
        self._hold.set()
        self.writer = StoreWriter(self.connection, self.path, durability, ears, limits)
        self.settle()

    def write(self, name: str, records: list[Record], *, durable: bool = False) -> None:
        self.writer.put(
            AppendRequest(
                records,
                partial(self.events.append, name),
                durable=durable,
                on_synced=partial(self.events.append, f"{name} synced"),
            )
        )

    def write_together(self, put: Callable[[], None]) -> None:
        """What is put meanwhile waits, and then is taken at once."""
        self._hold.clear()
        self._held.clear()
        self.write("before", [run("before")])
        assert self._held.wait(60)
        put()
        self._hold.set()

    def settle(self, *, durable: bool = True) -> None:
        """Wait until all that was put is durable; by the timer alone where that isn't asked for."""
        done = threading.Event()
        self.writer.put(AppendRequest(durable=durable, on_synced=done.set))
        assert done.wait(60)

    def events_since(self, name: str) -> list[str]:
        return self.events[self.events.index(name) + 1 :]

    def history(self, run: str) -> list[str]:
        reader = StoreReader(self.path)
        try:
            return [event.id for event in reader.history(run).events]
        finally:
            reader.close()

    def _trace(self, statement: str) -> None:
        if statement in SHOWN:
            self.events.append(SHOWN[statement])

    def _on_written(self, records: list[Record], touched: TransactionChanges) -> None:
        self._held.set()
        self._hold.wait()

    def _run_callbacks(self, calls: list[Callback]) -> None:
        for call in calls:
            call()

    def _emptied(self) -> None:
        self.sizes.append(self.path.with_name(STORE_FILE + "-wal").stat().st_size)
        if self.awaited in self.events:
            self.emptied.set()

    def _on_trouble(self, trouble: str | None) -> None:
        self.troubles.append(trouble)
        self.in_trouble(trouble)


def run(id: str) -> Record:
    return RunStarted(run=Run(id=id, name=id, program="P", started_at=0))


def event(id: str, run: str = "run", data: str | None = None) -> Record:
    return EventSaved(
        event=Event(id=id, run=run, kind=EventKind.DEBUG_MESSAGE, at=0, ended_at=0, data=data)
    )
