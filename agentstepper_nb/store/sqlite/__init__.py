"""The store on disk, as docs/design/0008-store.md describes it.

Imports what `store` may.
Begin reading in `store`, then in `writer` and `reader`.
"""

from .store import SqliteStore, open_store

__all__ = ["SqliteStore", "open_store"]
