"""The program of a search: starts it, answers and cancels it, and reads its reports until it ends."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from ..protocol.run_programs import BisectReport, bisect_report_decoder
from .command_starter import CommandStarter, read_output_tail

#: Bytes of a report at most: a longer line isn't a report.
_MAX_REPORT_BYTES: Final = 1024 * 1024
#: Seconds that a cancelled search's programs have to end by themselves.
KILL_TIMEOUT_S: Final = 3.0


class ProgramEnd(NamedTuple):
    """The end of a program.

    Args:
        code: The exit code.
        output: The last line of the program's output.
    """

    code: int
    output: str


class SearchProgram:
    """A Core's process of `agentstepper bisect`. Used on the Core's event loop.

    Args:
        starter: Starts the program.
        log: Gets a line for its start and its end.
        on_report: Called with each report.
        on_end: Called with the program's end, after all reports.
        kill_timeout_s: Seconds after cancelling before the program is killed.
    """

    def __init__(
        self,
        starter: CommandStarter,
        log: logging.Logger,
        on_report: Callable[[BisectReport], None],
        on_end: Callable[[ProgramEnd], None],
        kill_timeout_s: float = KILL_TIMEOUT_S,
    ) -> None:
        self._starter, self._log = starter, log
        self._on_report, self._on_end = on_report, on_end
        self._kill_timeout_s = kill_timeout_s
        self._loop = asyncio.get_running_loop()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_cancelled = False
        self._was_killed = threading.Event()

    async def start(self, words: Sequence[str], folder: str) -> None:
        """Start the program.

        Args:
            words: The arguments of `agentstepper bisect`.
            folder: The working directory of the program and of its check.

        Raises:
            OSError: The program can't be started.
        """
        reports, to_core = os.pipe()
        try:
            told = ["bisect", *words, f"--report-to={to_core}"]
            self._process, path = await self._starter.spawn_logged(
                told, folder, subprocess.PIPE, (to_core,)
            )
        except OSError:
            os.close(reports)
            raise
        finally:
            os.close(to_core)
        self._log.info(
            "a search for a deciding event began, process %d; its output is in %s",
            self._process.pid,
            path,
        )
        # As programs that are started again, it goes on where the loop ends.
        threading.Thread(
            target=self._watch,
            args=(self._process, reports, path),
            name="agentstepper-bisect",
            daemon=True,
        ).start()
        if self._is_cancelled:
            self._signal(signal.SIGTERM)

    def answer(self, *, goes_on: bool) -> None:
        """Answer the program's last question."""
        process = self._process
        if process is not None and process.stdin is not None:
            with suppress(OSError, ValueError):  # it has ended
                process.stdin.write(b"yes\n" if goes_on else b"no\n")
                process.stdin.flush()

    def cancel(self) -> None:
        """End it, and the program that it executes."""
        self._is_cancelled = True
        self._signal(signal.SIGTERM)
        self._loop.call_later(self._kill_timeout_s, self._kill)

    def _kill(self) -> None:
        self._signal(signal.SIGKILL)
        self._was_killed.set()

    def _signal(self, number: signal.Signals) -> None:
        # Until its thread has waited for it, no other process has its id.
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)

    def _watch(self, process: subprocess.Popen[bytes], reports: int, output: Path) -> None:
        """Read the program's reports, and wait for its end; its output is deleted unless it failed."""
        with open(reports, "rb") as pipe:
            for line in iter(lambda: pipe.readline(_MAX_REPORT_BYTES), b""):
                try:
                    report = bisect_report_decoder.decode(line)
                except msgspec.DecodeError as error:
                    self._log.warning("a report of a search can't be read: %s", error)
                    continue
                self._call(self._on_report, report)
        if self._is_cancelled:  # what it started may end later than itself
            self._was_killed.wait(2 * self._kill_timeout_s)
        code = process.wait()
        if process.stdin is not None:
            with suppress(OSError):
                process.stdin.close()
        self._log.info("process %d, a search, exited with %d", process.pid, code)
        end = ProgramEnd(code, read_output_tail(output))
        if code == 0:
            output.unlink(missing_ok=True)
        self._call(self._on_end, end)

    def _call(self, function: Callable[..., None], *arguments: object) -> None:
        with suppress(RuntimeError):  # the Core has stopped
            self._loop.call_soon_threadsafe(function, *arguments)
