"""`%agentstepper check`: which command is run, and what its time's end leaves."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from IPython.core.error import UsageError

from agentstepper_nb.magics import check_command as magic


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the newest run; nothing is recorded."""
    monkeypatch.setattr(magic, "find_last_run", lambda: ("run", str(tmp_path)))
    monkeypatch.setattr(magic, "find_core", lambda mode: None)
    monkeypatch.setattr(magic, "send_request", lambda request, kind: None)
    return tmp_path


def test_any_space_stands_before_the_command(folder: Path) -> None:
    for line in ("check echo one", "check\techo one", '  check  "echo one" '):
        assert magic.run_check_command(line).startswith("one\n“echo one” passed in ")


def test_a_command_that_takes_too_long_leaves_no_process(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    reader = os.open(folder / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        with pytest.raises(UsageError, match="took longer than"):
            magic.run_check_command("check sleep 300 > pipe; true", timeout_s=0.2)
        os.set_blocking(reader, True)
        assert os.read(reader, 1) == b""  # whoever could write has ended
    finally:
        os.close(reader)
