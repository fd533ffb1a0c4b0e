"""The README's program works as it stands there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from agentstepper_nb.hub import AgentStepperCore
from notebooks.driver import Driver

README = Path(__file__).resolve().parents[2] / "README.md"


def test_the_example_runs_and_is_stepped(tmp_path: Path) -> None:
    found = re.search(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert found
    lines = [line for line in found[1].splitlines() if line.strip()]
    assert len(lines) <= 20
    program = tmp_path / "agent.py"
    program.write_text(found[1])
    with AgentStepperCore("127.0.0.1", 0, 0) as core:
        driver = Driver(f"ws://127.0.0.1:{core.ui_port}")
        driver.start()
        environment = os.environ | {
            "AGENTSTEPPER_URL": f"ws://127.0.0.1:{core.client_port}",
            "AGENTSTEPPER_TOKEN": core.tokens.agent,
        }
        done = subprocess.run(
            [sys.executable, program], env=environment, capture_output=True, text=True, timeout=60
        )
        driver.stop()
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["You said: Hello", "['a boat']"]
    assert driver.steps == 5  # the start, and both sides of both events
