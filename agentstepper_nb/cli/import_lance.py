"""`agentstepper import-lance`: brings the background agents of a `lance:` store into another store."""

from __future__ import annotations

import asyncio
import sys
from argparse import Namespace
from pathlib import Path

from .. import discover
from ..errors import StoreError
from ..hub.runtime_host import check_store_location, open_chosen_store
from ..protocol.store_info import Durability
from ..store.folder_lock import lock_folder
from ..store.lance.old_store import read_old_store
from ..store.lance.row_import import ImportReport, RowImport
from . import EXIT_FAILURE, EXIT_OK
from .terminal_text import escape_controls


def run(namespace: Namespace) -> int:
    """Run the command.

    Args:
        namespace: The parsed command line.

    Returns:
        1 if the rows can't be read or written, or a row was refused, else 0.
    """
    folder = discover.data_dir() if namespace.data is None else Path(namespace.data).expanduser()
    try:
        with lock_folder(folder, "agentstepper import-lance"):
            old = Path(namespace.folder.removeprefix("lance:")).expanduser()
            report = asyncio.run(_import(old, folder, namespace.runtime_store))
    except (StoreError, ValueError) as error:
        print(f"agentstepper import-lance: {escape_controls(str(error))}", file=sys.stderr)
        return EXIT_FAILURE
    for reason in report.refused:
        print(escape_controls(f"Not imported, {reason}"), file=sys.stderr)
    counts = ", ".join(f"{count} {table}" for table, count in report.counts.items())
    print(escape_controls(f"Imported {counts or 'nothing'} of {old}."))
    return EXIT_FAILURE if report.refused else EXIT_OK


async def _import(old: Path, folder: Path, location: str) -> ImportReport:
    rows = await read_old_store(old)
    store = open_chosen_store(folder, Durability.DURABLE, check_store_location(location))
    try:
        return await RowImport(store, rows).run()
    finally:
        await store.close()
