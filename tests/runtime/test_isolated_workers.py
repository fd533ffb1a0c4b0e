"""Real workers whose sessions run in processes: harm stays where it is, and nothing is left behind."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb.protocol.runtime import ActionKind, AgentState, SessionStatus
from tests.runtime.isolated_monikers import install
from tests.runtime.processes import CoreProcesses, RuntimeClient, kill, run
from tests.runtime.test_step_process import is_running

HARMS = ("exit", "kill", "crash", "block")


@pytest.fixture(autouse=True)
def monikers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = install(tmp_path / "installed")
    root = Path(__file__).parents[2]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(root), str(installed)]))


async def create(client: RuntimeClient, id: str, moniker: str, config: Any, **payload: Any) -> None:
    given = {"moniker": moniker, "config": config} | payload
    await client.enqueue(ActionKind.CREATE, id, agent_id="a", payload=given)


def descendants(pid: int) -> set[int]:
    """All processes that a process started, and those started."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            parents[int(entry.name)] = int(stat.rpartition(")")[2].split()[1])
    found: set[int] = set()
    level = {pid}
    while level:
        level = {each for each, parent in parents.items() if parent in level}
        found |= level
    return found


async def until(true: Callable[[], object]) -> None:
    while not true():
        await asyncio.sleep(0.02)


def all_have(ids: list[str], status: SessionStatus) -> Callable[[dict[str, AgentState]], bool]:
    def holds(states: dict[str, AgentState]) -> bool:
        return all(id in states and states[id].status is status for id in ids)

    return holds


def test_harm_stays_in_its_session(tmp_path: Path) -> None:
    async def test() -> None:
        place = CoreProcesses(tmp_path)
        neighbours = [f"n{number}" for number in range(8)]
        with place.core(), place.worker(options=("--processes", "4")):
            async with place.client() as client:
                for harm in HARMS:
                    config = {"harm": harm, "tally": str(tmp_path / harm)}
                    limits = {"step_timeout_s": 1.0}
                    await create(client, harm, "harm", config, limits=limits)
                for id in neighbours:
                    await create(client, id, "count", {"steps": 20, "interval_s": 0.01})
                await client.wait_until(all_have(neighbours, SessionStatus.DONE))
                await client.wait_until(all_have(list(HARMS), SessionStatus.ERROR))
                for id in neighbours:
                    steps = await client.steps(id)
                    assert [step.state["count"] for step in steps] == list(range(1, 21))
                    assert (await client.state(id)).epoch == 1  # its worker never changed
                said = {harm: (await client.state(harm)).last_error or "" for harm in HARMS}
                assert said["exit"].count("exited with 3") == 3
                assert said["kill"].count("was killed by signal 9") == 3
                assert said["crash"].count("was killed by signal 11") == 3
                assert "step_timeout_s = 1 seconds" in said["block"]
                for harm in HARMS:
                    assert len(await client.steps(harm)) == (2 if harm == "block" else 1)

    run(test)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_worker_leaves_no_process_behind(tmp_path: Path, number: int) -> None:
    async def test() -> None:
        place = CoreProcesses(tmp_path)
        with place.core(), place.worker(options=("--drain-timeout", "1")) as worker:
            async with place.client() as client:
                await create(client, "idle", "count", {"interval_s": 3600})
                blocked = {"harm": "block", "at": 0, "tally": str(tmp_path / "tally")}
                await create(client, "blocked", "harm", blocked)
                await client.wait_until(
                    lambda states: "idle" in states and states["idle"].iteration == 1
                )
                await until((tmp_path / "tally").exists)
                started = descendants(worker.pid)
                assert len(started) >= 4  # the fork server, multiprocessing's tracker, two sessions
                worker.send_signal(number)
                await asyncio.to_thread(worker.wait)
                await until(lambda: not any(map(is_running, started)))

    run(test)


def test_a_killed_worker_s_sessions_go_on_in_the_next(tmp_path: Path) -> None:
    async def test() -> None:
        place = CoreProcesses(tmp_path)
        ids = [f"n{number}" for number in range(6)]
        with place.core():
            async with place.client() as client:
                with place.worker(options=("--processes", "3")) as first:
                    for id in ids:
                        await create(client, id, "count", {"steps": 30, "interval_s": 0.1})
                    await client.wait_until(
                        lambda states: all(id in states and states[id].iteration > 2 for id in ids)
                    )
                    kill(first)
                with place.worker(options=("--processes", "3")):
                    await client.wait_until(all_have(ids, SessionStatus.DONE))
                for id in ids:
                    steps = await client.steps(id)
                    assert [step.state["count"] for step in steps] == list(range(1, 31))

    run(test)


