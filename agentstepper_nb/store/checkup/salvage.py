"""Runs out of a damaged store: whole where they are, else with words in place of what is lost."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ...errors import AgentStepperError, DamagedRunError
from ...protocol.records import Record
from ..sqlite import rules
from ..sqlite.reader import Reader
from ..sqlite.rows import COUNTED, PROOF, RunRow, intact
from .pieces import Pieces, Salvaged
from .wreck import Wreck, copied


@dataclass(frozen=True)
class Sentence:
    """What a model once made of something: kept with the run that it was made for."""

    run: str
    key: str
    text: str


@dataclass
class Haul:
    """What a damaged store still gives.

    Args:
        runs: Its runs, one by one, oldest first.
        sentences: Called after a run was taken: the sentences that go with it.
        files: Files of version 1 that were taken in, with the ids of the runs they became.
        rules: What leads to the stops and prices.
    """

    runs: Iterator[Salvaged]
    sentences: Callable[[str], list[Sentence]]
    files: list[tuple[str, str]] = field(default_factory=list)
    rules: tuple[Record, ...] = ()


@contextlib.contextmanager
def salvage(path: Path) -> Iterator[Haul]:
    """Read a damaged store, which stays as it is.

    Args:
        path: Its file; a journal may be beside it.

    Raises:
        OSError: There is no room for a copy.
        sqlite3.DatabaseError: Nothing at all can be read.
    """
    with copied(path) as copy, contextlib.ExitStack() as stack:
        wreck = Wreck(copy)
        stack.callback(wreck.close)
        reader = None
        with contextlib.suppress(AgentStepperError):
            reader = Reader(copy)
            stack.callback(reader.close)
        yield _Salvage(wreck, reader).haul()


class _Salvage:
    """Everything of one store."""

    def __init__(self, wreck: Wreck, reader: Reader | None) -> None:
        self._wreck = wreck
        self._reader = reader
        tables = ("events", "breakpoints", "commits", "changes", "notes", "sentences")
        self._numbers = {table: wreck.numbers(table) for table in tables}
        ids = wreck.ids()
        with_rows = {run for found in self._numbers.values() for run in found}
        runs = sorted({*ids, *(run for run in with_rows if run > 0)})
        self._ids = {n: self._id(n, ids.get(n, [])) for n in runs}

    def haul(self) -> Haul:
        return Haul(self._runs(), self._sentences, self._files(), self._rules())

    def _runs(self) -> Iterator[Salvaged]:
        for n, id in self._ids.items():
            run = self._whole(n, id) or Pieces(self._wreck, self._numbers, n, id).run()
            if run is not None:
                yield run

    def _id(self, n: int, candidates: list[str]) -> str:
        """A run's id: the one to which its rows' checksums agree, since one copy may be hurt."""
        for table in COUNTED:
            for number in self._numbers[table].get(n, ()):
                row = self._wreck.row(table, number)
                for id in candidates:
                    if row is not None and intact(table, id, row):
                        return id
        own = self._wreck.row("runs", n)
        right = [id for id in candidates if own is not None and intact("runs", id, own)]
        return next(iter([*right, *candidates]), f"damaged-{n}")

    def _whole(self, n: int, id: str) -> Salvaged | None:
        """A run that isn't damaged."""
        if self._reader is None:
            return None
        try:
            history = self._reader.history(id)
        except (DamagedRunError, KeyError):
            return None
        row = self._wreck.row("runs", n)
        if row is None or not intact("runs", id, row):
            return None
        header = RunRow.of(row)
        proof = None if header.proof is None else PROOF.decode(header.proof)
        return Salvaged(history, proof, header.heard, header.active)

    def _sentences(self, id: str) -> list[Sentence]:
        n = next(n for n, known in self._ids.items() if known == id)
        rows = (self._wreck.row("sentences", at) for at in self._numbers["sentences"].get(n, ()))
        return [
            Sentence(id, str(row[2]), str(row[3]))
            for row in rows
            if row is not None and intact("sentences", id, row)
        ]

    def _rules(self) -> tuple[Record, ...]:
        numbers = self._wreck.numbers("rules").get(0, ())
        rows = (self._wreck.row("rules", n) for n in numbers)
        return rules.of([row for row in rows if row is not None]).records

    def _files(self) -> list[tuple[str, str]]:
        try:
            rows = self._wreck.connection.execute("SELECT name, run FROM files").fetchall()
        except sqlite3.DatabaseError:
            return []
        return [(name, self._ids[n]) for name, n in rows if n in self._ids]
