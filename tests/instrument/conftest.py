"""Agents that know nothing of the debugger, a real Core, and a person at it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from threading import Thread

import pytest

from agentstepper_nb import AgentStepper, AgentStepperCore, instrument
from agentstepper_nb.instrument.proxy import HeartbeatTimes, ModelProxy
from agentstepper_nb.models.scripted import Script, ScriptedServer, ScriptRule, always, say
from tests.helpers.forked_python import fork_programs
from tests.instrument.queries import TEXT
from tests.sdk.person import LiveView
from tests.sdk.scripted_core import TIMEOUT_S


@pytest.fixture(autouse=True)
def no_core_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AGENTSTEPPER_URL", "AGENTSTEPPER_TOKEN", "JPY_PARENT_PID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "jupyter-runtime"))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter-data"))


@pytest.fixture
def live() -> Iterator[AgentStepperCore]:
    """A real Core."""
    with AgentStepperCore("127.0.0.1", client_port=0, ui_port=0) as core:
        yield core


@pytest.fixture
def person(live: AgentStepperCore) -> Iterator[LiveView]:
    """Somebody at the Core's view."""
    with LiveView(live.ui_port) as person:
        yield person


@pytest.fixture
def seams() -> Iterator[None]:
    """Instrumentation is on."""
    instrument.enable()
    yield
    instrument.disable()


@pytest.fixture
def dbg(live: AgentStepperCore, seams: None) -> Iterator[AgentStepper]:
    """The only open run of this process, which the agent knows nothing of."""
    with AgentStepper("agent", "127.0.0.1", live.client_port, stop_on_entry=False) as dbg:
        yield dbg


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    """A model that always says the same."""
    with ScriptedServer(Script("says", [ScriptRule(always, say(TEXT))])) as server:
        yield server


Serve = Callable[..., AbstractContextManager[ModelProxy]]


@pytest.fixture
def serve(dbg: AgentStepper) -> Serve:
    """Serves a proxy on a loop of its own."""

    @contextmanager
    def serve(url: str, heartbeat: HeartbeatTimes | None = None) -> Iterator[ModelProxy]:
        proxy = ModelProxy(dbg, {"openai": url}, heartbeat or HeartbeatTimes())
        ready: Future[Callable[[], None]] = Future()

        async def run() -> None:
            loop, ended = asyncio.get_running_loop(), asyncio.Event()
            async with proxy.serve():
                ready.set_result(lambda: loop.call_soon_threadsafe(ended.set))
                await ended.wait()

        thread = Thread(target=lambda: asyncio.run(run()))
        thread.start()
        end = ready.result(TIMEOUT_S)
        yield proxy
        end()
        thread.join()

    return serve


#: Begins a command.
Run = Callable[..., Future[subprocess.CompletedProcess[str]]]


@pytest.fixture
def run(tmp_path: Path, pool: ThreadPoolExecutor) -> Run:
    """Begins `agentstepper ...` or `python FILE`, whose outcome is there once it has ended."""

    def run(*words: str, **environment: str) -> Future[subprocess.CompletedProcess[str]]:
        script = [str(Path(sys.executable).with_name("agentstepper"))]
        with fork_programs("agentstepper_nb.cli.run", "agentstepper_nb.cli.proxy"):
            process = subprocess.Popen(
                [sys.executable, *(script if words[0] == "agentstepper" else []), *words[1:]],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                cwd=tmp_path,
                env={**os.environ, **environment},
            )
        return pool.submit(complete, process)

    return run


def complete(process: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
    """Wait for a program's end."""
    with process:
        try:
            out, errors = process.communicate(timeout=TIMEOUT_S)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(process.args, process.returncode, out, errors)
