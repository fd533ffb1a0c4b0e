"""Agents in processes of their own: what can't be tried inside the test's."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager

from tests.helpers.forked_python import fork_programs
from tests.sdk.scripted_core import TIMEOUT_S, ScriptedCore

PRELUDE = """
import os, sys
from agentstepper_nb import AgentStepper, AsyncAgentStepper, ConnectionLostError
PORT = int(sys.argv[1])
"""


@contextmanager
def agent(core: ScriptedCore, program: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Run a program; `PORT` is the Core's. It is killed where the test leaves it running."""
    with fork_programs():
        process = subprocess.Popen(
            [sys.executable, "-c", PRELUDE + textwrap.dedent(program), str(core.port), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def outcome(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Wait for a program's end: its code, what it printed, and what it complained of."""
    out, err = process.communicate(timeout=TIMEOUT_S)
    return process.returncode, out, err
