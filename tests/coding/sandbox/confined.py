"""Runs commands in a sandbox: a program, so that tests may run it as any user.

It reads JSON, `{"sandbox": NAME, "access": {…}, "commands": [TEXT…]}`, and prints a list of exit codes
and outputs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from agentstepper_nb.coding.sandbox import Access
from tests.coding.sandbox.made import sandbox_named


def access(given: dict[str, Any]) -> Access:
    """Access, from JSON."""
    made: dict[str, Any] = {}
    for name, value in given.items():
        if isinstance(value, list):
            made[name] = tuple(map(Path, value))
        else:
            made[name] = Path(value) if isinstance(value, str) else value
    return Access(**made)


def main() -> None:
    asked = json.load(sys.stdin)
    sandbox = sandbox_named(asked["sandbox"])
    allowed, done = access(asked["access"]), []
    for text in asked["commands"]:
        with sandbox.command(["/bin/sh", "-c", text], allowed.workspace, allowed) as launch:
            ran = subprocess.run(
                launch.argv,
                cwd=allowed.workspace,
                env=launch.env,
                pass_fds=launch.pass_fds,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
        done.append([ran.returncode, ran.stdout.decode("utf-8", "replace")])
    json.dump(done, sys.stdout)


if __name__ == "__main__":
    os.umask(0o022)
    main()
