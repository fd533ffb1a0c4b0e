"""Ways around the sandbox: a table of commands, each really run, and what it reached outside."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from agentstepper_nb.coding.policy import DefaultPolicyEngine, PolicyDecision
from agentstepper_nb.coding.sandbox import SandboxChoice
from agentstepper_nb.coding.tools.run_command import RunCommand
from agentstepper_nb.coding.workspace import LocalWorkspace
from tests.coding.sandbox.scenes import ROOT, ordinary_python
from tests.coding.sandbox.without_userns import without_userns

from .attempts import ROWS, reaches, sampled

#: Processes that share the rows, and rows that share a run in a sandbox.
PARTS: Final = 2
BATCH: Final = 24
#: One row of so many of a kind is in each run of the tests; `make soak` has them all.
EVERY: Final = 64
_NOBODY: Final = 65534


class AttemptUser:
    """Somebody who runs the table.

    Args:
        python: The start of a command: the interpreter, as that user.
        environment: What that user's shell has.
    """

    def __init__(self, python: list[str], environment: Mapping[str, str]) -> None:
        self.python = python
        self.environment = dict(environment)

    def run_attempts(
        self, choice: SandboxChoice, *, machine: list[str] | None = None, every: int = 1
    ) -> dict[str, Any]:
        """Run the table in a sandbox; gives the sandbox's name, its limits and what rows reached.

        Args:
            choice: The sandbox.
            machine: A command that runs another one on a machine that lacks something.
            every: See `sampled`.
        """
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
            Path(name).chmod(0o777)
            count = PARTS if every == 1 else 1  # few rows take less than a second process
            parts = [
                self._part(Path(name), choice, number, count, machine, every)
                for number in range(count)
            ]
            said = [json.loads(part.communicate()[0]) for part in parts]
            subprocess.run([*self.python, "-c", _REMOVE, name], check=False)
        assert {part.returncode for part in parts} == {0}
        together: dict[str, Any] = said[0]
        for each in said[1:]:
            together["rows"] |= each["rows"]
        return together

    def _part(
        self,
        folder: Path,
        choice: str,
        number: int,
        count: int,
        machine: list[str] | None,
        every: int,
    ) -> subprocess.Popen[str]:
        words = [
            "-m",
            "tests.coding.sandbox.escape_attempts.run",
            choice,
            str(folder / f"stage{number}"),
        ]
        return subprocess.Popen(
            [*(machine or []), *self.python, *words, *map(str, (number, count, BATCH, every))],
            cwd=ROOT,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )


_REMOVE: Final = "import shutil, sys; shutil.rmtree(sys.argv[1], ignore_errors=True)"


@pytest.fixture
def me() -> AttemptUser:
    """Who runs the tests."""
    return AttemptUser([sys.executable], os.environ)


@pytest.fixture
def nobody() -> AttemptUser:
    """A user without rights, by a Python that is for everybody."""
    if os.getuid() != 0:
        pytest.skip("Only root can run a program as another user.")
    packages = [path for path in sys.path if path.endswith("site-packages")]
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": os.pathsep.join([str(ROOT), *packages])}
    return AttemptUser(ordinary_python(), {**environment, "LANG": "C.UTF-8"})


def check(said: dict[str, Any], sandbox: str, every: int = 1) -> None:
    """Compare what rows reached with what they are known to reach."""
    assert said["sandbox"] == sandbox
    found = {command: set(row["reached"]) for command, row in said["rows"].items()}
    known = {row.command: reaches(sandbox, said["limits"], row) for row in sampled(every)}
    assert found.keys() == known.keys()
    differs = {
        command: (sorted(found[command]), sorted(known[command]), said["rows"][command]["output"])
        for command in found
        if found[command] != known[command]
    }
    assert not differs, json.dumps(differs, indent=1)


def test_the_table_has_no_command_twice() -> None:
    assert len(ROWS) > 400
    assert len({row.command for row in ROWS}) == len(ROWS)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="The table names files and calls of Linux.")
@pytest.mark.timeout(400)
def test_rows_of_each_kind_in_the_best_sandbox(me: AttemptUser) -> None:
    check(me.run_attempts("auto", every=EVERY), "bubblewrap", EVERY)


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_the_whole_table_in_the_best_sandbox(me: AttemptUser) -> None:
    check(me.run_attempts("auto"), "bubblewrap")


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("sandbox", ["bubblewrap", "landlock"])
def test_the_whole_table_as_an_ordinary_user(nobody: AttemptUser, sandbox: SandboxChoice) -> None:
    check(nobody.run_attempts(sandbox), sandbox)


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_the_whole_table_where_user_namespaces_are_refused(me: AttemptUser) -> None:
    check(me.run_attempts("auto", machine=without_userns()), "landlock")


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[LocalWorkspace]:
    (tmp_path / "repo").mkdir()
    workspace = LocalWorkspace(tmp_path / "repo")
    yield workspace
    workspace.close()


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_without_a_sandbox_each_row_asks(workspace: LocalWorkspace) -> None:
    """Nothing is run: without a sandbox a person's answer is what protects."""
    engine = DefaultPolicyEngine(workspace=workspace, is_confined=False)
    names = (
        "OUT",
        "PERSON",
        "DATA",
        "RUNTIME",
        "STAGE",
        "PYTHON",
        "BIN",
        "SOCK",
        "ABSTRACT",
        "MARK",
    )
    stand_ins = {f"@{name}@": f"{workspace.root.parent}/{name.lower()}" for name in names}
    stand_ins |= {f"@{name}@": "4242" for name in ("PORT", "UDP", "VICTIM", "AGENT")}

    async def decided(command: str) -> PolicyDecision:
        for name, value in stand_ins.items():
            command = command.replace(name, value)
        args = json.dumps({"command": command, "shell": True})
        return (await engine.evaluate(RunCommand(shell=True), args)).decision

    async def passing() -> set[str]:
        allowed = PolicyDecision.ALLOWED
        return {row.command for row in ROWS if await decided(row.command) is allowed}

    assert asyncio.run(passing()) == set()
