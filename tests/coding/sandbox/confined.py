"""Runs commands in a sandbox: a program, so that tests may run it as any user.

Of each line that it reads, JSON as `{"sandbox": NAME, "access": {…}, "commands": [TEXT…]}`, it prints a
list of exit codes and outputs, as JSON on a line.
"""

from __future__ import annotations

import json
import os
import sys

from tests.coding.sandbox.scenes import run_commands

if __name__ == "__main__":
    os.umask(0o022)
    for line in sys.stdin:
        print(json.dumps(run_commands(json.loads(line))), flush=True)
