"""`agentstepper serve` in a process of its own, found by what it says."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

from tests.helpers.forked_python import start_python

#: Seconds that it may take to end.
TIMEOUT_S = 60


class ServeExitedError(AssertionError):
    """It was killed before it said where it is."""


class ServeProcess:
    """A Core in a process.

    Args:
        command: A program and its arguments, or lines for a shell.
        environment: Its environment; this process's where none is given.
        stderr: Where its error output goes: a pipe that `stop` reads; None: where this process's does.
        is_forked: Whether it is forked from a process with its imports, where nothing is measured.

    Attributes:
        agents: Where agents reach it.
        uis: Where UIs do.
    """

    def __init__(
        self,
        command: str | Sequence[str],
        environment: Mapping[str, str] | None = None,
        stderr: int | None = subprocess.PIPE,
        *,
        is_forked: bool = False,
    ) -> None:
        streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": stderr, "text": True}
        self.process: subprocess.Popen[str] = (
            subprocess.Popen(command, shell=True, env=environment, **streams)
            if isinstance(command, str)
            else (start_python if is_forked else subprocess.Popen)(
                command, env=environment, **streams
            )
        )
        assert self.process.stdout
        self.agents = self._url(self.process.stdout.readline())
        self.uis = self._url(self.process.stdout.readline())

    def _url(self, line: str) -> str:
        found = re.search(r"wss?://\S+", line)
        if not found:
            said = self.process.communicate()
            kind = (
                ServeExitedError if self.process.returncode == -signal.SIGKILL else AssertionError
            )
            raise kind(f"{line!r}, {said}")
        return found[0]

    def stop(self, number: int = signal.SIGINT) -> str:
        """Send a signal; gives what it wrote on its error output, where that is a pipe."""
        self.process.send_signal(number)
        rest, errors = self.process.communicate(timeout=TIMEOUT_S)
        assert rest == ""
        return errors or ""
