"""Many runs of one process whose Core is killed: none is lost, and no message comes twice."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from agentstepper_nb.protocol.data_model import EventKind, RunEnding
from agentstepper_nb.store.sqlite.reader import StoreReader
from tests.crash_recovery.core_hosts import ServeHost
from tests.crash_recovery.faults import KillPoint

#: Opens so many runs; each line that comes is said by all of them; then all say goodbye.
AGENT = """
import os
import sys
import threading
from agentstepper_nb import AgentStepper


def used():
    return threading.active_count(), len(os.listdir("/proc/self/fd"))


def opened(number):
    return AgentStepper(f"run {number}", stop_on_entry=False, mode="continue")


runs = [opened(0)]
before = used()
runs += [opened(number) for number in range(1, int(sys.argv[1]))]
assert all(now <= then for now, then in zip(used(), before))
print("open", flush=True)
for line in sys.stdin:
    for run in runs:
        run.post_debug_message(line.strip())
    print("said", flush=True)
assert used()[0] <= before[0]
for run in runs:
    run.close()
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts descriptors in /proc")
@pytest.mark.parametrize(
    ("runs", "files"),
    [(60, 48), pytest.param(1000, 256, marks=[pytest.mark.soak, pytest.mark.timeout(600)])],
)
def test_no_run_of_a_process_is_lost_over_a_killed_core(
    tmp_path: Path, runs: int, files: int
) -> None:
    core = ServeHost(tmp_path)
    rounds = ["while the Core is there", "while it is away", "once it is back", "at the end"]
    with core.core(KillPoint.ANYWHERE, 0) as first:
        limited = ["sh", "-c", f'ulimit -n {files}; exec "$@"', "sh"]
        agent = subprocess.Popen(
            [*limited, sys.executable, "-c", AGENT, str(runs)],
            env=core.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert agent.stdin and agent.stdout
        try:
            assert agent.stdout.readline() == "open\n"
            _post_messages(agent, rounds[0])
            first.process.kill()
            _post_messages(agent, rounds[1])
            with core.core(KillPoint.ANYWHERE, 0) as second:
                _post_messages(agent, rounds[2])
                second.process.kill()
                with core.core(KillPoint.ANYWHERE, 0):
                    _, errors = agent.communicate(f"{rounds[3]}\n")
        finally:
            agent.kill()
            agent.communicate()
    assert agent.returncode == 0, errors
    assert "delivered" not in errors
    _assert_recorded(core.data, runs, rounds)


def _post_messages(agent: subprocess.Popen[str], line: str) -> None:
    """Have all runs say a line."""
    assert agent.stdin and agent.stdout
    agent.stdin.write(f"{line}\n")
    agent.stdin.flush()
    assert agent.stdout.readline() == "said\n"


def _assert_recorded(data: Path, runs: int, rounds: list[str]) -> None:
    """Each run has finished, with what it said once and in its order."""
    reader = StoreReader(data / "store.sqlite")
    try:
        headers = reader.list_headers()
        assert len({run.program for run in headers}) == len(headers) == runs
        assert {run.ending for run in headers} == {RunEnding.FINISHED}
        for run in headers:
            events = reader.history(run.id).events
            said = [event for event in events if event.kind is EventKind.DEBUG_MESSAGE]
            assert [json.loads(event.data or "") for event in said] == rounds
    finally:
        reader.close()
