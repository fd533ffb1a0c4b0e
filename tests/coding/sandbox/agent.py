"""An agent that starts a command and waits for it: a program that tests kill.

`python agent.py SANDBOX WORKSPACE WORD…`; the process id of the launcher is printed.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.coding.sandbox.scenes import access_to, make_sandbox


def main() -> None:
    name, workspace, *words = sys.argv[1:]
    root = Path(workspace)
    with make_sandbox(name).prepare_command(words, root, access_to(root)) as launch:
        process = subprocess.Popen(
            launch.argv, cwd=root, env=launch.env, pass_fds=launch.pass_fds, start_new_session=True
        )
        print(process.pid, flush=True)
        process.wait()


if __name__ == "__main__":
    main()
