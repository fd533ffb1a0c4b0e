"""A PostgreSQL server for tests: a process of its own, which ends with whoever started it."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest

from tests.helpers.ports import find_ports

#: What a test server doesn't need, and what shows more faults.
SETTINGS: Final = {
    "fsync": "off",
    "full_page_writes": "off",
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "100",
    "shared_buffers": "32MB",
    "autovacuum_naptime": "5s",
    "deadlock_timeout": "100ms",
    "wal_writer_delay": "10s",  # a kill takes all of a transaction that no commit has written
}
#: Users that the server may run as, where the tests run as root, which it refuses.
_USERS: Final = ("postgres", "nobody")
_START_S: Final = 30.0


def find_programs() -> Path | None:
    """The folder of the server's programs, where there are any."""
    on_path = shutil.which("initdb")
    if on_path is not None:
        return Path(on_path).resolve().parent
    found = sorted(
        Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: int(folder.parent.name)
    )
    return found[-1] if found else None


class PostgresServer:
    """A server on 127.0.0.1, at a port of its own, whose data are gone at the end.

    Args:
        programs: See `find_programs`.
        folder: Where it keeps its data; it exists, and is the server's alone.
        is_durable: Whether it syncs what it answers.
    """

    def __init__(self, programs: Path, folder: Path, is_durable: bool) -> None:
        self._programs = programs
        durable = {"fsync": "on", "full_page_writes": "on"} if is_durable else {}
        self._options = [f"-c{name}={value}" for name, value in (SETTINGS | durable).items()]
        self._folder = folder
        self._user = _find_user()
        self._process: subprocess.Popen[bytes] | None = None
        self._numbers = count(1)
        (self.port,) = find_ports(1)
        if self._user is not None:
            os.chown(folder, self._user.pw_uid, self._user.pw_gid)
        self._run("initdb", "--pgdata", ".", "--username", "tests", "--auth", "trust", "--no-sync",
                  "--encoding", "UTF8", "--locale", "C")  # fmt: skip

    def location(self, database: str = "postgres") -> str:
        """Where a database is, for clients."""
        return f"postgresql://tests@127.0.0.1:{self.port}/{database}"

    def create_database(self) -> str:
        """A new database; where it is."""
        name = f"test{next(self._numbers)}"
        self.execute(f"CREATE DATABASE {name}")
        return self.location(name)

    def execute(self, statement: str, *values: Any, location: str | None = None) -> list[Any]:
        """Execute a statement as the server's owner, and give the rows, if any."""
        with psycopg.connect(location or self.location(), autocommit=True) as connection:
            found = connection.execute(statement.encode(), values or None)
            return found.fetchall() if found.description else []

    def start(self) -> None:
        """Start it, and wait until it answers. Called on the main thread: it ends with its thread."""
        deadline = time.monotonic() + _START_S
        while True:
            if self._process is None or self._process.poll() is not None:
                self._process = (
                    self._begin()
                )  # again, until all backends of one that was killed are gone
            try:
                self.execute("SELECT 1")
            except psycopg.OperationalError as error:
                if time.monotonic() > deadline:
                    raise RuntimeError(f"PostgreSQL doesn't start: {self.log}") from error
                time.sleep(0.05)
            else:
                return

    def _begin(self) -> subprocess.Popen[bytes]:
        command = self._command("postgres", "-D", ".", "-p", str(self.port), *self._options)
        with (self._folder.parent / f"{self._folder.name}.log").open("ab") as log:
            return subprocess.Popen(
                command, cwd=self._folder, stdout=log, stderr=log, env=_ENVIRONMENT
            )

    def kill(self) -> None:
        """End it at once; what it was at isn't finished. Its backends see that it is gone, and end."""
        if self._process is None:
            return
        children = _find_children(self._process.pid)
        self._process.kill()
        self._process.wait()
        self._process = None
        deadline = time.monotonic() + _START_S
        while any(Path("/proc", child).exists() for child in children):
            if time.monotonic() > deadline:
                raise RuntimeError(f"Backends of PostgreSQL outlive it: {self.log}")
            time.sleep(0.01)

    def stop(self) -> None:
        """End it as it should be, without waiting for clients. Idempotent."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=20)
        self.kill()

    @property
    def log(self) -> str:
        """What it wrote last."""
        path = self._folder.parent / f"{self._folder.name}.log"
        return path.read_text(errors="replace")[-2000:]

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            self._command(program, *arguments),
            cwd=self._folder,
            check=True,
            capture_output=True,
            env=_ENVIRONMENT,
        )

    def _command(self, program: str, *arguments: str) -> list[str]:
        """A command as the server's user, which ends with this process, however that ends."""
        command = [str(self._programs / program), *arguments]
        setpriv = shutil.which("setpriv")
        if setpriv is None:
            return command
        user = self._user
        options = ["--pdeathsig", "QUIT"]
        if user is not None:
            options += [f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
        return [setpriv, *options, *command]


_ENVIRONMENT: Final = {"PATH": os.environ["PATH"], "LC_ALL": "C"}


@contextmanager
def run_server(*, is_durable: bool = False) -> Iterator[PostgresServer]:
    """A started server. Where none can be had, the test is skipped, and says why."""
    programs = find_programs()
    if programs is None:
        pytest.skip("PostgreSQL's programs are missing: `make postgres` installs them")
    if os.geteuid() == 0 and (shutil.which("setpriv") is None or _find_user() is None):
        pytest.skip("PostgreSQL refuses to run as root, and there is no setpriv or no other user")
    parent = Path(tempfile.mkdtemp(prefix="agentstepper-postgres-"))
    parent.chmod(0o755)
    folder = parent / "data"
    folder.mkdir(mode=0o700)
    server = PostgresServer(programs, folder, is_durable)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(parent, ignore_errors=True)


def _find_children(pid: int) -> list[str]:
    """The processes that one has started, where the system tells."""
    with suppress(FileNotFoundError):
        return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return []


def _find_user() -> pwd.struct_passwd | None:
    """Who the server runs as, where that isn't who runs the tests."""
    if os.geteuid() != 0:
        return None
    for name in _USERS:
        with suppress(KeyError):
            return pwd.getpwnam(name)
    return None
