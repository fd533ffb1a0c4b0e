"""`agentstepper code` for tests: a model that does what the prompt says, and runs between pipes."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Final

import pytest

from agentstepper_nb.cli import main

#: Does what the prompt says.
SCRIPT: Final = """\
from agentstepper_nb.models.scripted import *

def run(request):
    words = [message.text for message in request.messages if message.role == "user"][-1].split()
    return ScriptedCall("run_command", {"command": " ".join(words[1:])})

done = where("done", lambda request: request.messages[-1].role == "tool")
script = Script("obey", [
    ScriptRule(last_says("^hold"), say("Wait for me."), fault=PauseFault("gate", pieces_sent=2)),
    ScriptRule(done & tool_says("run_command", "denied"), say("Then I won't.")),
    ScriptRule(done, say("I did it.")),
    ScriptRule(last_says("^run "), run),
    ScriptRule(last_says("^again"), ScriptedCall("git_status", {})),
    ScriptRule(last_says("^fail"), say("Never said."), fault=ErrorFault(status=401, times=None)),
    ScriptRule(always, lambda request: say(f"You said {len(request.messages) - 1} things.")),
])
"""


def make_code_folder(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The workspace of a session whose model is the script; it becomes the current folder."""
    (home / "script.py").write_text(SCRIPT)
    (home / "repo" / "build").mkdir(parents=True)
    monkeypatch.setenv("AGENTSTEPPER_PROVIDER", "scripted")
    monkeypatch.setenv("AGENTSTEPPER_MODEL", str(home / "script.py"))
    monkeypatch.delenv("EDITOR", raising=False)
    monkeypatch.chdir(home / "repo")
    return home / "repo"


class PipedCommand:
    """Runs it in this process, between pipes."""

    def __init__(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self._capsys = capsys
        self._monkeypatch = monkeypatch

    def __call__(self, *arguments: str, given: bytes = b"") -> tuple[int, str, str]:
        """Give it arguments and input; its exit code, output and error output."""
        stdin = io.TextIOWrapper(io.BytesIO(given), encoding="utf-8")
        self._monkeypatch.setattr(sys, "stdin", stdin)
        code = main(["code", *arguments])
        said = self._capsys.readouterr()
        return code, said.out, said.err
