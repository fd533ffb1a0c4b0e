"""An agent that tells its own file what it got at each halt point, synced, before it goes on.

    python -m tests.crash_recovery.agent NAME JOURNAL ENOUGH

The journal is what the Core is judged by: it was written where no Core could lose it. The agent ends
once there is a file ENOUGH.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
from typing import Any

from agentstepper_nb import AgentStepper


class JournalFile:
    """One line a halt point that was passed."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def write(self, *what: Any) -> None:
        os.write(self._file, json.dumps(what).encode() + b"\n")
        os.fdatasync(self._file)


def main(name: str, path: str, enough: str) -> None:
    journal = JournalFile(path)
    with AgentStepper(name) as dbg:
        journal.write("run", dbg.run_id)
        messages: list[Any] = []
        for number in itertools.count():
            if os.path.exists(enough):
                break
            messages.append({"role": "user", "content": f"question {number} of {name}"})
            with dbg.llm({"model": "none", "messages": messages[-20:]}) as query:
                journal.write(number, "prompt", query.prompt)
                query.response = f"answer {number}"
            journal.write(number, "response", query.response)
            with dbg.tool("work", {"number": number}) as tool:
                journal.write(number, "args", tool.args)
                tool.result = {"did": number}
            journal.write(number, "result", tool.result)
    journal.write("end")


if __name__ == "__main__":
    main(*sys.argv[1:])
