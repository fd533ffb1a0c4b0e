"""A worker as a process of the Core: started when it is needed, and ended with the Core.

The worker holds the reading end of a pipe whose other end only the Core holds: the pipe closes when the
Core ends for any reason, and the worker ends, too.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from ..discover import (
    AGENT_TOKEN_VARIABLE,
    CONTROL_TOKEN_VARIABLE,
    URL_VARIABLE,
    WORKER_TOKEN_VARIABLE,
    WORKER_URL_VARIABLE,
    CoreEndpoint,
    to_worker_url,
)
from ..json_log import forward_line
from ..protocol.text_escaping import escape_to_one_line

#: Seconds to end by itself before it is killed.
_END_TIMEOUT_S: Final = 8.0
#: Seconds after a worker's end in which its last output is read.
_DRAIN_S: Final = 0.5
#: Bytes of a line that are waited for, and that the log shows of one.
_MAX_LINE_BYTES: Final = 1024 * 1024
_MAX_SHOWN_BYTES: Final = 2000
_STDERR: Final = 2  # its descriptor
#: The environment variables that a worker must not inherit from the Core.
_TOKENS: Final = {AGENT_TOKEN_VARIABLE, CONTROL_TOKEN_VARIABLE}
#: `-P`: modules in the working directory must not shadow the package.
COMMAND: Final = (sys.executable, "-P", "-m", "agentstepper_nb", "worker", "--until-eof")


#: Defaults: where steps of background agents run, and how many sessions have a process at once.
DEFAULT_ISOLATION: Final = "process"
DEFAULT_PROCESSES: Final = 32


def make_command(
    folder: Path | None,
    isolation: str = DEFAULT_ISOLATION,
    processes: int = DEFAULT_PROCESSES,
    *,
    logs_json: bool = False,
) -> tuple[str, ...]:
    """Make the command that starts a worker.

    Args:
        folder: The Core's folder; None: the Core has none.
        isolation: Where steps run whose moniker isn't cooperative: `process` or `none`.
        processes: How many sessions have a process at once.
        logs_json: Whether the worker logs JSON.
    """
    data = () if folder is None else ("--data", str(folder))
    log = ("--log-json",) if logs_json else ()
    return (*COMMAND, *data, "--isolation", isolation, "--processes", str(processes), *log)


def make_environment(agents: CoreEndpoint, worker_token: str) -> dict[str, str]:
    """Make a worker's environment: this process's, with the Core's addresses and tokens.

    Args:
        agents: The Core's address for agents: the worker's agents are debugged there.
        worker_token: The worker token of the Core.
    """
    inherited = {name: value for name, value in os.environ.items() if name not in _TOKENS}
    return {
        **inherited,
        **({} if agents.token is None else {AGENT_TOKEN_VARIABLE: agents.token}),
        URL_VARIABLE: agents.url,
        WORKER_URL_VARIABLE: to_worker_url(agents.url),
        WORKER_TOKEN_VARIABLE: worker_token,
    }


class WorkerProcess:
    """Starts one worker at a time, and again after its end.

    Args:
        log: Receives the worker's output.
        environment: Makes the worker's environment at each start.
        command: The command to start.

    Attributes:
        on_end: Called after a worker's end with the process id, and the ending for a person.
    """

    def __init__(
        self,
        log: logging.Logger,
        environment: Callable[[], Mapping[str, str]],
        command: Sequence[str] = COMMAND,
    ) -> None:
        self._log = log
        self._environment = environment
        self._command = command
        self.on_end: Callable[[int, str], None] = lambda pid, ending: None
        self._process: _Process | None = None
        self._watch: asyncio.Task[str] | None = None
        self._starting = asyncio.Lock()
        self._closed = False

    @property
    def pid(self) -> int | None:
        """Of the process, where it runs."""
        if self._process is None or self._watch is None or self._watch.done():
            return None
        return self._process.pid

    async def start(self) -> asyncio.Future[str]:
        """Start it, unless it runs; see `workers.WorkerStarter`."""
        async with self._starting:
            if self._closed:
                raise OSError("the Core is stopping")
            if self._watch is None or self._watch.done():
                _, process = await asyncio.get_running_loop().subprocess_exec(
                    lambda: _Process(self._log),
                    *self._command,
                    stdin=PIPE,
                    stdout=DEVNULL,
                    stderr=PIPE,
                    env=self._environment(),
                    start_new_session=True,  # Ctrl+C in the server's terminal is the server's
                )
                self._process = process
                self._log.info("the worker is started, process %d", process.pid)
                self._watch = asyncio.create_task(self._wait_for_exit(process))
            return asyncio.shield(self._watch)

    async def stop(self) -> None:
        """End it, also by force; it isn't started any more."""
        self._closed = True
        async with self._starting:
            process, watch = self._process, self._watch
        if process is None or watch is None:
            return
        process.end_input()
        await asyncio.wait((watch,), timeout=_END_TIMEOUT_S)
        if not watch.done():
            process.kill()
            await watch

    async def _wait_for_exit(self, process: _Process) -> str:
        code = await process.ended()
        ending = f"was killed by signal {-code}" if code < 0 else f"exited with {code}"
        level = logging.INFO if self._closed else logging.WARNING
        self._log.log(level, "the worker, process %d, %s", process.pid, ending)
        self.on_end(process.pid, ending)
        return ending


class _Process(asyncio.SubprocessProtocol):
    """A running process and its output. asyncio's own `Process` ends only after every holder of its
    standard error has closed it; programs that a worker has started may hold that for long.

    Args:
        log: Receives each line of the output.
    """

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._partial_line = b""
        self._exited = asyncio.Event()
        self._stderr_closed = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the started process."""
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._transport = transport
        self.pid = transport.get_pid()

    def pipe_data_received(self, fd: int, data: bytes | str) -> None:
        """Log the output."""
        assert isinstance(data, bytes)
        *lines, partial_line = (self._partial_line + data).split(b"\n")
        if len(partial_line) > _MAX_LINE_BYTES:
            lines, partial_line = [*lines, partial_line], b""
        self._partial_line = partial_line
        for line in lines:
            self._log_line(line)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """Note the end of the output."""
        if fd == _STDERR:
            self._stderr_closed.set()

    def process_exited(self) -> None:
        """Note the end of the process."""
        self._exited.set()

    def end_input(self) -> None:
        """Close the process's standard input, which tells the process to end."""
        pipe = self._transport.get_pipe_transport(0)
        if pipe is not None:
            pipe.close()

    def kill(self) -> None:
        """End it by force."""
        self._transport.kill()

    async def ended(self) -> int:
        """Wait until the process has ended, and for its last output. Returns the exit code."""
        await self._exited.wait()
        with suppress(TimeoutError):
            async with asyncio.timeout(_DRAIN_S):
                await self._stderr_closed.wait()
        if self._partial_line:
            self._log_line(self._partial_line)
        code = self._transport.get_returncode()
        assert code is not None
        self._transport.close()
        return code

    def _log_line(self, line: bytes) -> None:
        shown = _plain(line)
        if not forward_line(self._log, line.decode(errors="replace"), self.pid, shown):
            self._log.info("worker: %s", shown)


def _plain(line: bytes) -> str:
    """Remove control codes from a line: it may quote what a model wrote."""
    return escape_to_one_line(line[:_MAX_SHOWN_BYTES].decode(errors="replace"))
