"""The same agent in a process of its own, started from a cell: with the edit green, without it red."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from agentstepper_nb.models.scripted.scripts.fix_tests import GUESSED_LINE, RIGHT_LINE

from .conftest import NewLab
from .jupyter import ROOT, Jupyter
from .lab import DebuggerView, Lab
from .test_step_in_jupyterlab import edit_json

PROGRAM = ROOT / "examples" / "fix_tests.py"

CELL = """
import subprocess, sys
import fix_tests as agent
from pathlib import Path
%load_ext agentstepper_nb
%agentstepper
folder = agent.prepare(Path({folder!r}))
print("exit code", subprocess.run([sys.executable, {program!r}, str(folder), "--offline"]).returncode)
"""


def started(new_lab: NewLab, folder: Path) -> tuple[Lab, DebuggerView]:
    """A notebook whose kernel waits for the agent's process, which halts at its start."""
    lab = new_lab([CELL.format(folder=str(folder), program=str(PROGRAM))])
    lab.run(0)
    view = lab.view(0)
    view.expect_state("Halted at the start", timeout=60_000)
    return lab, view


@pytest.mark.soak  # test_tutorial has a process of its own, test_corridor the edit
@pytest.mark.parametrize("edited", [True, False], ids=["edited", "unedited"])
def test_the_edit_makes_the_difference(new_lab: NewLab, jupyter: Jupyter, edited: bool) -> None:
    folder = jupyter.folder / f"process-{edited}"
    lab, view = started(new_lab, folder)
    if edited:
        view.step_to("Agent → Tools write_file")
        edit_json(view, GUESSED_LINE, RIGHT_LINE)
        view.press("Step with edit")
        view.expect_state("Halted after tool call")
    view.press("Continue")
    view.expect_state("Finished" if edited else "Gave up")  # by its last words
    expect(lab.outputs(0)).to_contain_text(f"exit code {0 if edited else 1}", timeout=30_000)
    assert (RIGHT_LINE if edited else GUESSED_LINE) in (folder / "cart.py").read_text()
    assert lab.errors == []
