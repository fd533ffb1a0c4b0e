"""`agentstepper doctor`, as a shell and a program call it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

import pytest

from .conftest import COMMAND, Served


def examined(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, "doctor", *arguments], capture_output=True, text=True)


def test_what_it_says_about_a_core_that_serves(serve: Callable[..., Served]) -> None:
    served = serve("--token", "secret-of-the-core")
    found = examined()
    assert f"✓ agentstepper serve at {served.agents} (pid {served.process.pid}, " in found.stdout
    assert f"✓ An agent here connects to {served.agents}: it is the only one" in found.stdout
    assert found.stdout.endswith("Nothing is wrong.\n")
    assert (found.returncode, found.stderr) == (0, "")
    assert "secret-of-the-core" not in found.stdout
    assert "of " not in served.stop().replace("agents: ", "")  # no run, and nothing to complain of


def test_what_is_wrong_is_the_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTSTEPPER_URL", "ws://127.0.0.1:9")
    found = examined("--json")
    document = json.loads(found.stdout)
    assert found.returncode == 1
    assert document["well"] is False
    (wrong,) = [each for each in document["findings"] if each["sign"] == "wrong"]
    assert wrong["about"] == "choice"
    assert "No Core listens at ws://127.0.0.1:9" in wrong["text"]
    assert "Unset AGENTSTEPPER_URL" in wrong["advice"]


def test_without_a_core_nothing_is_wrong() -> None:
    found = examined()
    assert "! No Core runs" in found.stdout
    assert (found.returncode, found.stderr) == (0, "")
