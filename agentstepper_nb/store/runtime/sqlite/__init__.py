"""The runtime's store in SQLite: docs/design/0015-runtime.md."""

from .store import SqliteRuntimeStore, open_runtime_store

__all__ = ["SqliteRuntimeStore", "open_runtime_store"]
