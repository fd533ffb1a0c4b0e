"""What holds for all runs: stops, and what models cost."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from ...protocol.records import PricesSet, Record, StopDeleted, StopSaved
from ...protocol.stops import Price, Stop
from .rows import intact, put, sealed, select

log = logging.getLogger(__name__)

_PUT: Final = put("rules")
_ALL: Final = select("rules", "1 ORDER BY n")
_FIND: Final = "SELECT n FROM rules WHERE kind = ? AND id = ?"
_DELETE: Final = "DELETE FROM rules WHERE kind = ? AND id = ?"

_STOP, _PRICES = "stop", "prices"

_encode = msgspec.json.Encoder().encode
_stop: Final = msgspec.json.Decoder(Stop)
_prices: Final = msgspec.json.Decoder(tuple[Price, ...])

T = TypeVar("T")


class Rules(NamedTuple):
    """The rules that a store has.

    Args:
        records: What leads to them, in the order in which stops were made.
        hurt: How many rows can't be read.
    """

    records: tuple[Record, ...] = ()
    hurt: int = 0


def read(connection: sqlite3.Connection) -> Rules:
    """The rules as they stand, without those that are hurt."""
    try:
        return of(connection.execute(_ALL).fetchall())
    except sqlite3.DatabaseError:
        return Rules(hurt=1)


def of(rows: Sequence[Sequence[Any]]) -> Rules:
    """The rules that whole rows hold."""
    found = [_record(row) for row in rows]
    sound = tuple(record for record in found if record is not None)
    return Rules(sound, len(found) - len(sound))


def keep(
    connection: sqlite3.Connection,
    record: StopSaved | StopDeleted | PricesSet,
    number: Callable[[], int],
) -> None:
    """Change the table by one record, inside a transaction.

    Args:
        connection: To the store.
        record: The record.
        number: Gives a new row's number.
    """
    match record:
        case StopSaved(stop=stop):
            _keep(connection, (_STOP, stop.id), _encode(stop), number)
        case StopDeleted(stop=id):
            connection.execute(_DELETE, (_STOP, id))
        case PricesSet(prices=prices):
            _keep(connection, (_PRICES, ""), _encode(prices), number)


def _keep(
    connection: sqlite3.Connection, key: tuple[str, str], body: bytes, number: Callable[[], int]
) -> None:
    before = connection.execute(_FIND, key).fetchone()
    n = number() if before is None else before[0]
    connection.execute(_PUT, sealed("rules", "", n, *key, body))


def _record(row: Sequence[Any]) -> Record | None:
    """What a row says; None where it is hurt."""
    if not intact("rules", "", row):
        return None
    _, kind, _, body, _ = row
    try:
        if kind == _STOP:
            return StopSaved(stop=_stop.decode(body))
        return PricesSet(prices=_prices.decode(body))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
