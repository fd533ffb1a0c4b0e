"""`docs/guide/workers.md`: its program runs as it is printed, and its table has every option."""

from __future__ import annotations

import argparse
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agentstepper_nb import Agents, AgentStepperCore
from agentstepper_nb.cli.worker_arguments import add_worker_command
from tests.docs.conftest import start_worker, stranger
from tests.docs.pages import GUIDE, prose, write_files
from tests.docs.programs import ForkedPrograms

PAGE = GUIDE / "workers.md"
#: Options that the page leaves to `--help`.
LEFT_OUT = {"--data", "--log-level", "--until-eof", "--help"}


@contextmanager
def worker(home: Path, core: AgentStepperCore, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """A worker by hand that has connected."""
    command = " ".join(["agentstepper worker --isolation none", *options])
    with (
        Agents.connect(core.url(core.client_port), core.tokens.control) as agents,
        start_worker(command, stranger(home)) as process,
    ):
        before = agents.status().dispatchers
        while agents.status().dispatchers == before:
            assert process.poll() is None
        yield process
        process.terminate()
        assert process.wait() == 0


@pytest.mark.slow
def test_the_program_says_what_a_session_waits_for(
    home: Path, core: AgentStepperCore, programs: ForkedPrograms
) -> None:
    write_files(PAGE, home)
    with worker(home, core):
        done = programs.run("python needs_a_gpu.py", stranger(home), home)
        assert (done.stdout.strip(), done.stderr) == (
            "1 waits: no worker with the moniker 'joke' has the label 'gpu'",
            "",
        )
        with worker(home, core, "--label", "gpu"):
            done = programs.run("python needs_a_gpu.py", stranger(home), home)
            assert (done.stdout, done.stderr) == ("", "")


def test_every_option_is_on_the_page() -> None:
    commands = argparse.ArgumentParser().add_subparsers()
    add_worker_command(commands)
    options = {
        name
        for action in commands.choices["worker"]._actions
        for name in action.option_strings
        if name.startswith("--")
    }
    assert set(re.findall(r"^\| `(--[a-z-]+)", PAGE.read_text(), re.M)) <= options
    assert {name for name in options - LEFT_OUT if f"`{name}" not in prose(PAGE)} == set()
