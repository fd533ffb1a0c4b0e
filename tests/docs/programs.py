"""Programs of the pages, each in a process that is forked from one that has imported what they need.

A process that is started anew imports for longer than most of these programs run.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.helpers.forked_python import TOP_LEVEL_AWAIT, ForkedPopen, fork_programs


class ForkedPrograms:
    """Runs programs, one after another, whose top level may await.

    Args:
        timeout_s: How long a program may take, in seconds.
    """

    def __init__(self, timeout_s: int) -> None:
        self._timeout_s = timeout_s

    def run(
        self, command: str, environment: Mapping[str, str], cwd: Path, *imported: str
    ) -> subprocess.CompletedProcess[str]:
        """Run `python` or `agentstepper` with arguments, as a page prints it, to its end.

        Args:
            command: The line of the page.
            environment: All of its environment.
            cwd: The folder that it runs in.
            imported: What is imported before, for this program and all that follow.
        """
        with self.start(command, environment, cwd, *imported) as process:
            try:
                out, errors = process.communicate(timeout=self._timeout_s)
            except BaseException:
                process.kill()
                raise
        return subprocess.CompletedProcess(command, process.returncode, out, errors)

    def start(
        self, command: str, environment: Mapping[str, str], cwd: Path, *imported: str
    ) -> subprocess.Popen[str]:
        """Start a program whose input, output and errors are pipes; the arguments are those of `run`."""
        python, *arguments = split_command(command)
        with fork_programs(*imported):
            return ForkedPopen(
                [python, TOP_LEVEL_AWAIT, *arguments],
                env=environment,
                cwd=cwd,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )


def split_command(line: str) -> list[str]:
    """The words of a line with `python` or `agentstepper`: this interpreter and its arguments."""
    called, *arguments = shlex.split(line)
    if called == "agentstepper":
        return [sys.executable, str(Path(sys.executable).with_name(called)), *arguments]
    assert called == "python"
    return [sys.executable, *arguments]
