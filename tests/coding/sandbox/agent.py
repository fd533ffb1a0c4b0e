"""An agent that starts a command and waits for it: a process that tests kill.

`python -m tests.coding.sandbox.agent SANDBOX WORKSPACE WORD…` is one of any user, and prints the process
id of the launcher.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Self

from tests.coding.sandbox.scenes import access_to, make_sandbox


class ForkedAgent:
    """An agent in a process that is forked from this one, which has imported what it needs.

    Args:
        sandbox: The sandbox's name.
        workspace: The workspace, in which the command runs.
        words: The command.

    Attributes:
        pid: Its process.
        launcher_pid: The process that the command was started by.
    """

    def __init__(self, sandbox: str, workspace: Path, *words: str) -> None:
        read, write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                _run_command(sandbox, workspace, words, write)
            except BaseException:
                # `os._exit` leaves without printing what ended the agent.
                traceback.print_exc()
            finally:
                os._exit(1)
        os.close(write)
        with os.fdopen(read) as pipe:
            self.launcher_pid = int(pipe.readline())
        self._has_ended = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def kill(self) -> None:
        """Kill the agent, if it lives, and wait for its end."""
        if not self._has_ended:
            self._has_ended = True
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)


def _run_command(sandbox: str, root: Path, words: tuple[str, ...], told: int) -> None:
    with make_sandbox(sandbox).prepare_command(words, root, access_to(root)) as launch:
        process = subprocess.Popen(
            launch.argv, cwd=root, env=launch.env, pass_fds=launch.pass_fds, start_new_session=True
        )
        os.write(told, b"%d\n" % process.pid)
        os.close(told)
        process.wait()


if __name__ == "__main__":
    name, workspace, *command = sys.argv[1:]
    _run_command(name, Path(workspace), tuple(command), sys.stdout.fileno())
