"""Reads the rows of a `lance:` store, in which earlier versions stored background agents.

The store had seven tables and a journal. A change was first a line of the journal, and was written to
its table later. The journal's head names a version of each table, and its lines have the later changes
of rows. The tables of a store that was closed are complete, and its journal has no lines.
"""

from __future__ import annotations

import asyncio
import shutil
import zlib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from ... import typed_json
from ...errors import StoreError
from ..folder_lock import lock_folder
from ..runtime.sqlite.queries import CHANGED_TABLES
from ..runtime.sqlite.row_codec import CURSORS, RowTable
from .columns import KEY_COLUMNS, decode_columns, import_lancedb

_JOURNAL: Final = "journal"
#: LanceDB names version files so that the last version's file is listed first.
_LAST_VERSION: Final = 2**64 - 1
_SUM: Final = 9  # characters of a line's checksum, with the space after it
_TABLES: Final[dict[str, RowTable[Any]]] = {
    table.name: table for table in (*CHANGED_TABLES.values(), CURSORS)
}

#: The rows of each table, in the order of their creation.
OldRows = dict[str, list[Any]]
#: A table's rows and their numbers, by the column `key`.
_NumberedRows = dict[str, tuple[int, Any]]
#: A line of the journal: rows and their numbers, by table.
_Change = dict[str, list[tuple[int, Raw]]]


class _Head(Struct, frozen=True):
    """The journal's first line."""

    versions: dict[str, int] = {}
    closed: bool = False


async def read_old_store(folder: Path) -> OldRows:
    """Read all rows of a store that no worker has open. The store isn't changed.

    Args:
        folder: The path after `lance:`.

    Raises:
        StoreLockedError: A worker of an earlier version has the store open.
        StoreError: The folder isn't such a store, or is damaged, or LanceDB isn't installed.
    """
    if not (folder / f"{CURSORS.name}.lance").is_dir():  # which a projection has not
        raise StoreError(
            f"{folder} holds no background agents of an earlier version: name the folder that stood "
            "after `lance:`."
        )
    lancedb = await asyncio.to_thread(import_lancedb)
    found: OldRows = {}
    with lock_folder(folder, "agentstepper import-lance"), TemporaryDirectory() as copies:
        head, changes = await asyncio.to_thread(_read_journal, folder)
        for name, table in _TABLES.items():
            path = folder / f"{name}.lance"
            if head is not None and not head.closed:
                path = _link_version(path, head.versions.get(name), Path(copies))
            rows = await _read_table(await lancedb.connect_async(path.parent), table, folder)
            rows.update(changes[name])
            found[name] = [value for _, value in sorted(rows.values(), key=lambda row: row[0])]
    return found


def _link_version(table: Path, version: int | None, copies: Path) -> Path:
    """Link a table with one version only: a power cut may have emptied files of newer versions."""
    if version is None:  # all its rows are in the journal
        return copies / table.name
    manifest = Path("_versions") / f"{_LAST_VERSION - version}.manifest"
    if not (table / manifest).exists():
        return table
    linked = copies / table.name
    (linked / manifest.parent).mkdir(parents=True)
    shutil.copy(table / manifest, linked / manifest)
    for each in table.iterdir():
        if each.name != manifest.parent.name:
            (linked / each.name).symlink_to(each.absolute())
    return linked


async def _read_table(connection: Any, table: RowTable[Any], folder: Path) -> _NumberedRows:
    """Read a table's rows; empty if the table doesn't exist."""
    if table.name not in (await connection.list_tables(limit=1000)).tables:
        return {}
    try:
        opened = await connection.open_table(table.name)
        rows = (await opened.query().to_arrow()).to_pylist()
    except (RuntimeError, ValueError, OSError) as error:
        why = str(error).split("\n", 1)[0][:300]
        raise StoreError(
            f"The table {table.name} in {folder} can't be read: {why}. Restore a copy of the folder."
        ) from error
    return {row["key"]: (row["n"], decode_columns(table, row)) for row in rows}


def _read_journal(folder: Path) -> tuple[_Head | None, dict[str, _NumberedRows]]:
    """Read the journal's head, and the changes of each table in its lines."""
    path, found = folder / _JOURNAL, {name: _NumberedRows() for name in _TABLES}
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    texts = [line[_SUM:-1] for line in lines]
    sums = [line == b"%08x %s\n" % (zlib.crc32(line[_SUM:-1]), line[_SUM:-1]) for line in lines]
    if not all(sums[:-1]):
        raise StoreError(_explain_damage(path, f"line {sums.index(False) + 1}"))
    if sums and not sums[-1]:  # a kill tore it while it was written: nobody was answered
        texts.pop()
    if not texts:
        return None, found
    try:
        for text in texts[1:]:
            for name, rows in typed_json.decode(text, _Change).items():
                for number, row in rows:
                    value = typed_json.decode(row, _TABLES[name].type)
                    found[name][_key(name, value)] = (number, value)
        return typed_json.decode(texts[0], _Head), found
    except (msgspec.DecodeError, KeyError, ValueError) as error:
        raise StoreError(_explain_damage(path, str(error))) from error


def _explain_damage(path: Path, why: str) -> str:
    return f"The journal {path} is damaged: {why}. Restore a copy of the folder."


def _key(name: str, value: Any) -> str:
    """The column `key` of a row."""
    if name == "agent_steps":
        return f"{value.session_id}\x1f{value.iteration:016d}\x1f{value.event_seq:016d}"
    if name == CURSORS.name:
        return f"{value.session_id}\x1f{value.conversation_id}"
    return str(getattr(value, KEY_COLUMNS[name]))
