"""The database: connects to it, and migrates its tables to the last version."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import psycopg
from psycopg import conninfo

from ....errors import NewerStoreError, StoreError
from ....protocol.store_info import Durability
from .statements import register_texts

log = logging.getLogger(__name__)

_FOLDER: Final = Path(__file__).parent / "migrations"
#: The last version, which this program reads and writes: the number of its migrations.
VERSION: Final = len(sorted(_FOLDER.glob("[0-9][0-9][0-9][0-9].sql")))
#: Tables whose rows have the number of their last change.
CHANGING_TABLES: Final = (
    "agent_state",
    "agent_steps",
    "actions",
    "conversation_messages",
    "conversation_participants",
    "conversations",
)
#: The advisory lock of a migration: "AgentStp".
_MIGRATION_LOCK: Final = 0x4167656E74537470
#: The first version with `pg_current_xact_id`.
_OLDEST_SERVER: Final = 130000
#: Defaults of connection parameters, which a location can override.
_DEFAULTS: Final = {
    "connect_timeout": "5",
    "application_name": "agentstepper",
    "keepalives_idle": "20",
    "keepalives_interval": "5",
    "keepalives_count": "4",
    "tcp_user_timeout": "30000",  # ms
    "target_session_attrs": "read-write",
}
#: Time limits: a Core that is stopped, or disconnected, locks no session for longer.
_SETTINGS: Final = (
    "SET search_path TO agentstepper; SET statement_timeout TO '60s';"
    " SET idle_in_transaction_session_timeout TO '20s'; SET synchronous_commit TO {}"
)


class Database:
    """A database's location, and how to connect to it.

    Args:
        location: `postgresql://USER@HOST:PORT/NAME`, or another form that libpq accepts.
        durability: `RELAXED` answers before a transaction is synced.

    Attributes:
        place: The location for people, without a password.

    Raises:
        StoreError: The location is invalid.
    """

    def __init__(self, location: str, durability: Durability = Durability.DURABLE) -> None:
        try:
            parts = {**_DEFAULTS, **conninfo.conninfo_to_dict(location)}
        except psycopg.ProgrammingError as error:
            raise StoreError(
                f"The location of PostgreSQL can't be read: {str(error).strip()}. Write it as "
                "postgresql://USER@HOST:PORT/DATABASE."
            ) from None
        self.place = _format_place(parts)
        self.conninfo = conninfo.make_conninfo("", **parts, client_encoding="UTF8")
        is_relaxed = durability is Durability.RELAXED
        self.settings = _SETTINGS.format("off" if is_relaxed else "on").encode()

    def connect(self) -> psycopg.Connection:
        """Connect, outside of a transaction, and migrate tables of an older version.

        Raises:
            psycopg.Error: The connection failed.
            NewerStoreError: A newer program wrote the tables.
            StoreError: The server can't store the data.
        """
        connection = psycopg.connect(self.conninfo, autocommit=True)
        try:
            register_texts(connection.adapters)
            connection.execute(self.settings)
            if _read_version(connection) != VERSION:
                self._check_server(connection)
                self._migrate(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _check_server(self, connection: psycopg.Connection) -> None:
        if connection.info.server_version < _OLDEST_SERVER:
            raise StoreError(
                f"{self.place} is PostgreSQL {connection.info.parameter_status('server_version')}, "
                "which is too old for background agents. Use version 13 or newer."
            )
        encoding = connection.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            raise StoreError(
                f"{self.place} stores texts as {encoding}, which can't hold all characters. Create "
                "the database with `createdb --encoding UTF8 --template template0`."
            )

    def _migrate(self, connection: psycopg.Connection) -> None:
        """Migrate the tables to the last version. If several Cores connect at once, one migrates."""
        with _locked(connection):
            found = _read_version(connection)
            if found > VERSION:
                raise NewerStoreError(
                    f"{self.place} was written by a newer agentstepper_nb: it is of version {found}, "
                    f"and this one reads versions up to {VERSION}. Upgrade agentstepper_nb, or choose "
                    "another database."
                )
            connection.execute("CREATE SCHEMA IF NOT EXISTS agentstepper")
            for number in range(found + 1, VERSION + 1):
                connection.execute((_FOLDER / f"{number:04}.sql").read_bytes())
            connection.execute(
                "INSERT INTO meta (name, value) VALUES ('version', %s)"
                " ON CONFLICT (name) DO UPDATE SET value = EXCLUDED.value",
                (VERSION,),
            )
        if found < VERSION:
            log.info("%s is upgraded from version %d to %d", self.place, found, VERSION)


def renumber_changes(connection: psycopg.Connection) -> None:
    """Continue the numbers of changes in a database that was restored from a dump: the present server
    counts transactions from a lower number.

    Args:
        connection: A connection outside of a transaction.
    """
    newest = " UNION ALL ".join(f"SELECT max(changed) AS n FROM {t}" for t in CHANGING_TABLES)
    find_gap = f"SELECT (coalesce(max(n), 0) - change_number()) >> 14 FROM ({newest}) AS newest"
    with _locked(connection):
        ((gap,),) = connection.execute(find_gap.encode())
        if gap < 0:
            return
        ((base,),) = connection.execute(
            "SELECT (change_number() >> 14) - pg_current_xact_id()::text::bigint"
        )
        for function, xid in (
            ("change_number", "pg_current_xact_id()"),
            ("first_open_change", "pg_snapshot_xmin(pg_current_snapshot())"),
        ):
            connection.execute(
                f"CREATE OR REPLACE FUNCTION {function}() RETURNS bigint LANGUAGE sql AS"
                f" 'SELECT ({xid}::text::bigint + {base + gap + 1}) << 14'".encode()
            )


@contextmanager
def _locked(connection: psycopg.Connection) -> Iterator[None]:
    """A transaction under the migration lock, which excludes other Cores. It begins after the lock is
    acquired, so that it sees the tables that another Core has made.
    """
    connection.execute("SELECT pg_advisory_lock(%s)", (_MIGRATION_LOCK,))
    try:
        with connection.transaction():
            yield
    finally:
        connection.execute("SELECT pg_advisory_unlock(%s)", (_MIGRATION_LOCK,))


def _read_version(connection: psycopg.Connection) -> int:
    """Read the version of the tables; 0 if there are none."""
    ((table,),) = connection.execute("SELECT to_regclass('agentstepper.meta')")
    if table is None:
        return 0
    row = connection.execute("SELECT value FROM meta WHERE name = 'version'").fetchone()
    return 0 if row is None else int(row[0])


def _format_place(parts: Mapping[str, object]) -> str:
    host = parts.get("host") or parts.get("hostaddr") or ""
    port = f":{parts['port']}" if "port" in parts else ""
    return f"postgresql://{host}{port}/{parts.get('dbname') or ''}"
