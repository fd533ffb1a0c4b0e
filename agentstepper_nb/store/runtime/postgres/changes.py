"""Reads rows by the numbers of their changes, and other Cores' changes when they are committed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Final

import psycopg

from ....errors import AgentStepperError, StoreError
from ....protocol.runtime_store_messages import ChangedRows, ChangeQuery
from ..sqlite.row_codec import (
    ACTIONS,
    CONVERSATIONS,
    MESSAGES,
    PARTICIPANTS,
    SELECT_STATES,
    STATES,
    STEPS,
    RowTable,
    decode_state,
    make_select,
)
from .database import Database
from .statements import Statements
from .transactions import CHANNEL

log = logging.getLogger(__name__)

#: Commits of others that wait to be read before the reader has fallen behind.
_MAX_WAITING: Final = 1000
#: Seconds until a connection that was lost is made again: the first time, and at most.
_PAUSE_S: Final = 0.1
_MAX_PAUSE_S: Final = 5.0
#: Numbers of a transaction, from its first; see `migrations/0001.sql`.
_NUMBERS: Final = 1 << 14
#: The fields of the rows that changed, with their tables.
_TABLES: Final[dict[str, RowTable[Any]]] = {
    "states": STATES,
    "steps": STEPS,
    "actions": ACTIONS,
    "messages": MESSAGES,
    "participants": PARTICIPANTS,
    "conversations": CONVERSATIONS,
}
#: The last numbers of rows that changed after one and before another.
_FIND_NUMBERS: Final = (
    " UNION ALL ".join(
        f"(SELECT changed FROM {table.name} WHERE changed > ? AND changed < ?"
        " ORDER BY changed LIMIT ?)"
        for table in _TABLES.values()
    )
    + " ORDER BY changed LIMIT ?"
)
_FIND_NEWEST: Final = "SELECT coalesce(greatest({}), 0)".format(
    ", ".join(
        f"(SELECT max(changed) FROM {table.name} WHERE changed < ?)" for table in _TABLES.values()
    )
)

#: Called with other Cores' changes; None: some changes were missed.
OnChange = Callable[[ChangedRows | None], None]


def find_changes(connection: Statements, request: ChangeQuery) -> ChangedRows:
    """See `RuntimeStore.changes`. Rows of open transactions are returned after their commit, with
    greater numbers: a reader misses no row that is committed after it has read others.
    """
    ((first_open,),) = connection.execute("SELECT first_open_change()")
    values = (request.after, first_open, request.limit) * len(_TABLES)
    numbers = connection.execute(_FIND_NUMBERS, (*values, request.limit)).fetchall()
    if not numbers:
        ((last,),) = connection.execute(_FIND_NEWEST, (first_open,) * len(_TABLES))
        return ChangedRows(last=last)
    ((last,),) = numbers[-1:]
    rows = {
        kind: _decode_rows(
            table.decode_row,
            connection.execute(
                f"{make_select(table)} WHERE changed > ? AND changed <= ? ORDER BY changed",
                (request.after, last),
            ),
        )
        for kind, table in _TABLES.items()
    }
    return ChangedRows(last=last, **rows)


def find_changes_of(connection: Statements, transactions: Sequence[int]) -> ChangedRows:
    """Read the rows that these transactions changed last, with the owner of each session.

    Args:
        connection: The connection.
        transactions: The first change number of each transaction.
    """
    where = (
        "JOIN unnest(?::bigint[]) AS x (first)"
        f" ON s.changed >= x.first AND s.changed < x.first + {_NUMBERS}"
    )

    def read(select: str, decode: Callable[[Sequence[Any]], Any]) -> tuple[Any, ...]:
        statement = f"{select} {where} ORDER BY s.changed"
        return _decode_rows(decode, connection.execute(statement, ([*transactions],)))

    rows = {
        kind: read(
            f"SELECT {', '.join(f's.{column}' for column in table.columns)} FROM {table.name} AS s",
            table.decode_row,
        )
        for kind, table in _TABLES.items()
        if table is not STATES
    }
    return ChangedRows(last=max(transactions), states=read(SELECT_STATES, decode_state), **rows)


def _decode_rows(
    decode: Callable[[Sequence[Any]], Any], rows: Iterable[Sequence[Any]]
) -> tuple[Any, ...]:
    """Decode rows; damaged ones are logged and left out."""
    values = []
    for row in rows:
        try:
            values.append(decode(row))
        except StoreError as error:
            log.error("%s It is left out of what changed.", error)
    return tuple(values)


class ChangeListener:
    """Listens for other Cores' commits, and reads their changes. Used on one event loop.

    Args:
        database: The database.
        core: The id of this Core, whose own commits are skipped.
        read: Reads the rows whose last changes have these numbers.
        on_change: Called with the rows, in the order of the commits; with None after each connection:
            earlier commits may have been missed.
        log: Gets a line each time that the connection is lost.
    """

    def __init__(
        self,
        database: Database,
        core: str,
        read: Callable[[Sequence[int]], Awaitable[ChangedRows]],
        on_change: OnChange,
        log: logging.Logger,
    ) -> None:
        self._database = database
        self._core = core
        self._read = read
        self._on_change = on_change
        self._log = log
        self._numbers: dict[int, None] = {}
        self._arrived = asyncio.Event()
        self._pause_s = _PAUSE_S

    async def run(self) -> None:
        """Listen until it is cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._read_repeatedly())
            tasks.create_task(self._listen_repeatedly())

    async def _listen_repeatedly(self) -> None:
        while True:
            try:
                await self._listen()
            except Exception as error:
                self._log.warning(
                    "what other Cores write isn't heard from %s, which is connected to again: %s",
                    self._database.place,
                    " ".join(str(error).split()),
                )
            await asyncio.sleep(self._pause_s)
            self._pause_s = min(_MAX_PAUSE_S, 2 * self._pause_s)

    async def _listen(self) -> None:
        connection = await psycopg.AsyncConnection.connect(self._database.conninfo, autocommit=True)
        async with connection:
            await connection.execute(f"LISTEN {CHANNEL}".encode())
            self._pause_s = _PAUSE_S
            self._report(None)
            async for notify in connection.notifies():
                self._add(notify.payload)

    def _add(self, notice: str) -> None:
        """Add a commit to those to read. Anybody with the database can send a notice."""
        try:
            core, first = notice.split()
            number = int(first)
        except ValueError:
            place = self._database.place
            self._log.warning(
                "a notice from %s can't be read, and is skipped: %.100r", place, notice
            )
            return
        if core != self._core:
            self._numbers[number] = None
            self._arrived.set()

    async def _read_repeatedly(self) -> None:
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            numbers, self._numbers = [*self._numbers], {}
            self._report(await self._read_or_miss(numbers))

    def _report(self, changes: ChangedRows | None) -> None:
        """Call back; where that fails, the changes are missed."""
        try:
            self._on_change(changes)
        except Exception:
            self._log.exception("what other Cores wrote can't be processed")
            if changes is not None:
                self._report(None)

    async def _read_or_miss(self, numbers: list[int]) -> ChangedRows | None:
        if len(numbers) > _MAX_WAITING:
            return None
        try:
            return await self._read(numbers)
        except AgentStepperError as error:
            self._log.warning("what other Cores wrote can't be read: %s", error)
        except Exception:
            self._log.exception("what other Cores wrote can't be read")
        return None
