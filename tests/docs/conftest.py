"""Processes as a reader of the docs starts them, in a home of their own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import pexpect
import pytest

from tests.docs.pages import ROOT

#: Seconds that a process has to do what is waited for.
PATIENCE: Final = 40

Environment = dict[str, str]
Serve = Callable[..., "Served"]


def stranger(home: Path, **variables: str) -> Environment:
    """The environment of somebody who has nothing of ours but the package.

    Args:
        home: Their home.
        variables: What they set themselves.
    """
    own = {
        "HOME": str(home),
        "JUPYTER_CONFIG_DIR": str(home / "jupyter" / "config"),
        "JUPYTER_DATA_DIR": str(home / "jupyter" / "data"),
        "JUPYTER_RUNTIME_DIR": str(home / "jupyter" / "runtime"),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "PYTHONPATH": str(ROOT),
        "TERM": "xterm",
    }
    kept = {name: os.environ[name] for name in ("LANG", "TMPDIR") if name in os.environ}
    return kept | own | variables


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A reader's home, empty."""
    home = tmp_path / "home"
    home.mkdir()
    return home


class Served:
    """`agentstepper serve`, on free ports.

    Args:
        lines: As a page prints them; the last one is the command.
        environment: Its environment.
    """

    def __init__(self, lines: str, environment: Environment) -> None:
        *before, command = lines.strip().splitlines()
        self.process = subprocess.Popen(
            "\n".join([*before, f"exec {command} --client-port 0 --ui-port 0"]),
            shell=True,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout
        self.agents = self._url(self.process.stdout.readline())
        self.uis = self._url(self.process.stdout.readline())

    def _url(self, line: str) -> str:
        found = re.search(r"ws://\S+", line)
        if not found:
            raise AssertionError(f"{line!r}, {self.process.communicate()}")
        return found[0]

    def stop(self) -> str:
        """End it; what it wrote on its error output."""
        self.process.terminate()
        _, errors = self.process.communicate(timeout=PATIENCE)
        return errors


@pytest.fixture
def serve(home: Path) -> Iterator[Serve]:
    """Start a Core as a page says."""
    with ExitStack() as stack:

        def start(lines: str = "agentstepper serve", **variables: str) -> Served:
            served = Served(lines, stranger(home, **variables))
            stack.callback(lambda: served.process.poll() is None and served.stop())
            return served

        yield start


def shell(command: str, environment: Environment, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        command,
        shell=True,
        env=environment,
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


@contextmanager
def terminal(command: str, environment: Environment, cwd: Path) -> Iterator[pexpect.spawn]:
    """A command in a terminal of its own."""
    child = pexpect.spawn(
        "/bin/sh",
        ["-c", f"exec {command}"],
        env=environment,
        cwd=str(cwd),
        encoding="utf-8",
        timeout=PATIENCE,
        dimensions=(50, 200),
    )
    child.delaybeforesend = None
    try:
        yield child
    finally:
        child.close(force=True)


def type_steps(view: pexpect.spawn, breakpoints: int) -> None:
    """Step with the keyboard, at each halt."""
    for _ in range(breakpoints):
        view.expect_exact("[s]tep [c]ontinue")
        view.sendline("s")
