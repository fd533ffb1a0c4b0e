"""Types of msgspec are first used in several threads at once."""

from __future__ import annotations

import subprocess
import sys

import pytest

#: Four threads use the type at once, in forks that have not used it yet. Printed: how the forks ended.
_FIRST_USES = """
import os
import sys
import threading

from agentstepper_nb import typed_json
from agentstepper_nb.protocol.runtime import AgentState

sys.setswitchinterval(1e-6)
STATE = {
    "agent_id": "a", "session_id": "s", "moniker": "m", "created_at": 1.0, "updated_at": 1.0,
    "limits": {"retries": 1},
}

def use_type(barrier):
    barrier.wait()
    assert typed_json.USE(STATE, AgentState).limits.retries == 1

codes = []
for _ in range(40):
    if not (child := os.fork()):
        barrier = threading.Barrier(4)
        threads = [threading.Thread(target=use_type, args=(barrier,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        os._exit(0)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(sorted(set(codes)))
"""


@pytest.mark.parametrize("use", ["convert", "decode"])
def test_threads_may_use_a_type_first_at_once(use: str) -> None:
    program = _FIRST_USES.replace("USE", use)
    if use == "decode":
        program = program.replace("STATE, ", "json.dumps(STATE), ").replace(
            "import os", "import json, os", 1
        )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=100
    )
    assert done.stdout.strip() == "[0]"
