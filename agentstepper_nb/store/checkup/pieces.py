"""One damaged run, put together of what can be read of it, with words in place of the rest."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

import msgspec
from msgspec.structs import replace

from ...errors import DamagedRunError
from ...protocol.records import Proof, RunHistory
from ...protocol.values import (
    AgentState,
    Breakpoint,
    Commit,
    Ending,
    Event,
    EventKind,
    FileBody,
    FileChange,
    Note,
    Run,
    RunState,
)
from ..sqlite.contents import Texts
from ..sqlite.rows import (
    BREAKPOINT,
    CHANGE,
    COMMIT,
    COUNTED,
    EVENT,
    NOTE,
    PROOF,
    RUN,
    RunRow,
    intact,
)
from .wreck import Row, Wreck

T = TypeVar("T")

#: The tag of a run that was put together again.
TAG: Final = "damaged"
#: What stands where a content was.
LOST_CONTENT: Final = '"(This content was damaged and could not be read.)"'
#: What stands where a row was.
LOST_ROW: Final = '"(This row was damaged and could not be read.)"'


@dataclass(frozen=True)
class Salvaged:
    """One run of a damaged store.

    Args:
        history: All of it that could be read, with words in place of the rest.
        proof: By what its agent is known.
        heard: The last number of its agent's messages.
        active: Its place among the live ones; None where it has ended.
        lost: What couldn't be read, in words; empty where it is as it was.
    """

    history: RunHistory
    proof: Proof | None = None
    heard: int = 0
    active: int | None = None
    lost: tuple[str, ...] = ()


class Pieces:
    """One run of which something is lost.

    Args:
        wreck: The store.
        numbers: Of each table the numbers of its rows, by their run's number.
        n: The run's number.
        id: Its id.
    """

    def __init__(
        self, wreck: Wreck, numbers: dict[str, dict[int, list[int]]], n: int, id: str
    ) -> None:
        self._wreck = wreck
        self._numbers = numbers
        self._n = n
        self._id = id
        self._texts = Texts(wreck.connection, n, id)
        self._lost: list[str] = []
        self._contents = 0  # that are lost

    def run(self) -> Salvaged | None:
        """What there is of it; None where that is nothing."""
        row = self._wreck.row("runs", self._n)
        sound = row is not None and intact("runs", self._id, row)
        known = RunRow.of(row) if row is not None and sound else None
        rows = {table: self._rows(table, known) for table in COUNTED}
        if row is None and not any(rows.values()):
            return None
        if not sound:
            self._lost.insert(0, "its header")
        breakpoints = self._all(rows["breakpoints"], self._breakpoint)
        events = self._events(self._all(rows["events"], self._event), breakpoints)
        header = self._header(known, row, events, breakpoints)
        events += self._fillers(header, events, breakpoints)
        history = RunHistory(
            run=self._mended(header, events, breakpoints),
            events=tuple(events),
            breakpoints=tuple(breakpoints),
            commits=tuple(self._all(rows["commits"], self._commit)),
            notes=tuple(self._all(rows["notes"], self._note)),
        )
        if self._contents:
            self._lost.append(_many(self._contents, "content"))
        proof = self._proof(known) if header.live else None
        heard, active = (known.heard, known.active) if known else (0, None)
        lost = tuple(self._lost) or ("what ties it together",)
        return Salvaged(history, proof, heard, active if header.live else None, lost)

    # ---- rows ---------------------------------------------------------------------------------------

    def _rows(self, table: str, known: RunRow | None) -> list[Row]:
        """The rows that are as they were; the others are counted as lost."""
        numbers = self._numbers[table].get(self._n, ())
        rows = [row for n in numbers if (row := self._wreck.row(table, n)) is not None]
        sound = [row for row in rows if intact(table, self._id, row)]
        expected = getattr(known, table) if known else len(numbers)
        if len(sound) < expected:
            self._lost.append(_many(expected - len(sound), table[:-1]))
        return sound

    def _all(self, rows: list[Row], read: Callable[[Row], T]) -> list[T]:
        found = []
        for row in rows:
            with contextlib.suppress(msgspec.DecodeError, TypeError):  # its checksum agrees: a bug
                found.append(read(row))
        return found

    def _event(self, row: Row) -> Event:
        _, _, id, body, data, _ = row
        event = EVENT.decode(body, id=id, run=self._id)
        return replace(event, data=None if data is None else self._text(data))

    def _breakpoint(self, row: Row) -> Breakpoint:
        _, _, id, body, data, edit, _ = row
        return replace(
            BREAKPOINT.decode(body, id=id, run=self._id, data=""),
            data=self._text(data),
            edit=None if edit is None else self._text(edit),
        )

    def _commit(self, row: Row) -> Commit:
        n, _, id, body, files, _ = row
        rows = [
            change
            for at in self._numbers["changes"].get(self._n, ())
            if (change := self._wreck.row("changes", at)) is not None
            and change[2] == n
            and intact("changes", self._id, change)
        ]
        if len(rows) < files:
            self._lost.append(f"{_many(files - len(rows), 'file')} of commit {id[:12]}")
        changes = tuple(self._all(rows, self._change))
        return COMMIT.decode(body, id=id, run=self._id, changes=changes)

    def _change(self, row: Row) -> FileChange:
        body = None
        if row[4] is not None:
            diff, content, previous = (self._text(each, "") for each in row[4:7])
            body = FileBody(diff=diff, content=content, previous_content=previous)
        return replace(CHANGE.decode(row[3]), body=body)

    def _note(self, row: Row) -> Note:
        return NOTE.decode(row[3], message=row[2], run=self._id)

    def _text(self, content: object, otherwise: str = LOST_CONTENT) -> str:
        try:
            return self._texts.text(content) or ""
        except (DamagedRunError, sqlite3.DatabaseError):
            self._contents += 1
            return otherwise

    def _proof(self, known: RunRow | None) -> Proof | None:
        return None if known is None or known.proof is None else PROOF.decode(known.proof)

    # ---- what is put in place of what is lost -------------------------------------------------------

    def _events(self, events: list[Event], breakpoints: list[Breakpoint]) -> list[Event]:
        """The events, with those that are lost made again from their breakpoints."""
        known = {event.id for event in events}
        for point in breakpoints:
            if point.event not in known:
                known.add(point.event)
                events.append(
                    Event(
                        id=point.event,
                        run=self._id,
                        kind=point.kind,
                        at=point.at,
                        depth=point.depth,
                        name=point.name,
                        outcome=point.outcome,
                    )
                )
        return events

    def _header(
        self, known: RunRow | None, row: Row | None, events: list[Event], points: list[Breakpoint]
    ) -> Run:
        if known is not None:
            with contextlib.suppress(msgspec.DecodeError, TypeError):
                return known.run
        both: list[Event | Breakpoint] = [*events, *points]
        began = min((each.at for each in both), default=0.0)
        made = Run(id=self._id, name="Damaged run", program="", started_at=began)
        if row is not None:
            with contextlib.suppress(msgspec.DecodeError, TypeError):
                made = RUN.decode(row[2], id=self._id)
        ended = max((each.at for each in both), default=began)
        return replace(
            made,
            state=RunState.IDLE,
            agent_state=AgentState.FINISHED,
            pending=(),
            ending=made.ending or Ending.LOST,
            ended_at=made.ended_at if made.ended_at is not None else ended,
            detached_at=None,
            stopping=False,
        )

    def _fillers(
        self, header: Run, events: list[Event], breakpoints: list[Breakpoint]
    ) -> list[Event]:
        """A row that says so in place of each that is lost."""
        both: list[Event | Breakpoint] = [*events, *breakpoints]
        times = {each.seq: each.at for each in both if each.seq}
        last = max(times, default=0)
        known = {event.id for event in events}
        fillers, at = [], header.started_at
        for seq in range(1, max(last, min(header.rows, last + 100_000)) + 1):
            at = times.get(seq, at)
            if seq in times:
                continue
            id = f"damaged-{seq}"
            if id not in known:
                kind = EventKind.DEBUG_MESSAGE
                fillers.append(Event(id=id, run=self._id, kind=kind, at=at, seq=seq, data=LOST_ROW))
        return fillers

    def _mended(self, header: Run, events: list[Event], breakpoints: list[Breakpoint]) -> Run:
        both: list[Event | Breakpoint] = [*events, *breakpoints]
        there = {point.id for point in breakpoints}
        return replace(
            header,
            rows=max((each.seq for each in both), default=0),
            pending=tuple(id for id in header.pending if id in there),
            tags=tagged(header.tags),
        )


def _many(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def tagged(tags: tuple[str, ...]) -> tuple[str, ...]:
    """A run's tags, with the one that says it was damaged."""
    return tags if TAG in tags else (*tags, TAG)
