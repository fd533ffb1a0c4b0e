"""What a Core keeps: the `Store` protocol, the store on disk, and a store in memory."""

from .base import Store
from .memory import MemoryStore
from .sqlite import SqliteStore, open_store

__all__ = ["MemoryStore", "SqliteStore", "Store", "open_store"]
