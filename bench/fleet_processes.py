"""The processes of a measured fleet: Cores, workers that are started again, and what they take."""

from __future__ import annotations

import asyncio
import os
import secrets
import subprocess
import sys
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from agentstepper_nb import discover
from tests.helpers.serve_process import ServeProcess

#: Descriptors that each process may have open.
MAX_DESCRIPTORS: Final = 1024
#: Runs a command with that limit, and writes no core dumps of what crashes.
_LIMITED: Final = ("/bin/sh", "-c", f'ulimit -n {MAX_DESCRIPTORS}; ulimit -c 0; exec "$@"', "sh")
#: Every how many looks the memory of step processes is added up, which takes the kernel some time.
_MEMORY_EVERY: Final = 6


@dataclass
class Peak:
    """The most that processes of a kind took, each by itself."""

    descriptors: int = 0
    bytes: int = 0
    #: Of workers: with their step processes, where pages that they share count once.
    tree_bytes: int = 0
    processes: int = 0  # step processes and their fork server

    def add(self, pid: int, *, with_children: bool) -> None:
        """Look at a process; one that has ended isn't looked at."""
        with suppress(OSError):
            self.descriptors = max(self.descriptors, len(list(Path(f"/proc/{pid}/fd").iterdir())))
            self.bytes = max(self.bytes, _read_kilobytes(pid, "status", "VmHWM:") * 1024)
        if with_children:
            pids = [pid, *list_descendants(pid)]
            self.processes = max(self.processes, len(pids) - 1)
            self.tree_bytes = max(self.tree_bytes, sum(map(_read_proportional_bytes, pids)))


def list_descendants(pid: int) -> list[int]:
    """All processes that a process started, and those started."""
    found: list[int] = []
    with suppress(OSError):  # it has ended
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in map(int, (task / "children").read_text().split()):
                found += [child, *list_descendants(child)]
    return found


def _read_proportional_bytes(pid: int) -> int:
    with suppress(OSError):
        return _read_kilobytes(pid, "smaps_rollup", "Pss:") * 1024
    return 0


def _read_cpu_s(pid: int) -> float:
    """Seconds of a processor that a process took, for itself and in the kernel."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _read_kilobytes(pid: int, file: str, name: str) -> int:
    for line in Path(f"/proc/{pid}/{file}").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1])
    return 0


@dataclass
class MeasuredCore:
    """A Core in a process, with its folder and its tokens.

    Args:
        data: Its folder.
        store: `--runtime-store`.
    """

    data: Path
    store: str
    worker_token: str = field(default_factory=lambda: secrets.token_hex(16))
    control_token: str = field(default_factory=lambda: secrets.token_hex(16))
    url: str = ""
    pid: int = 0

    @contextmanager
    def run(self) -> Iterator[MeasuredCore]:
        """Start it; at the end it is stopped."""
        command = [
            *(*_LIMITED, sys.executable, "-m", "agentstepper_nb", "serve", "--no-worker"),
            *("--data", str(self.data), "--client-port", "0", "--ui-port", "0"),
            *("--worker-token", self.worker_token, "--control-token", self.control_token),
            *("--runtime-store", self.store, "--log-level", "error"),
        ]
        # Nobody reads a pipe meanwhile: what is logged goes where this process' own errors go.
        served = ServeProcess(command, stderr=None)
        self.url, self.pid = served.agents, served.process.pid
        try:
            yield self
        finally:
            served.stop()


class MeasuredWorker:
    """A worker of a Core, which is started again where it ends, as a service manager does.

    Args:
        core: Its Core.
        options: What `agentstepper worker` is told besides.
        environment: Its environment.
    """

    def __init__(
        self, core: MeasuredCore, options: Sequence[str], environment: Mapping[str, str]
    ) -> None:
        self._command = [
            *(*_LIMITED, sys.executable, "-m", "agentstepper_nb", "worker"),
            *("--url", core.url, "--token", core.worker_token, "--data", str(core.data)),
            *("--log-level", "error", "--until-eof", *options),
        ]
        self._environment = {**environment, discover.URL_VARIABLE: core.url}
        self._process: asyncio.subprocess.Process | None = None
        self.endings: list[int] = []  # how it ended, each time

    @property
    def pid(self) -> int:
        """The process that runs now; 0 where none does."""
        process = self._process
        return process.pid if process is not None and process.returncode is None else 0

    @asynccontextmanager
    async def run(self) -> AsyncGenerator[MeasuredWorker, None]:
        """Have it run; at the end it is killed, and its step processes end with it."""
        task = asyncio.create_task(self._start_again())
        try:
            yield self
        finally:
            task.cancel()
            await asyncio.wait((task,))

    async def _start_again(self) -> None:
        while True:
            self._process = await asyncio.create_subprocess_exec(
                *self._command, stdin=subprocess.PIPE, env=self._environment
            )
            try:
                self.endings.append(await self._process.wait())
            finally:
                if self._process.returncode is None:
                    self._process.kill()
                    await self._process.wait()


class PeakWatch:
    """Looks at Cores and workers again and again, and notes the most that each kind took.

    Args:
        cores: The Cores.
        workers: The workers.
    """

    def __init__(self, cores: Sequence[MeasuredCore], workers: Sequence[MeasuredWorker]) -> None:
        self._cores = cores
        self._workers = workers
        self._looks = 0
        self._core_begin_s = self._read_core_s()
        self.core, self.worker = Peak(), Peak()

    @property
    def core_cpu_s(self) -> float:
        """Seconds of a processor that all Cores together took since this watch was made."""
        return self._read_core_s() - self._core_begin_s

    def _read_core_s(self) -> float:
        return sum(_read_cpu_s(core.pid) for core in self._cores)

    def look(self) -> None:
        """Look once."""
        with_children = self._looks % _MEMORY_EVERY == 0
        self._looks += 1
        for core in self._cores:
            self.core.add(core.pid, with_children=False)
        for worker in self._workers:
            if worker.pid:
                self.worker.add(worker.pid, with_children=with_children)
