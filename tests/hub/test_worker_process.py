"""A worker as a process of the Core's: its end is known as it ends."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from agentstepper_nb.discover import CoreEndpoint
from agentstepper_nb.hub.worker_process import WorkerProcess, make_environment
from tests.hub.runtime_hosts import LOG


def test_its_end_is_known_though_what_it_started_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    """What goes on holds its error output."""

    async def test() -> None:
        command = ("sh", "-c", "sleep 600 & echo my last words >&2; kill -9 $$")
        process = WorkerProcess(LOG, lambda: os.environ, command)
        ends: list[tuple[int, str]] = []
        process.on_end = lambda pid, ending: ends.append((pid, ending))
        ended = await process.start()
        pid = process.pid
        assert pid is not None
        try:
            assert await ended == "was killed by signal 9"
            assert process.pid is None
            assert ends == [(pid, "was killed by signal 9")]
        finally:
            os.killpg(pid, signal.SIGKILL)
            await process.stop()

    caplog.set_level("INFO")
    asyncio.run(test())
    assert "worker: my last words" in caplog.text


def test_what_it_inherits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where its Core is, and no token of whoever started that."""
    monkeypatch.setenv("AGENTSTEPPER_TOKEN", "another's")
    monkeypatch.setenv("AGENTSTEPPER_CONTROL_TOKEN", "a person's")
    given = make_environment(CoreEndpoint("ws://localhost:1"), "the workers'")
    said = {name: value for name, value in given.items() if name.startswith("AGENTSTEPPER_")}
    assert said == {
        "AGENTSTEPPER_URL": "ws://localhost:1",
        "AGENTSTEPPER_WORKER_URL": "ws://localhost:1/worker",
        "AGENTSTEPPER_WORKER_TOKEN": "the workers'",
    }
    given = make_environment(CoreEndpoint("ws://localhost:1", "agents'"), "the workers'")
    assert given["AGENTSTEPPER_TOKEN"] == "agents'"
