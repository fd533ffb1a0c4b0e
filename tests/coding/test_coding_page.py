"""`docs/guide/coding.md`: its program runs as it is printed, and its table of options is whole."""

from __future__ import annotations

import argparse
import os
import re
import runpy
import sys
from pathlib import Path

import pytest

from agentstepper_nb.cli.agent_command_arguments import add_code_command
from tests.docs.pages import GUIDE, write_files

PAGE = GUIDE / "coding.md"
SCRIPT = """\
from agentstepper_nb.models.scripted import *

script = Script("tidy", [
    ScriptRule(turn(0), ScriptedCall("run_command", {"command": "rm -rf build"})),
    ScriptRule(tool_says("run_command", "Not today"), say("I leave it.")),
])
"""


def test_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_files(PAGE, tmp_path)
    (tmp_path / "tidy.py").write_text(SCRIPT)
    (tmp_path / "build").mkdir()
    for name in [name for name in os.environ if "AGENTSTEPPER" in name]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["mend.py", "scripted", "tidy.py", "Clean up."])
    runpy.run_path("mend.py", run_name="__main__")
    assert capsys.readouterr() == ("done I leave it.\n", "")
    assert (tmp_path / "build").is_dir()
    assert len(list((tmp_path / ".coding" / "coding" / "sessions").iterdir())) == 1


def test_each_option_is_on_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    commands = argparse.ArgumentParser().add_subparsers()
    add_code_command(commands)
    commands.choices["code"].print_help()
    options = set(re.findall(r"--[a-z-]+", capsys.readouterr().out)) - {"--help"}
    assert options <= set(re.findall(r"--[a-z-]+", PAGE.read_text()))
