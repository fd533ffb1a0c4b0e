"""Information about a Core's store of runs."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Durability(StrEnum):
    """The durability of stored records: docs/design/0008-store.md lists what survives each failure."""

    RELAXED = "relaxed"  # released when handed to the writer, recorded at most 10 ms later
    DURABLE = "durable"  # released when recorded; halts, edits and acknowledgements when synced
    SYNC = "sync"  # all of it when synced


class StoreInfo(Struct, frozen=True, kw_only=True):
    """The store of a Core's runs."""

    kind: str  # "sqlite", or "memory": gone with the process
    durability: Durability | None = None  # None: there is nothing to sync
    folder: str | None = None
    size: int | None = None  # bytes on disk, every file counted
    trouble: str | None = None  # why nothing can be kept right now, for a person
