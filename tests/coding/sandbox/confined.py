"""Runs commands in a sandbox: a program, so that tests may run it as any user.

Of each line that it reads, JSON as `{"sandbox": NAME, "access": {…}, "commands": [TEXT…]}`, it prints a
list of exit codes and outputs, as JSON on a line.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from agentstepper_nb.coding.sandbox import SandboxAccess
from tests.coding.sandbox.sandboxes import make_sandbox, run_in


def access(given: dict[str, Any]) -> SandboxAccess:
    """Access, from JSON."""
    made: dict[str, Any] = {}
    for name, value in given.items():
        if isinstance(value, list):
            made[name] = tuple(map(Path, value))
        else:
            made[name] = Path(value) if isinstance(value, str) else value
    return SandboxAccess(**made)


def ran(asked: dict[str, Any]) -> list[Any]:
    """Run commands; gives an exit code and an output of each."""
    sandbox = make_sandbox(asked["sandbox"])
    allowed = access(asked["access"])
    ended = (run_in(sandbox, ["/bin/sh", "-c", text], allowed) for text in asked["commands"])
    return [[done.returncode, done.stdout] for done in ended]


if __name__ == "__main__":
    os.umask(0o022)
    for line in sys.stdin:
        print(json.dumps(ran(json.loads(line))), flush=True)
