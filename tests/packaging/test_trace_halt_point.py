"""The path of one halt point with an edit: it is printed, and gets no longer."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "trace_halt_point.py"
# What it is (64 and 320 once): 35 and 180, and three more where the timer of acknowledgements runs out.
FILES, FUNCTIONS = 35, 183


@pytest.mark.slow
def test_the_path_gets_no_longer() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT)], capture_output=True, text=True, check=True, timeout=60
    )
    figures = re.search(r"^(\d+) files, (\d+) functions$", done.stdout, re.MULTILINE)
    assert figures is not None
    files, functions = map(int, figures.groups())
    assert files <= FILES, done.stdout
    assert functions <= FUNCTIONS, done.stdout
    for passed in ("sdk/halt_flow.py", "hub/run_service.py", "core/debugger.py", "store/memory.py"):
        assert f"{passed} (" in done.stdout
