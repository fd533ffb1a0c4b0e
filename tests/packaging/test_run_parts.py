"""The script that runs the parts of `make test`: one after another, or two beside each other."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts" / "run_parts.sh"
#: Neither of the first two ends before the other has begun.
MAKEFILE = """
reader writer: | pipe
reader: ; @cat pipe
writer: ; @echo words > pipe; echo written
pipe: ; @mkfifo pipe
broken: ; @echo broken here; false
fine: ; @echo fine here
"""


def run_parts(folder: Path, *groups: str) -> tuple[int, str]:
    """Run groups of parts of the Makefile above; the exit code, and all that is printed."""
    (folder / "Makefile").write_text(MAKEFILE)
    subprocess.run(["make", "pipe"], cwd=folder, check=True)
    ended = subprocess.run(
        [SCRIPT, *groups],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return ended.returncode, ended.stdout


def test_two_are_run_at_once_and_printed_one_after_the_other(tmp_path: Path) -> None:
    code, printed = run_parts(tmp_path, "reader+writer", "fine")
    assert code == 0
    assert re.findall(r"^(?:=.*|\w+)$", printed, re.M) == [
        "===== reader",
        "words",
        "===== writer",
        "written",
        "===== fine",
        "===== parts",
    ]


def test_one_after_another_beside_a_third(tmp_path: Path) -> None:
    code, printed = run_parts(tmp_path, "reader+fine,writer")
    assert code == 0
    assert re.findall(r"^(?:=.*|\w+)$", printed, re.M) == [
        "===== reader",
        "words",
        "===== fine",
        "===== writer",
        "written",
        "===== parts",
    ]


def test_all_are_run_whichever_fails(tmp_path: Path) -> None:
    code, printed = run_parts(tmp_path, "fine+broken,fine", "broken", "fine")
    assert code == 1
    assert printed.count("broken here") == 2
    assert len(re.findall(r"^broken +FAILED +\d+ s$", printed, re.M)) == 2
    assert len(re.findall(r"^fine +passed +\d+ s$", printed, re.M)) == 3
    assert printed.endswith("Failed: broken broken\n")
