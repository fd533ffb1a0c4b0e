"""Starts the commands of recorded runs again, as programs of the Core's machine."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from ..core import RecordOutput
from ..discover import (
    AGENT_TOKEN_VARIABLE,
    CERTIFICATE_VARIABLE,
    CONTROL_TOKEN_VARIABLE,
    URL_VARIABLE,
    WORKER_TOKEN_VARIABLE,
    WORKER_URL_VARIABLE,
    CoreEndpoint,
)
from ..errors import CommandError
from ..protocol.records import RunStarted
from ..protocol.text_escaping import escape_to_one_line

#: Seconds that a program has to begin a run before the view is answered without one.
START_TIMEOUT_S: Final = 60.0
#: Bytes of a program's output that are read where it ended early.
_MAX_TAIL_BYTES: Final = 2000
#: The environment variable by which `agentstepper run` finds the recorded run.
_RUNS_FOLDER_VARIABLE: Final = "AGENTSTEPPER_RUNS_FOLDER"
#: The environment variables that a started program must not inherit from the Core.
_NOT_INHERITED: Final = frozenset(
    (CONTROL_TOKEN_VARIABLE, WORKER_TOKEN_VARIABLE, WORKER_URL_VARIABLE)
)
#: `-P`: modules in the working directory must not shadow the package.
_COMMAND: Final = (sys.executable, "-P", "-m", "agentstepper_nb")


class CommandStarter:
    """Starts the commands of recorded runs again, and finds the runs they begin.

    Used on the Core's event loop.

    Args:
        find_core: Returns the Core's address for agents, and the agent token.
        folder: The folder that stores the runs.
        log: Gets a line for each start, and each program's exit.
        certificate: The file with the Core's TLS certificate; "": none.
        timeout_s: Seconds that a program has to begin a run.
    """

    def __init__(
        self,
        find_core: Callable[[], CoreEndpoint],
        folder: Path,
        log: logging.Logger,
        certificate: str = "",
        timeout_s: float = START_TIMEOUT_S,
    ) -> None:
        self._find_core = find_core
        self._folder = folder
        self._log = log
        self._certificate = certificate
        self._timeout_s = timeout_s
        self._awaited: dict[
            asyncio.Future[str], str
        ] = {}  # the run that each is started again from

    def notify(self, output: RecordOutput) -> None:
        """Handle a record: a run began, perhaps one that `start` waits for."""
        record = output.record
        if not isinstance(record, RunStarted) or not record.run.forked_from:
            return
        for begun, parent in self._awaited.items():
            if record.run.forked_from.run == parent and not begun.done():
                begun.set_result(record.run.id)
                return

    async def close(self) -> None:
        """Wait for nothing more; the programs go on."""
        for begun in self._awaited:
            begun.cancel()

    async def start(self, run: str, options: Sequence[str]) -> str | None:
        """Start the command of a run again.

        Args:
            run: The run's id.
            options: Options for `agentstepper run`.

        Returns:
            The id of the run that the program began; None if it began none within the timeout.

        Raises:
            CommandError: `cannot_start_again`: the program ended before it began a run, or can't start.
        """
        loop = asyncio.get_running_loop()
        begun: asyncio.Future[str] = loop.create_future()
        ended: asyncio.Future[int] = loop.create_future()
        self._awaited[begun] = run
        try:
            # A program that starts is watched, though the view that asked for it leaves.
            output = await asyncio.shield(self._start_watched(run, options, ended))
            await asyncio.wait(
                (begun, ended), timeout=self._timeout_s, return_when=asyncio.FIRST_COMPLETED
            )
            if not begun.done() and ended.done():
                raise CommandError("cannot_start_again", _explain_end(ended.result(), output), run)
            return begun.result() if begun.done() else None
        finally:
            del self._awaited[begun]

    async def _start_watched(
        self, run: str, options: Sequence[str], ended: asyncio.Future[int]
    ) -> Path:
        """Start the command of a run again, and watch the program; the file with its output."""
        try:
            process, output = await self.spawn_logged(["run", *options])
        except OSError as error:
            raise CommandError("cannot_start_again", f"No program starts: {error}.", run) from None
        self._log.info(
            "run %s is started again, process %d; its output is in %s", run, process.pid, output
        )
        # asyncio's own processes are killed when their loop is gone; this one goes on.
        threading.Thread(
            target=self._watch,
            args=(process, output, asyncio.get_running_loop(), ended),
            name="agentstepper-run-again",
            daemon=True,
        ).start()
        return output

    async def spawn_logged(
        self,
        words: Sequence[str],
        folder: str | None = None,
        stdin: int = subprocess.DEVNULL,
        inherited: Sequence[int] = (),
    ) -> tuple[subprocess.Popen[bytes], Path]:
        """Start a program as `spawn` does, and give it a file for its output.

        Raises:
            OSError: The program can't be started.
        """
        descriptor, name = tempfile.mkstemp(prefix=f"agentstepper-{words[0]}-", suffix=".log")
        output = Path(name)
        try:
            spawn = partial(self.spawn, words, descriptor, folder, stdin, inherited)
            return await asyncio.to_thread(spawn), output
        except OSError:
            await asyncio.to_thread(output.unlink, missing_ok=True)
            raise
        finally:
            os.close(descriptor)

    def spawn(
        self,
        words: Sequence[str],
        output: int,
        folder: str | None = None,
        stdin: int = subprocess.DEVNULL,
        inherited: Sequence[int] = (),
    ) -> subprocess.Popen[bytes]:
        """Start `agentstepper` as a program that finds this Core and its runs.

        Args:
            words: The command line arguments.
            output: The descriptor for the program's output.
            folder: The working directory; None: the Core's.
            stdin: As `Popen`'s.
            inherited: Further descriptors to inherit.

        Raises:
            OSError: The program can't be started.
        """
        return subprocess.Popen(
            (*_COMMAND, *words),
            stdin=stdin,
            stdout=output,
            stderr=output,
            cwd=folder,
            env=self._make_environment(),
            pass_fds=inherited,
            start_new_session=True,  # it goes on where the Core ends, as every agent
        )

    def _make_environment(self) -> Mapping[str, str]:
        core = self._find_core()
        inherited = {name: text for name, text in os.environ.items() if name not in _NOT_INHERITED}
        ours = {
            URL_VARIABLE: core.url,
            AGENT_TOKEN_VARIABLE: core.token or "",
            _RUNS_FOLDER_VARIABLE: str(self._folder),
            "PYTHONUNBUFFERED": "1",
        }
        certificate = {CERTIFICATE_VARIABLE: self._certificate} if self._certificate else {}
        return inherited | ours | certificate

    def _watch(
        self,
        process: subprocess.Popen[bytes],
        output: Path,
        loop: asyncio.AbstractEventLoop,
        ended: asyncio.Future[int],
    ) -> None:
        """Wait for a program's end, and delete its output unless it failed."""
        code = process.wait()
        self._log.info(
            "process %d, a run that was started again, exited with %d", process.pid, code
        )
        if code == 0:
            output.unlink(missing_ok=True)
        with suppress(RuntimeError):  # the Core has stopped
            loop.call_soon_threadsafe(ended.set_result, code)


def read_output_tail(output: Path) -> str:
    """Read the end of a program's output as one line; "": the program printed nothing.

    Args:
        output: The file that has the program's output.
    """
    try:
        with output.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _MAX_TAIL_BYTES))
            return escape_to_one_line(file.read().decode(errors="replace").strip())
    except OSError:  # it ended well, and its output is gone
        return ""


def _explain_end(code: int, output: Path) -> str:
    said = read_output_tail(output).removeprefix("agentstepper run: ") or "It printed nothing."
    return f"The command ended with exit code {code} before it began a run: {said}"
