"""Commands on a terminal, and between pipes, as pexpect has them, in processes that are forked."""

from __future__ import annotations

import os
import subprocess
import termios
from collections.abc import Sequence
from typing import Any

import pexpect
from pexpect import popen_spawn
from ptyprocess import PtyProcess
from pytest import MonkeyPatch

from tests.helpers.forked_python import start_python


class TerminalProcess(PtyProcess):  # type: ignore[misc]
    """A process on a terminal, which is no child of this one."""

    def __init__(self, command: Sequence[str], dimensions: tuple[int, int]) -> None:
        terminal, line = os.openpty()
        try:
            termios.tcsetwinsize(line, dimensions)
            self._process = start_python(
                command, stdin=line, stdout=line, stderr=line, start_new_session=True
            )
        finally:
            os.close(line)
        super().__init__(self._process.pid, terminal)

    def wait(self) -> int | None:
        self._process.wait()
        self.isalive()
        code: int | None = self.exitstatus
        return code

    def isalive(self) -> bool:
        code = self._process.wait() if self.flag_eof else self._process.poll()
        if code is not None:
            self.terminated = True
            self.exitstatus: int | None = code if code >= 0 else None
            self.signalstatus: int | None = -code if code < 0 else None
        return code is None


class Terminal(pexpect.spawn):  # type: ignore[misc]
    """`python -m …` on a terminal.

    Args:
        command: This interpreter, and its arguments.
        dimensions: The terminal's lines and columns.
    """

    def __init__(self, command: Sequence[str], dimensions: tuple[int, int] = (50, 200)) -> None:
        self._command = command
        super().__init__(
            command[0], [*command[1:]], encoding="utf-8", timeout=30, dimensions=dimensions
        )
        self.delaybeforesend = None

    def _spawnpty(self, args: Sequence[str], **how: Any) -> TerminalProcess:
        return TerminalProcess(self._command, how["dimensions"])


def spawn_between_pipes(command: Sequence[str]) -> popen_spawn.PopenSpawn:
    """Start `python -m …`, whose outputs are one."""
    with MonkeyPatch.context() as patch:
        patch.setattr(subprocess, "Popen", start_python)
        return popen_spawn.PopenSpawn(
            [*command],
            encoding="utf-8",
            timeout=30,
            env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        )
