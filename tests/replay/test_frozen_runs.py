"""Runs whose time and random numbers are replayed."""

from __future__ import annotations

import asyncio
import datetime
import json
import random
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from datetime import datetime as moment
from pathlib import Path
from random import choice
from time import time as now
from typing import Any
from uuid import uuid4

import pytest

from agentstepper_nb import (
    AgentStepper,
    AgentStepperCore,
    AsyncAgentStepper,
    Divergence,
    discover,
    fork_run,
    load_run,
    replay_run,
)
from agentstepper_nb.replay import freeze_runs, load_recording
from agentstepper_nb.replay.recording_files import read_recording, write_recording
from agentstepper_nb.replay.recordings import Recording
from agentstepper_nb.sdk import set_current_stepper
from tests.helpers.core_announcement import announce_core

#: A moment that is long over, in POSIX seconds.
LONG_AGO = 1_000_000_000.25


def look() -> list[Any]:
    """What isn't deterministic, by every way to it."""
    return [
        *(time.time(), now(), time.time_ns(), time.ctime(), time.strftime("%H:%M:%S")),
        *(time.gmtime().tm_sec, time.localtime().tm_sec),
        *(moment.now().isoformat(), datetime.datetime.now(datetime.UTC).isoformat()),
        *(date.today().isoformat(), moment.today().isoformat()),
        *(random.random(), random.randint(1, 10**9), choice(range(10**9)), random.gauss(0, 1)),
        *(random.sample(range(10**9), 2), str(uuid.uuid4()), str(uuid4())),
    ]


async def wander() -> list[Any]:
    """An agent that asks by what it sees, in tasks, threads, tools and sub-agents."""
    async with AsyncAgentStepper("wanderer") as dbg:
        calls: list[Any] = []

        async def answer(prompt: Any) -> Any:
            random.random()  # a retry's pause
            return prompt

        def search(query: Any) -> Any:
            return [query, *look()]

        ask = dbg.traced_llm(answer, model="m")
        tool = dbg.traced_tool(search)

        async def branch(number: int) -> None:
            await asyncio.sleep(0.001 * number)
            await ask({"branch": number, "sees": look()})
            with dbg.agent("helper"):
                calls.append(await ask({"helper": number, "sees": look()}))
            calls.append(tool(look()))

        await ask(look())
        await asyncio.gather(*map(branch, range(3)))
        with ThreadPoolExecutor(2) as pool:
            calls += await asyncio.get_running_loop().run_in_executor(pool, look), look()
        return sorted(map(json.dumps, calls))


def record(
    folder: Path, function: Callable[[], Any], *, freeze: bool = True
) -> tuple[Recording, Any]:
    """A run of a function, and what it returned."""
    with AgentStepperCore("127.0.0.1", 0, 0, data=folder) as core:
        options: dict[str, Any] = {"stop_on_entry": False, "mode": "continue"}
        name = function.__name__
        if freeze:
            with freeze_runs():
                dbg = AgentStepper(name, "127.0.0.1", core.client_port, **options)
        else:
            dbg = AgentStepper(name, "127.0.0.1", core.client_port, **options)
        with dbg, set_current_stepper(dbg):
            result = function()
            if asyncio.iscoroutine(result):
                result = asyncio.run(result)
        run = dbg.run_id
    return load_recording(load_run(run, folder)), result


def test_a_frozen_run_is_replayed_exactly(tmp_path: Path) -> None:
    recording, result = record(tmp_path, wander)
    assert len(recording.events) == 10
    assert asyncio.run(replay_run(recording, wander, offline=True, freeze=True)) == result
    with pytest.raises(Divergence):
        asyncio.run(replay_run(recording, wander, offline=True))


def test_its_file_is_replayed_exactly(tmp_path: Path) -> None:
    recording, result = record(tmp_path, wander)
    write_recording(recording, tmp_path / "recording.json")
    read = read_recording(tmp_path / "recording.json")
    assert asyncio.run(replay_run(read, wander, offline=True, freeze=True)) == result


def remember() -> list[Any]:
    """An agent that asks twice, and sees the time before, between and after."""
    with AgentStepper("rememberer") as dbg:
        ask = dbg.traced_llm(lambda prompt: prompt, model="m")
        seen: list[Any] = [moment.now()]
        for number in range(2):
            ask({"number": number})
            seen.append(moment.now())
        return seen


def test_a_recorded_time_is_served_of_a_run_that_was_not_frozen(tmp_path: Path) -> None:
    recording, _ = record(tmp_path, remember, freeze=False)
    path = tmp_path / "recording.json"
    write_recording(recording, path)
    data = json.loads(path.read_text())
    for number, event in enumerate(data["events"]):
        event["at"] = LONG_AGO + number
    path.write_text(json.dumps(data))
    began, *seen = replay_run(read_recording(path), remember, offline=True, freeze=True)
    assert seen == [moment.fromtimestamp(LONG_AGO), moment.fromtimestamp(LONG_AGO + 1)]
    assert abs(began.timestamp() - recording.started_at) < 60


def test_a_sleep_moves_the_time(tmp_path: Path) -> None:
    def wait() -> float:
        with AgentStepper("waiter") as dbg:
            dbg.traced_llm(lambda prompt: prompt, model="m")("go")
            began, count = time.time(), 0
            while time.time() < began + 0.02:
                time.sleep(0.005)
                count += 1
            return count

    recording, count = record(tmp_path, wait)
    assert count in (4, 5)  # as floats add up
    assert replay_run(recording, wait, offline=True, freeze=True) == count


def test_other_threads_see_the_live_time(tmp_path: Path) -> None:
    """A thread that the agent didn't start, and that looks while the agent's time stands still."""
    asked, answered = threading.Event(), threading.Event()
    seen: list[float] = []

    def watch() -> None:
        asked.wait()
        seen.extend((time.time(), moment.now().timestamp()))
        answered.set()

    def run() -> float:
        with AgentStepper("watched") as dbg:
            dbg.traced_llm(lambda prompt: prompt, model="m")("go")
            asked.set()
            answered.wait()
            return time.time()

    watcher = threading.Thread(target=watch)
    watcher.start()
    recording, agent_time = record(tmp_path, run)
    watcher.join()
    assert all(each > agent_time for each in seen)
    assert recording.events[0].at == agent_time


def test_what_a_fork_does_by_itself_sees_the_live_time(tmp_path: Path) -> None:
    with AgentStepperCore("127.0.0.1", 0, 0, data=tmp_path / "runs") as core:
        address = ("127.0.0.1", core.client_port)
        with freeze_runs():
            dbg = AgentStepper("rememberer", *address, stop_on_entry=False, mode="continue")
        with dbg, set_current_stepper(dbg):
            remember()
        run = load_run(dbg.run_id, tmp_path / "runs")
        (_, second) = load_recording(run).events

        file = announce_core(core)
        began = time.time()
        _, served, live = fork_run(run, second.seq, remember, edit={"prompt": 3}, freeze=True)
        discover.remove_core_info(file)
    assert served.timestamp() < began < live.timestamp()


def test_a_run_that_is_not_frozen_sees_the_live_ones(tmp_path: Path) -> None:
    """Though the process has wrapped Python's functions for one that was."""
    record(tmp_path, remember)
    _, (_, first, second) = record(tmp_path, remember, freeze=False)
    assert first < second < moment.now()
    random.seed(1)
    drawn = random.random()
    assert drawn == random.Random(1).random()
    assert time.localtime(0).tm_year in (1969, 1970)
    assert moment.now(datetime.UTC).tzinfo is datetime.UTC
