"""The runtime's store in SQLite: docs/design/0015-runtime.md."""

from .store import SqliteRuntimeStore

__all__ = ["SqliteRuntimeStore"]
