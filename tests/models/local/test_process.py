"""The process that serves a model's file; what serves it is a fake."""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from openai import AsyncOpenAI

from agentstepper_nb.errors import ModelError
from agentstepper_nb.models.local.model_process import ModelProcess


def ended(pid: int) -> None:
    """Wait until a process that isn't ours is gone."""
    handle = os.pidfd_open(pid)
    try:
        select.select([handle], [], [])
    finally:
        os.close(handle)


@pytest.mark.slow
def test_it_serves_here_alone_with_a_key_and_one_thread(
    weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = tmp_path / "notes.json"
    monkeypatch.setenv("FAKE_NOTES", str(notes))

    async def serve() -> tuple[str, str]:
        process = ModelProcess(weights, context_tokens=99)
        try:
            endpoint = await process.start()
            async with AsyncOpenAI(base_url=endpoint.url, api_key=endpoint.key) as client:
                assert [model.id async for model in client.models.list()] == ["local"]
            assert process.pid is not None
            command = Path(f"/proc/{process.pid}/cmdline")
            assert not command.exists() or endpoint.key.encode() not in command.read_bytes()
            return endpoint.url, endpoint.key
        finally:
            await process.close()
            assert process.pid is None

    url, key = asyncio.run(serve())
    assert url.startswith("http://127.0.0.1:") and url.endswith("/v1")
    asked = json.loads(notes.read_text())
    assert asked["model"] == {"path": str(weights)}
    assert (asked["hostnames"], asked["port"]) == (["127.0.0.1"], 0)
    assert (asked["api_keys"], asked["cors_origins"]) == ([key], "http://127.0.0.1")
    assert len(key) >= 32
    assert (asked["n_ctx"], asked["ui"], asked["endpoint_slots"]) == (99, False, False)
    assert asked["cpuparams"] == asked["cpuparams_batch"] == {"n_threads": 1}


def test_each_has_a_key_of_its_own(weights: Path) -> None:
    assert ModelProcess(weights)._options.api_key != ModelProcess(weights)._options.api_key


def test_a_model_that_takes_too_long_to_load(weights: Path) -> None:
    weights.write_text("from threading import Event\nEvent().wait()")
    process = ModelProcess(weights)
    with pytest.raises(ModelError, match="it doesn't start in time"):
        asyncio.run(process.start(timeout_s=0.01))
    assert process.pid is None


def test_who_stops_waiting_leaves_no_process(weights: Path) -> None:
    weights.write_text("from threading import Event\nEvent().wait()")

    async def give_up() -> int:
        process = ModelProcess(weights)
        starting = asyncio.create_task(process.start())
        while process.pid is None:
            await asyncio.sleep(0)
        pid = process.pid
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting
        return pid

    with pytest.raises(ProcessLookupError):
        os.kill(asyncio.run(give_up()), 0)


PARENT = """
import asyncio, sys
from pathlib import Path
from agentstepper_nb.models.local.model_process import ModelProcess

async def main():
    process = ModelProcess(Path(sys.argv[1]))
    await process.start()
    print(process.pid, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="only Linux lets one wait for it")
def test_it_ends_with_its_parent_also_when_that_is_killed(weights: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, str(weights)], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        os.kill(pid, signal.SIGINT)  # Ctrl+C in the terminal of both
        os.kill(pid, 0)
        parent.kill()
        ended(pid)
