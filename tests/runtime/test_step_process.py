"""A session's moniker in a process of its own: steps, failures, ends, and what ends it."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import math
import os
import re
import signal
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb.errors import (
    AgentStepperError,
    CommandError,
    ProtocolError,
    StepFrameError,
)
from agentstepper_nb.json_log import JsonLogFormatter
from agentstepper_nb.protocol.runtime_requests import ModelCredit, TakeModelCredit
from agentstepper_nb.runtime.debugged_run import StepAttempt
from agentstepper_nb.runtime.frame import FrameIn
from agentstepper_nb.runtime.model_gate import CreditSource
from agentstepper_nb.runtime.process_executor import (
    ProcessPool,
    ProcessStepExecutor,
    RemoteStepError,
)
from agentstepper_nb.runtime.step_executor import ProcessLostError, StepSettings
from agentstepper_nb.runtime.step_messages import OpenSession
from tests.runtime.isolated_monikers import install

LOG = logging.getLogger("agentstepper_nb.test")


@pytest.fixture(autouse=True)
def monikers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(install(tmp_path / "installed"))


@asynccontextmanager
async def a_pool(limit: int = 4, credits: CreditSource | None = None) -> AsyncIterator[ProcessPool]:
    settings = StepSettings(Path("nowhere"), debugger=False, log=LOG)
    pool = ProcessPool(settings, limit=limit, credits=credits)
    try:
        yield pool
    finally:
        await pool.close()


async def opened(pool: ProcessPool, moniker: str, config: Any = None) -> ProcessStepExecutor:
    executor = ProcessStepExecutor(pool, lambda: None)
    await executor.acquire()
    session = OpenSession(agent_id="a", session_id="s", moniker=moniker, config=config)
    await executor.open(session)
    return executor


def frame(count: int = 0) -> StepAttempt:
    return StepAttempt(FrameIn(step="start", state={"count": count}))


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def test_steps_run_in_another_process_until_it_is_closed() -> None:
    async with a_pool() as pool:
        executor = await opened(pool, "count", {"interval_s": 7})
        first = await executor.step(frame())
        second = await executor.step(frame(1))
        (pid,) = pool.process_ids
        assert (first.state, second.state) == ({"count": 1}, {"count": 2})
        assert first.data == second.data == {"pid": pid}
        assert pid != os.getpid()
        assert (executor.interval_s, executor.stops_on_done) == (7, True)
        await executor.close(None)
        assert not executor.is_open
        assert not is_running(pid)


async def test_an_endless_wait_crosses_the_pipe() -> None:
    async with a_pool() as pool:
        executor = await opened(pool, "count", {"interval_s": "inf"})
        await executor.step(frame())
        assert executor.interval_s == math.inf


@pytest.mark.parametrize(
    ("harm", "ending"),
    [
        ("exit", "exited with 3"),
        ("kill", "was killed by signal 9"),
        ("crash", "was killed by signal 11"),
    ],
)
async def test_what_ends_its_process_is_said_and_its_neighbour_goes_on(
    tmp_path: Path, harm: str, ending: str
) -> None:
    async with a_pool() as pool:
        neighbour = await opened(pool, "count")
        executor = await opened(pool, "harm", {"harm": harm, "at": 0, "tally": str(tmp_path / "t")})
        with pytest.raises(ProcessLostError) as lost:
            await executor.step(frame())
        assert lost.value.ending == ending
        assert lost.value.is_counted
        assert (await neighbour.step(frame())).state == {"count": 1}


async def test_a_step_that_is_cancelled_ends_and_its_process_goes_on(tmp_path: Path) -> None:
    async with a_pool() as pool:
        begun = tmp_path / "begun"
        executor = await opened(pool, "sleep", {"begun": str(begun)})
        step = asyncio.create_task(executor.step(frame(1)))
        while not begun.exists():
            await asyncio.sleep(0.01)
        step.cancel()
        with pytest.raises(asyncio.CancelledError):
            await step
        assert executor.is_open
        assert (await executor.step(frame())).state == {"count": 1}


async def test_a_step_that_blocks_is_killed_when_it_is_cancelled(tmp_path: Path) -> None:
    async with a_pool() as pool:
        tally = tmp_path / "tally"
        executor = await opened(pool, "harm", {"harm": "block", "at": 0, "tally": str(tally)})
        step = asyncio.create_task(executor.step(frame()))
        while not tally.exists():
            await asyncio.sleep(0.01)
        (pid,) = pool.process_ids
        step.cancel()
        with pytest.raises(asyncio.CancelledError):
            await step
        await executor.close(asyncio.CancelledError())
        assert not is_running(pid)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("value", "ValueError: no"),
        ("exit", "The step's code tried to end the process: SystemExit(4)."),
        ("cancelled", "The step was cancelled by code that it called."),
    ],
)
async def test_what_a_step_raises_is_said(config: str, said: str) -> None:
    async with a_pool() as pool:
        executor = await opened(pool, "raising", config)
        with pytest.raises(RemoteStepError) as failed:
            await executor.step(frame())
        assert str(failed.value) == said
        assert executor.is_open


async def test_a_moniker_that_cannot_be_made_says_why() -> None:
    async with a_pool() as pool:
        with pytest.raises(RemoteStepError, match=r"ValueError: It is broken\."):
            await opened(pool, "broken")
        with pytest.raises(RemoteStepError, match="There is no moniker 'gone'"):
            await opened(pool, "gone")


async def test_a_process_ends_where_its_worker_is_gone(tmp_path: Path) -> None:
    async with a_pool() as pool:
        executor = await opened(
            pool, "harm", {"harm": "block", "at": 0, "tally": str(tmp_path / "tally")}
        )
        step = asyncio.create_task(executor.step(frame()))
        while not (tmp_path / "tally").exists():
            await asyncio.sleep(0.01)
        assert executor._process is not None
        executor._process._writer.transport.abort()  # as the end of the worker closes it
        with pytest.raises(ProcessLostError):
            await step


async def test_ids_of_forked_processes_differ() -> None:
    async with a_pool() as pool:
        executors = [await opened(pool, "ids") for _ in range(4)]
        frames = [await executor.step(frame()) for executor in executors]
        ids = [id for out in frames for id in out.data]
        assert len(set(ids)) == len(ids) == 12


async def test_nothing_of_ours_has_threads_where_it_forks() -> None:
    async with a_pool() as pool:
        executor = await opened(pool, "parent")
        out = await executor.step(frame())
        assert out.data is not None
        assert out.data["threads"] == 1
        assert threading.active_count() >= 1


async def test_a_process_has_the_models_client_without_importing_it() -> None:
    async with a_pool() as pool:
        executor = await opened(pool, "parent")
        out = await executor.step(frame())
        assert out.data is not None
        assert out.data["has_client"]


async def test_descriptors_and_processes_are_given_back(tmp_path: Path) -> None:
    async with a_pool() as pool:
        config = {"harm": "exit", "at": 0, "tally": str(tmp_path / "t")}

        async def lose() -> None:
            executor = await opened(pool, "harm", config)
            with pytest.raises(ProcessLostError):
                await executor.step(frame())
            await executor.close(None)

        await lose()
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(5):
            await lose()
        assert len(os.listdir("/proc/self/fd")) <= before
        assert pool.process_ids == ()


@pytest.mark.slow
async def test_what_ends_with_the_fork_server_is_not_the_steps_doing(tmp_path: Path) -> None:
    async with a_pool() as pool:
        tally = tmp_path / "tally"
        executor = await opened(pool, "harm", {"harm": "block", "at": 0, "tally": str(tally)})
        step = asyncio.create_task(executor.step(frame()))
        while not (tally.exists() and tally.read_text()):  # it is there before its line is
            await asyncio.sleep(0.01)
        pid = int(tally.read_text())
        parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(parent, signal.SIGKILL)
        with pytest.raises(ProcessLostError) as lost:
            await step
        assert not lost.value.is_counted
        while is_running(pid):
            await asyncio.sleep(0.01)
        assert (await (await opened(pool, "count")).step(frame())).state == {"count": 1}


@pytest.mark.slow
async def test_a_start_that_nobody_waits_for_leaves_nothing_behind() -> None:
    async with a_pool() as pool:
        executor = await opened(pool, "count")  # the fork server runs
        before = len(os.listdir("/proc/self/fd"))
        (pid,) = pool.process_ids
        parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        for _ in range(5):
            start = asyncio.create_task(pool.start_process())
            await asyncio.sleep(0)
            start.cancel()
            with pytest.raises(asyncio.CancelledError):
                await start
        assert (await executor.step(frame())).state == {"count": 1}
        children = Path(f"/proc/{parent}/task/{parent}/children")
        is_clean = False
        while not is_clean:  # they may have yet to start
            await (await opened(pool, "count")).close(None)  # which reaps those that have ended
            gc.collect()
            is_clean = children.read_text().split() == [str(pid)]
            is_clean = is_clean and len(os.listdir("/proc/self/fd")) <= before


async def test_a_bad_edit_is_known_as_one() -> None:
    from agentstepper_nb.runtime.process_executor import _make_error
    from agentstepper_nb.runtime.step_messages import StepFailed

    error = _make_error(StepFailed(kind="bad_edit", error="bad"))
    assert isinstance(error, StepFrameError)
    assert error.edited


async def test_a_process_that_is_killed_while_idle_is_replaced() -> None:
    async with a_pool() as pool:
        executor = await opened(pool, "count")
        (pid,) = pool.process_ids
        os.kill(pid, signal.SIGKILL)
        assert executor._process is not None
        assert await executor._process.exit_code() == -9
        assert not executor.is_open


# ---- calls of models -------------------------------------------------------------------------------


class RecordedCredits:
    """A Core that grants every second call at once."""

    def __init__(self) -> None:
        self.requests: list[TakeModelCredit] = []

    async def take_model_credit(self, request: TakeModelCredit) -> ModelCredit:
        self.requests.append(request)
        return ModelCredit(is_limited=True, calls=len(self.requests) % 2, wait_s=0.001)


class RefusingCredits:
    """A Core that refuses, or whose answer can't be read.

    Args:
        error: How.
    """

    def __init__(self, error: AgentStepperError) -> None:
        self._error = error

    async def take_model_credit(self, request: TakeModelCredit) -> ModelCredit:
        raise self._error


async def test_calls_of_models_in_a_process_wait_for_the_core() -> None:
    credits = RecordedCredits()
    async with a_pool(credits=credits) as pool:
        executor = await opened(pool, "admitted")
        texts = [(await executor.step(frame(number))).text for number in range(2)]
    assert texts == ["0", "1"]
    asked = [(each.model, each.settled, each.used_tokens) for each in credits.requests]
    assert asked == [("m", 0, 0), ("m", 1, 7), ("m", 0, 0)]


@pytest.mark.parametrize(
    "error",
    [
        CommandError("store_failed", "The disk is full."),
        ProtocolError("invalid_message", "The Core's answer can't be decoded."),
    ],
    ids=["refused", "unreadable"],
)
async def test_call_that_the_core_refuses_fails_its_step(error: AgentStepperError) -> None:
    async with a_pool(credits=RefusingCredits(error)) as pool:
        executor = await opened(pool, "admitted")
        with pytest.raises(RemoteStepError, match=re.escape(str(error))):
            await executor.step(frame())


async def test_without_a_core_nothing_limits_calls() -> None:
    async with a_pool() as pool:
        executor = await opened(pool, "admitted")
        assert (await executor.step(frame())).text == "0"


# ---- logs ------------------------------------------------------------------------------------------


async def test_process_logs_as_its_worker_does(monkeypatch: pytest.MonkeyPatch) -> None:
    async with a_pool() as pool:
        executor = await opened(pool, "logging")
        assert (await executor.step(frame(7))).text == "WARNING the state is {'count': 7}"
    handler = logging.NullHandler()
    handler.setFormatter(JsonLogFormatter())
    monkeypatch.setattr(logging.root, "handlers", [handler])
    async with a_pool() as pool:
        executor = await opened(pool, "logging")
        line = json.loads((await executor.step(frame(7))).text or "")
    assert (line["level"], line["message"]) == ("warning", "the state is {'count': 7}")
    assert (line["session_id"], line["agent_id"]) == ("s", "a")
