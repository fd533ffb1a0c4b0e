"""Opening the runtime's store of a folder."""

from __future__ import annotations

from pathlib import Path

from ...protocol.values import Durability
from .sqlite import SqliteRuntimeStore
from .sqlite.file import RUNTIME_FILE


def open_runtime_store(
    folder: Path, durability: Durability = Durability.DURABLE
) -> SqliteRuntimeStore:
    """Open the runtime's store beside a folder's runs. Whoever calls holds the folder's lock.

    Args:
        folder: Made where it is missing.
        durability: When what is kept outlives what: docs/design/0008-store.md.

    Raises:
        NewerStoreError: A newer program wrote it.
        StoreError: It can't be used.
    """
    return SqliteRuntimeStore(folder / RUNTIME_FILE, durability)
