"""A worker as a process of the Core's: started when it is needed, and gone when the Core is.

It holds the reading end of a pipe whose other end is the Core's alone: that ends with the Core, however
the Core ends, and the worker with it.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Callable, Mapping, Sequence
from typing import Final

#: Seconds to end by itself before it is killed.
_PATIENCE: Final = 8.0
#: Bytes of what it says that are read at once, and that the log shows of a line.
_READ: Final = 64 * 1024
_LONGEST: Final = 2000
#: `-P`: what lies in the folder where it starts is not imported in the package's place.
COMMAND: Final = (sys.executable, "-P", "-m", "agentstepper_nb", "worker", "--until-eof")


class WorkerProcess:
    """Starts one worker, and again where it has ended.

    Args:
        log: Gets what it says.
        environment: Makes its environment at each start.
        command: What is started.
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
        self._process: Process | None = None
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
        """Start it, unless it runs; see `workers.Starter`."""
        async with self._starting:
            if self._closed:
                raise OSError("the Core is stopping")
            if self._watch is None or self._watch.done():
                process = self._process = await asyncio.create_subprocess_exec(
                    *self._command,
                    stdin=PIPE,
                    stdout=DEVNULL,
                    stderr=PIPE,
                    env=self._environment(),
                    start_new_session=True,  # Ctrl+C in the server's terminal is the server's
                )
                self._log.info("the worker is started, process %d", process.pid)
                self._watch = asyncio.create_task(self._until_it_ends(process))
            return asyncio.shield(self._watch)

    async def stop(self) -> None:
        """End it, also by force; it isn't started any more."""
        self._closed = True
        async with self._starting:
            process, watch = self._process, self._watch
        if process is None or watch is None:
            return
        assert process.stdin is not None
        process.stdin.close()
        await asyncio.wait((watch,), timeout=_PATIENCE)
        if not watch.done():
            process.kill()
            await watch

    async def _until_it_ends(self, process: Process) -> str:
        await self._pass_on(process)
        code = await process.wait()
        how = f"was killed by signal {-code}" if code < 0 else f"exited with {code}"
        level = logging.INFO if self._closed else logging.WARNING
        self._log.log(level, "the worker, process %d, %s", process.pid, how)
        return how

    async def _pass_on(self, process: Process) -> None:
        """Log each line of what it says, until it says no more."""
        assert process.stderr is not None
        rest = b""
        while piece := await process.stderr.read(_READ):
            *lines, rest = (rest + piece).split(b"\n")
            if len(rest) > _READ:
                lines, rest = [*lines, rest], b""
            for line in lines:
                self._log.info("worker: %s", _plain(line))
        if rest:
            self._log.info("worker: %s", _plain(rest))


def _plain(line: bytes) -> str:
    """A line without control codes: it may quote what a model wrote."""
    text = line[:_LONGEST].decode(errors="replace")
    return "".join(
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text
    )
