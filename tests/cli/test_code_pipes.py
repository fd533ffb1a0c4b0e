"""`agentstepper code` through pipes: what it prints, what it refuses, and its exit codes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agentstepper_nb.hub import AgentStepperCore
from tests.cli.code_command import PipedCommand, make_code_folder
from tests.sdk.person import LiveView


@pytest.fixture(autouse=True)
def folder(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return make_code_folder(home, monkeypatch)


@pytest.fixture
def piped(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> PipedCommand:
    return PipedCommand(capsys, monkeypatch)


def test_a_prompt_through_a_pipe_and_an_approval_that_nobody_can_give(
    folder: Path, piped: PipedCommand
) -> None:
    code, out, _ = piped(given=b"run rm -rf build\n")
    assert code == 0
    assert "Asks for approval: " in out
    assert "denied: The call needs a person's approval, but nobody can be asked" in out
    assert "Then I won't." in out
    assert "\x1b" not in out
    assert (folder / "build").is_dir()


def test_a_prompt_that_is_not_utf_8(piped: PipedCommand) -> None:
    code, out, _ = piped("--yes", given="run echo café".encode("latin-1"))
    assert code == 0
    assert "echo caf\N{REPLACEMENT CHARACTER}" in out


def test_yes_approves(folder: Path, piped: PipedCommand) -> None:
    _, out, _ = piped("run rm -rf build", "--yes")
    assert "I did it." in out
    assert not (folder / "build").exists()


def test_exit_codes(piped: PipedCommand) -> None:
    code, out, _ = piped("fail")
    assert code == 1
    assert "Failed · 1 query" in out
    assert "Error: " in out
    code, out, _ = piped("run true", "--max-iterations", "1")
    assert code == 3
    assert "limit of iterations" in out


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ([], 2, "Say what to do"),
        (["  "], 2, "Say what to do"),
        (["x", "--workspace", "none"], 1, "The workspace .*none can't be used"),
        (["x", "--provider", "nobody"], 1, "There is no provider 'nobody'"),
        (["x", "--model", "nothing"], 1, "nothing"),
        (["x", "--resume"], 1, "There is no session to resume in"),
    ],
)
def test_what_is_wrong_is_said(
    arguments: list[str], code: int, says: str, piped: PipedCommand
) -> None:
    ended, _, error = piped(*arguments)
    assert ended == code
    assert re.search(says, error)


def test_a_folder_that_is_gone(
    folder: Path, piped: PipedCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = folder / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    code, _, error = piped("x")
    assert code == 2
    assert "The current folder no longer exists" in error


def test_a_wrong_number_is_refused(piped: PipedCommand, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        piped("x", "--max-iterations", "0")
    assert "'0' isn't valid: Expected `int` >= 1" in capsys.readouterr().err


def test_a_model_has_to_be_named(monkeypatch: pytest.MonkeyPatch, piped: PipedCommand) -> None:
    monkeypatch.delenv("AGENTSTEPPER_MODEL")
    code, _, error = piped("x")
    assert code == 2
    assert "No model is named: add --model NAME" in error


def test_no_debugger_is_looked_for(
    core: AgentStepperCore, piped: PipedCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTSTEPPER_URL", f"ws://127.0.0.1:{core.client_port}")
    with LiveView(core.ui_port) as person:
        code, out, _ = piped("hello", "--no-debugger")
        assert code == 0
        assert "In the debugger" not in out and "No debugger" not in out
        assert person.runs == {}
