"""`agentstepper doctor`, as a shell and a program call it."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from agentstepper_nb.cli import main
from agentstepper_nb.store.folder_lock import lock_folder
from tests.helpers.damaged_folders import build
from tests.helpers.forked_python import run_python, start_python

from .conftest import COMMAND, ServeProcess

Examine = Callable[..., subprocess.CompletedProcess[str]]


def examined(*arguments: str) -> subprocess.CompletedProcess[str]:
    """What a process of its own says."""
    return run_python([*COMMAND, "doctor", *arguments])


@pytest.fixture
def examine(
    capsys: pytest.CaptureFixture[str],
) -> Examine:
    """Examines in this process, which takes a fraction of the time."""

    def examine(*arguments: str) -> subprocess.CompletedProcess[str]:
        code = main(["doctor", *arguments])
        return subprocess.CompletedProcess(arguments, code, *capsys.readouterr())

    return examine


@pytest.mark.slow
def test_what_it_says_about_a_core_that_serves(serve: Callable[..., ServeProcess]) -> None:
    served = serve("--token", "secret-of-the-core")
    found = examined()
    assert f"✓ agentstepper serve at {served.agents} (pid {served.process.pid}, " in found.stdout
    assert f"✓ An agent here connects to {served.agents}: no other Core" in found.stdout
    assert found.stdout.endswith("Nothing is wrong.\n")
    assert (found.returncode, found.stderr) == (0, "")
    assert "secret-of-the-core" not in found.stdout
    assert "of " not in served.stop().replace("agents: ", "")  # no run, and nothing to complain of


def test_what_is_wrong_is_the_exit_code(examine: Examine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTSTEPPER_URL", "ws://127.0.0.1:9")
    found = examine("--json")
    document = json.loads(found.stdout)
    assert found.returncode == 1
    assert document["well"] is False
    (wrong,) = [each for each in document["findings"] if each["sign"] == "wrong"]
    assert wrong["about"] == "choice"
    assert "No Core listens at ws://127.0.0.1:9" in wrong["text"]
    assert "Unset AGENTSTEPPER_URL" in wrong["advice"]


def test_without_a_core_nothing_is_wrong(examine: Examine) -> None:
    found = examine()
    assert "! No Core runs" in found.stdout
    assert (found.returncode, found.stderr) == (0, "")


# ---- the runs that are kept -------------------------------------------------------------------------


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with five runs, of which nobody is the owner."""
    return build(tmp_path / "built", emptied=True).write_to(tmp_path / "data")


def hurt(data: Path) -> None:
    with contextlib.closing(sqlite3.connect(data / "store.sqlite")) as connection, connection:
        connection.execute("UPDATE notes SET body = '{}' WHERE n = 1")


@pytest.mark.slow
def test_a_folder_of_runs_that_is_well(examine: Examine, data: Path) -> None:
    found = examine("--data", str(data))
    assert f"✓ {data} holds 5 runs in a store of version" in found.stdout
    assert found.stdout.endswith("Nothing is wrong.\n")
    assert (found.returncode, found.stderr) == (0, "")
    assert "Core" not in found.stdout  # nothing else is looked at


@pytest.mark.slow
def test_a_hurt_run_is_named_and_repaired(examine: Examine, data: Path) -> None:
    hurt(data)
    found = examine("--data", str(data), "--json")
    document = json.loads(found.stdout)
    (wrong,) = [each for each in document["findings"] if each["sign"] == "wrong"]
    assert (found.returncode, document["well"], wrong["about"]) == (1, False, "run")
    assert "'Run #1 of P' (0196f5c4-0000-7000-8000-00000000000a)" in wrong["text"]
    assert f"agentstepper doctor --data {data} --repair" in wrong["advice"]

    repaired = examine("--data", str(data), "--repair")
    assert (
        "✓ Run 'Run #1 of P' (0196f5c4-0000-7000-8000-00000000000a) is restored" in repaired.stdout
    )
    assert "✓ 4 runs are restored whole from " in repaired.stdout
    assert repaired.stdout.endswith("Nothing is wrong.\n")
    assert repaired.returncode == 0
    assert examine("--data", str(data)).returncode == 0


@pytest.mark.slow
def test_a_folder_in_use_is_looked_at_and_not_repaired(data: Path) -> None:
    hurt(data)
    with lock_folder(data, "agentstepper serve"):
        found = examined("--data", str(data))
        assert "belongs to agentstepper serve (pid " in found.stdout
        assert found.returncode == 1
        refused = examined("--data", str(data), "--repair")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr.startswith(f"agentstepper: The runs in {data} belong to agentstepper ser")


def test_the_default_folder_is_repaired_where_none_is_named(
    examine: Examine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path))
    built = build(tmp_path / "built", emptied=True)
    built.write_to(tmp_path / "agentstepper")
    found = examine("--repair")
    assert f"{tmp_path / 'agentstepper'} holds 5 runs" in found.stdout
    assert found.returncode == 0


@pytest.mark.slow
def test_who_reads_may_go(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    command = [*COMMAND, "doctor", "--data", str(tmp_path)]
    try:
        with start_python(command, stdout=write, stderr=subprocess.PIPE, text=True) as left:
            _, error = left.communicate()
    finally:
        os.close(write)
    assert (left.returncode, error) == (1, "")
