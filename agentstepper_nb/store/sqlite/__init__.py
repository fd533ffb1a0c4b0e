"""The store on disk: docs/design/0008-store.md."""

from .store import SqliteStore, open_store

__all__ = ["SqliteStore", "open_store"]
