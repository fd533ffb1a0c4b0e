"""The background agents' store in PostgreSQL, as docs/design/0024-fleet.md describes it.

Imports what `store` may, and psycopg.
Begin reading in `store`; `queue` says what is locked when.
"""

from .store import PostgresRuntimeStore

__all__ = ["PostgresRuntimeStore"]
