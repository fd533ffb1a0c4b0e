"""The background agents' store in SQLite, as docs/design/0015-runtime.md describes it.

Imports what `store` may.
Begin reading in `store`.
"""

from .store import SqliteRuntimeStore, open_runtime_store

__all__ = ["SqliteRuntimeStore", "open_runtime_store"]
