"""Writes runs as tests of pytest for views, by a program in the folder of the recorded command."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

from ..errors import CommandError
from ..protocol.run_programs import ExportTest
from .command_starter import CommandStarter, read_output_tail

#: Seconds that the replay of an agent may take.
EXPORT_TIMEOUT_S: Final = 120.0
TIMED_OUT: Final = (
    "The replay of the agent took longer than {seconds:g} seconds, and was ended. Export the test from "
    "the command line: agentstepper export --pytest."
)


class RunTestExporter:
    """Runs `agentstepper export --pytest`, one export at a time. Used on the Core's event loop.

    Args:
        starter: Starts the program.
        folder: The folder that stores the runs.
        timeout_s: Seconds that an export may take.
    """

    def __init__(
        self, starter: CommandStarter, folder: Path, timeout_s: float = EXPORT_TIMEOUT_S
    ) -> None:
        self._starter, self._folder, self._timeout_s = starter, folder, timeout_s
        self._lock = asyncio.Lock()

    async def write(self, command: ExportTest, folder: str) -> str:
        """Write a run's test and its recording. Returns the path of the test.

        Args:
            command: The person's request.
            folder: The agent's folder, where both files are written.

        Raises:
            CommandError: `cannot_export_test`.
        """
        words = [command.run, f"--data={self._folder}", "--pytest", f"--output={command.file}"]
        words += [f"--agent={command.agent}", *(f"--arg={each}" for each in command.args)]
        words += ["--force"] if command.replaces else []
        async with self._lock:
            try:
                failure = await asyncio.to_thread(self._execute, ["export", *words], folder)
            except OSError as error:
                failure = f"No program starts: {error}."
        if failure is not None:
            raise CommandError("cannot_export_test", failure, command.run)
        return str(Path(folder) / command.file)

    def _execute(self, words: list[str], folder: str) -> str | None:
        """Execute the program to its end; why it failed, None: it didn't."""
        descriptor, path = tempfile.mkstemp(prefix="agentstepper-export-", suffix=".log")
        try:
            with self._starter.spawn(words, descriptor, folder) as process:
                try:
                    code = process.wait(self._timeout_s)
                except subprocess.TimeoutExpired:
                    with suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGKILL)
                    return TIMED_OUT.format(seconds=self._timeout_s)
            if code == 0:
                return None
            said = read_output_tail(Path(path)) or "It printed nothing."
            *_, reason = said.rpartition("agentstepper export: ")
            return reason
        finally:
            os.close(descriptor)
            Path(path).unlink()
