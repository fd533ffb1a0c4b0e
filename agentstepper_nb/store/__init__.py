"""The storage of runs: the `Store` protocol, the store on disk, and a store in memory.

Imports `protocol`.
Begin reading in `base`: the protocol; `memory` shows it without a disk.
"""

from .base import Store
from .memory import MemoryStore
from .sqlite import SqliteStore, open_store

__all__ = ["MemoryStore", "SqliteStore", "Store", "open_store"]
