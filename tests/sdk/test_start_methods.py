"""What runs say of how they were started: real children under a real Core."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentstepper_nb import AgentStepper, AgentStepperCore, discover
from agentstepper_nb.history import load_run
from agentstepper_nb.protocol.start_methods import CommandStart
from agentstepper_nb.sdk import start_methods
from tests.helpers.core_announcement import announce_core

#: Opens two runs, one after the other, and starts a program in between.
AGENT = """
import os, subprocess, sys
from agentstepper_nb import AgentStepper
for name in ("first", "second"):
    with AgentStepper(name, stop_on_entry=False, mode="continue"):
        pass
    assert "AGENTSTEPPER_START" not in os.environ
grandchild = "from agentstepper_nb import AgentStepper\\n"
grandchild += "AgentStepper('grandchild', stop_on_entry=False, mode='continue').close()"
subprocess.run([sys.executable, "-c", grandchild], check=True)
"""
SECRET = "of-great-value-1234"


@pytest.fixture
def core(tmp_path: Path) -> Iterator[AgentStepperCore]:
    """A Core that keeps its runs in a folder."""
    with AgentStepperCore("127.0.0.1", 0, 0, data=tmp_path / "runs") as core:
        file = announce_core(core)
        yield core
        discover.remove_core_info(file)


@pytest.mark.slow
def test_a_spawned_child(
    core: AgentStepperCore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_TOKEN", SECRET)
    script = tmp_path / "agent.py"
    script.write_text(AGENT)
    argv = [sys.executable, str(script), f"--token={SECRET}"]
    with AgentStepper("parent", stop_on_entry=False, mode="continue") as dbg:
        assert dbg.spawn(argv, cwd=tmp_path, env={"MINE": "not for others"}).wait() == 0
    start = load_run("Run #1 of first", tmp_path / "runs").start_method()
    assert start == CommandStart(
        argv=(sys.executable, str(script), "--token=[masked SOME_TOKEN]"),
        folder=str(tmp_path),
        variables=("MINE",),
        masked=(2,),
    )
    assert load_run("Run #1 of second", tmp_path / "runs").start_method() == start
    for name in ("parent", "grandchild"):
        assert load_run(f"Run #1 of {name}", tmp_path / "runs").start_method() is None
    stored = b"".join(each.read_bytes() for each in (tmp_path / "runs").iterdir() if each.is_file())
    assert b"not for others" not in stored
    assert SECRET.encode() not in stored


def test_the_next_start_is_the_next_runs() -> None:
    start = start_methods.make_cell_start("x = 1", "name")
    start_methods.set_next_start(start)
    assert start_methods.take_start() == start
    assert start_methods.take_start() is None
    start_methods.set_next_start(start)()  # taken back
    assert start_methods.take_start() is None


def test_secrets_of_a_cell_are_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", SECRET)
    start = start_methods.make_cell_start(f"key = {SECRET!r}", "")
    assert start is not None
    assert (start.source, start.is_masked) == ("key = '[masked SOME_KEY]'", True)
    plain = start_methods.make_cell_start("x = 1", "a b")
    assert plain is not None
    assert (plain.line, plain.is_masked) == ("a b", False)


def test_what_is_too_long_is_not_recorded() -> None:
    assert start_methods.make_cell_start("x" * 1_000_001, "") is None
    long = start_methods.make_command_start(["x" * 100_000], None, ())
    assert start_methods.put_start({"A": "1", "AGENTSTEPPER_START": "old"}, long) == {"A": "1"}


def test_somebody_elses_variable_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTSTEPPER_START", "yesterday")
    assert start_methods.take_start() is None
    assert "AGENTSTEPPER_START" not in os.environ


def test_variables_of_a_session_are_no_agents() -> None:
    environment = {"MY_MODE": "1", "PATH": "/bin", "XDG_SEAT": "0", "AGENTSTEPPER_URL": "u"}
    assert start_methods.list_own_variables(environment) == ["MY_MODE"]
