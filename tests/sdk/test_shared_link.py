"""Many runs of one process, on one connection to a real Core."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from agentstepper_nb import AgentStepper, AgentStepperCore

LONG = "x" * 600_000  # goes in parts


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts descriptors in /proc")
def test_threads_and_descriptors_do_not_grow_with_runs() -> None:
    def used() -> tuple[int, int]:
        return threading.active_count(), len(os.listdir("/proc/self/fd"))

    with AgentStepperCore(client_port=0, ui_port=0) as core:
        where = {"url": f"ws://127.0.0.1:{core.client_port}", "token": core.tokens.agent}

        def opened(name: str) -> AgentStepper:
            return AgentStepper(name, stop_on_entry=False, mode="continue", **where)  # type: ignore[arg-type]

        runs = [opened("first")]
        before = used()
        runs += [opened(f"P{n}") for n in range(30)]
        for run in runs:
            run.post_debug_message(LONG)
        assert all(now <= then for now, then in zip(used(), before, strict=True))
        for run in runs:
            run.close()
            assert run._current_session().link.undelivered_count == 0