def test_many_sessions_take_few_descriptors(tmp_path: Path) -> None:
    async def test() -> None:
        place = CoreProcesses(tmp_path)
        ids = [f"n{number}" for number in range(60)]
        with place.core() as core, place.worker(options=("--processes", "4")) as worker:
            resource.prlimit(worker.pid, resource.RLIMIT_NOFILE, (64, 64))
            resource.prlimit(core.pid, resource.RLIMIT_NOFILE, (64, 64))
            async with place.client() as client:
                for id in ids:
                    await create(client, id, "count", {"steps": 3})
                await client.wait_until(all_have(ids, SessionStatus.DONE))
                for id in ids:
                    assert len(await client.steps(id)) == 3
                    assert (await client.state(id)).run_id is not None
                descriptors = len(os.listdir(f"/proc/{worker.pid}/fd"))
                assert descriptors < 64

    run(test)


#: Says how many messages it was sent.
COUNTS = """\
from agentstepper_nb.models.scripted import *

def answer(request):
    return say(f"I have {len([m for m in request.messages if m.role == 'user'])} prompts.")

script = Script("counts", [ScriptRule(always, answer)])
"""


def test_the_coding_moniker_goes_on_in_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts, workspace = tmp_path / "scripts", tmp_path / "workspace"
    scripts.mkdir()
    workspace.mkdir()
    (scripts / "counts.py").write_text(COUNTS)
    monkeypatch.setenv("AGENTSTEPPER_SCRIPTS", str(scripts))
    config = {
        "workspace": str(workspace),
        "prompt": "Hello.",
        "provider": "scripted",
        "model": "counts",
    }

    async def test() -> None:
        place = CoreProcesses(tmp_path)
        with place.core(), place.worker(options=("--processes", "1")):
            async with place.client() as client:
                await create(client, "c", "coding", config, limits={"stop_on_done": False})
                await client.wait_until(lambda states: "c" in states and states["c"].iteration == 1)
                # It waits for guidance, and gives its process to another.
                await create(client, "other", "count", {"steps": 1})
                await client.wait_until(all_have(["other"], SessionStatus.DONE))
                await client.enqueue(ActionKind.INPUT, "c", payload={"text": "And now?"})
                await client.wait_until(lambda states: states["c"].iteration == 2)
                steps = await client.steps("c")
                assert [step.text for step in steps] == ["I have 1 prompts.", "I have 2 prompts."]

    run(test)


def test_without_isolation_sessions_share_the_worker(tmp_path: Path) -> None:
    async def test() -> None:
        place = CoreProcesses(tmp_path)
        with place.core(), place.worker(options=("--isolation", "none")) as worker:
            async with place.client() as client:
                await create(client, "s", "count", {"steps": 2})
                await client.wait_until(all_have(["s"], SessionStatus.DONE))
                assert {step.data["pid"] for step in await client.steps("s")} == {worker.pid}

    run(test)


@pytest.mark.parametrize("isolation", ["process", "none"])
def test_a_core_says_how_its_own_worker_isolates(tmp_path: Path, isolation: str) -> None:
    async def test() -> None:
        options = ("--worker-isolation", isolation, "--worker-processes", "1")
        place = CoreProcesses(tmp_path, options=options)
        with place.core():
            async with place.client() as client:
                for id in ("s1", "s2"):
                    await create(client, id, "count", {"interval_s": 3600})
                await client.wait_until(
                    lambda states: sum(state.iteration for state in states.values()) == 2
                )
                pids = [step.data["pid"] for id in ("s1", "s2") for step in await client.steps(id)]
                owner = (await client.state("s1")).owner
                assert owner is not None
                worker = int(owner.split(":")[1])
                if isolation == "none":
                    assert pids == [worker, worker]
                else:
                    assert worker not in pids
                    assert sum(map(is_running, pids)) == 1  # one process, and two sessions

    run(test)


def test_suspects_of_a_worker_are_tried_alone_and_only_the_poisonous_one_ends(
    tmp_path: Path,
) -> None:
    """With isolation none, one step kills its worker and with it all sessions there."""

    async def test() -> None:
        place = CoreProcesses(tmp_path)
        tally, options = tmp_path / "tally", ("--isolation", "none")
        innocent = [f"n{number}" for number in range(4)]
        with place.core():
            async with place.client() as client:
                with place.worker(options=options) as first:
                    for id in innocent:
                        await create(client, id, "count", {"steps": 50, "interval_s": 0.1})
                    await client.wait_until(lambda states: all(id in states for id in innocent))
                    await create(client, "poison", "harm", {"harm": "kill", "tally": str(tally)})
                    await asyncio.to_thread(first.wait)
                with place.worker(options=options) as second:
                    await client.wait_until(all_have(innocent, SessionStatus.DONE))
                    await client.wait_until(all_have(["poison"], SessionStatus.ERROR))
                    assert second.poll() is None
                poison = await client.state("poison")
                assert [loss.is_shared for loss in poison.losses] == [True, False, False, False]
                assert len(tally.read_text().split()) == 4
                for id in innocent:
                    steps = await client.steps(id)
                    assert [step.state["count"] for step in steps] == list(range(1, 51))

    run(test)
