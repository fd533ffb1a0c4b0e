"""What the journal has lost: written down when a Core starts, since the marks begin anew with it.

It is logged, and stays in the store until `agentstepper doctor --repair` has seen to it. A run that
lives gets it as its failure as well, which its end is going to tell.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from ...protocol.records import RunTagged
from ...protocol.values import CHANGES_LOST, Failure, Run
from .marks import Missing, compare
from .migrate import transaction
from .reader import Listed
from .tables import Tables

log = logging.getLogger(__name__)

#: What stands before a run's id in the names of table `meta`.
_LOST: Final = "lost:"
#: The number of changes of a run whose header is hurt: its own isn't known.
_UNKNOWN: Final = 2**63


def tell(connection: sqlite3.Connection, marks: Path, listed: Sequence[Listed]) -> bool:
    """Compare the runs with their marks, and write down what is missing.

    Args:
        connection: The store's writer, outside of a transaction.
        marks: The file of marks.
        listed: All runs.

    Returns:
        Whether any header was changed.
    """
    report = compare(
        marks, {each.run.id: _UNKNOWN if each.hurt else each.changes for each in listed}
    )
    if report.hurt:
        log.error(
            "%s: %d marks are damaged: it can't be told whether that many runs lost something",
            marks,
            report.hurt,
        )
    for missing in report.missing:
        log.error("%s: the journal was damaged, or the power failed: %s", marks.parent, missing)
    live = {each.run.id: each.run for each in listed if each.active is not None}
    hurt = [(live[each.run], each) for each in report.missing if each.run in live]
    if report.missing:
        remember(connection, report.missing)
        with transaction(connection):
            _fail(Tables(connection), hurt)
    return bool(hurt)


def remember(connection: sqlite3.Connection, lost: Iterable[Missing]) -> None:
    """Write down what is lost, beside what was lost before."""
    with transaction(connection):
        connection.executemany(
            "INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)",
            [(_LOST + each.run, str(each)) for each in lost],
        )


def remembered(connection: sqlite3.Connection) -> dict[str, str]:
    """What is written down: the runs, each with what it lost in words."""
    found = connection.execute(
        "SELECT substr(name, ?), value FROM meta WHERE name GLOB ?", (len(_LOST) + 1, f"{_LOST}*")
    )
    return {str(run): str(what) for run, what in found}


def forget(connection: sqlite3.Connection) -> None:
    """Strike out what is written down: it was seen to."""
    with transaction(connection):
        connection.execute("DELETE FROM meta WHERE name GLOB ?", (f"{_LOST}*",))


def _fail(tables: Tables, hurt: Iterable[tuple[Run, Missing]]) -> None:
    for run, missing in hurt:
        message = f"The store's journal was damaged, or the power failed: {missing}."
        failure = Failure(type=CHANGES_LOST, message=message)
        tables.keep(RunTagged(run=replace(run, failure=failure)))
    tables.finish()
