"""`docs/guide/coding.md`: its program runs as it is printed, and its table of options is whole."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
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


def test_the_program(tmp_path: Path) -> None:
    write_files(PAGE, tmp_path)
    (tmp_path / "tidy.py").write_text(SCRIPT)
    (tmp_path / "build").mkdir()
    environment = {
        **{name: value for name, value in os.environ.items() if "AGENTSTEPPER" not in name},
        "HOME": str(tmp_path),
        "JUPYTER_RUNTIME_DIR": str(tmp_path / "runtime"),
    }
    done = subprocess.run(
        [sys.executable, "mend.py", "scripted", "tidy.py", "Clean up."],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "done I leave it.\n"
    assert done.stderr == ""
    assert (tmp_path / "build").is_dir()
    assert len(list((tmp_path / ".coding" / "coding" / "sessions").iterdir())) == 1


def test_each_option_is_on_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    commands = argparse.ArgumentParser().add_subparsers()
    add_code_command(commands)
    commands.choices["code"].print_help()
    options = set(re.findall(r"--[a-z-]+", capsys.readouterr().out)) - {"--help"}
    assert options <= set(re.findall(r"--[a-z-]+", PAGE.read_text()))
