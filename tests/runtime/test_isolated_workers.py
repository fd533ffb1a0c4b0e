"""Real workers whose sessions run in processes: harm stays where it is, and nothing is left behind."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from agentstepper_nb.protocol.runtime import ActionKind, AgentState, SessionStatus
from tests.runtime.isolated_monikers import install
from tests.runtime.processes import CoreProcesses, RuntimeClient, kill, run
from tests.runtime.test_step_process import is_running

HARMS = ("exit", "kill", "crash", "block")
#: The config of a session whose first step blocks, beside its tally.
BLOCKS: Final = {"harm": "block", "at": 0}
#: As many as a Core and its worker may have open, and as many sessions.
DESCRIPTORS: Final = 40

#: A script that says how many messages it was sent.
COUNTS: Final = """\
from agentstepper_nb.models.scripted import *

def answer(request):
    return say(f"I have {len([m for m in request.messages if m.role == 'user'])} prompts.")

script = Script("counts", [ScriptRule(always, answer)])
"""


@pytest.fixture(scope="module", autouse=True)
def monikers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Monikers and a script that all workers of this file have."""
    installed = install(tmp_path_factory.mktemp("monikers") / "installed")
    scripts = tmp_path_factory.mktemp("scripts")
    (scripts / "counts.py").write_text(COUNTS)
    root = Path(__file__).parents[2]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(root), str(installed)]))
        patch.setenv("AGENTSTEPPER_SCRIPTS", str(scripts))
        yield


@dataclass(frozen=True)
class SharedCore:
    """A Core and its worker, which has at most two step processes. Each test ends its sessions there."""

    place: CoreProcesses
    core: subprocess.Popen[str]
    worker: subprocess.Popen[str]


@pytest.fixture(scope="module")
def shared(monikers: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedCore]:
    place = CoreProcesses(tmp_path_factory.mktemp("shared"))
    # Nobody takes a session over: on a busy machine a lease of a second is over before it is renewed.
    options = ("--processes", "2", "--lease", "60")
    with place.core() as core, place.worker(options=options) as worker:
        yield SharedCore(place, core, worker)


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


@pytest.mark.slow
def test_harm_stays_in_its_session(tmp_path: Path, shared: SharedCore) -> None:
    async def test() -> None:
        neighbours = [f"n{number}" for number in range(4)]
        async with shared.place.client() as client:
            for harm in HARMS:
                config = {"harm": harm, "tally": str(tmp_path / harm)}
                limits = {"step_timeout_s": 1.0} if harm == "block" else {}
                await create(client, harm, "harm", config, limits=limits)
            for id in neighbours:
                await create(client, id, "count", {"steps": 10, "interval_s": 0.02})
            await client.wait_until(all_have(neighbours, SessionStatus.DONE))
            await client.wait_until(all_have(list(HARMS), SessionStatus.ERROR))
            for id in neighbours:
                steps = await client.steps(id)
                assert [step.state["count"] for step in steps] == list(range(1, 11))
                assert (await client.state(id)).epoch == 1  # its worker never changed
            said = {harm: (await client.state(harm)).last_error or "" for harm in HARMS}
            assert said["exit"].count("exited with 3") == 3
            assert said["kill"].count("was killed by signal 9") == 3
            assert said["crash"].count("was killed by signal 11") == 3
            assert "step_timeout_s = 1 seconds" in said["block"]
            for harm in HARMS:
                assert len(await client.steps(harm)) == (2 if harm == "block" else 1)

    run(test)


@pytest.mark.slow
def test_many_sessions_take_few_descriptors(shared: SharedCore) -> None:
    async def test() -> None:
        ids = [f"d{number}" for number in range(DESCRIPTORS)]
        for process in (shared.core, shared.worker):
            resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))
        async with shared.place.client() as client:
            for id in ids:
                await create(client, id, "count", {"steps": 2})
            await client.wait_until(all_have(ids, SessionStatus.DONE))
            for id in ids:
                assert len(await client.steps(id)) == 2
                assert (await client.state(id)).run_id is not None
            assert len(os.listdir(f"/proc/{shared.worker.pid}/fd")) < DESCRIPTORS

    run(test)


@pytest.mark.slow
def test_the_coding_moniker_goes_on_in_another_process(tmp_path: Path, shared: SharedCore) -> None:
    config = {
        "workspace": str(tmp_path),
        "prompt": "Hello.",
        "provider": "scripted",
        "model": "counts",
    }

    async def test() -> None:
        async with shared.place.client() as client:
            await create(client, "c", "coding", config, limits={"stop_on_done": False})
            await client.wait_until(lambda states: "c" in states and states["c"].iteration == 1)
            # It waits for guidance, and gives its process to another.
            others = ["other1", "other2"]
            for id in others:
                await create(client, id, "count", {"interval_s": 3600})
            await client.wait_until(
                lambda states: all(id in states and states[id].iteration == 1 for id in others)
            )
            await client.enqueue(ActionKind.INPUT, "c", payload={"text": "And now?"})
            await client.wait_until(lambda states: states["c"].iteration == 2)
            steps = await client.steps("c")
            assert [step.text for step in steps] == ["I have 1 prompts.", "I have 2 prompts."]
            for id in ("c", *others):
                await client.enqueue(ActionKind.DESTROY, id)
            await client.wait_until(all_have(["c", *others], SessionStatus.STOPPED))

    run(test)


@pytest.mark.slow
@pytest.mark.parametrize(
    "number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.soak)]
)
def test_a_worker_leaves_no_process_behind_and_its_sessions_go_on(
    tmp_path: Path, number: int
) -> None:
    """One worker is killed, and the next one is told to end while a step blocks."""

    async def test() -> None:
        place = CoreProcesses(tmp_path)
        ids = [f"n{number}" for number in range(3)]
        options = ("--processes", "4", "--drain-timeout", "1")

        async def begin_blocked_step(client: RuntimeClient, id: str) -> None:
            tally = tmp_path / id
            await create(client, id, "harm", BLOCKS | {"tally": str(tally)})
            await until(tally.exists)

        with place.core():
            async with place.client() as client:
                with place.worker(options=options) as first:
                    await begin_blocked_step(client, "blocked1")
                    for id in ids:
                        await create(client, id, "count", {"steps": 12, "interval_s": 0.2})
                    await client.wait_until(
                        lambda states: all(id in states and states[id].iteration > 2 for id in ids)
                    )
                    started = descendants(first.pid)
                    # The fork server, multiprocessing's tracker, two sessions at the least.
                    assert len(started) >= 4
                    kill(first)
                    await until(lambda: not any(map(is_running, started)))
                with place.worker(options=options) as second:
                    await client.wait_until(all_have(ids, SessionStatus.DONE))
                    for id in ids:
                        steps = await client.steps(id)
                        assert [step.state["count"] for step in steps] == list(range(1, 13))
                    await create(client, "idle", "count", {"interval_s": 3600})
                    await client.wait_until(
                        lambda states: "idle" in states and states["idle"].iteration == 1
                    )
                    await begin_blocked_step(client, "blocked2")
                    started = descendants(second.pid)
                    assert len(started) >= 4
                    second.send_signal(number)
                    await asyncio.to_thread(second.wait)
                    await until(lambda: not any(map(is_running, started)))

    run(test)


@pytest.mark.slow
@pytest.mark.parametrize("isolation", [pytest.param("process", marks=pytest.mark.soak), "none"])
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


@pytest.mark.slow
def test_suspects_of_a_worker_are_tried_alone_and_only_the_poisonous_one_ends(
    tmp_path: Path,
) -> None:
    """With isolation none all sessions share the worker: one step kills it and with it all of them."""

    async def test() -> None:
        place = CoreProcesses(tmp_path)
        tally, options = tmp_path / "tally", ("--isolation", "none")
        innocent = [f"n{number}" for number in range(2)]
        with place.core():
            async with place.client() as client:
                with place.worker(options=options) as first:
                    for id in innocent:
                        await create(client, id, "count", {"steps": 15, "interval_s": 0.2})
                    await client.wait_until(
                        lambda states: all(
                            id in states and states[id].iteration > 0 for id in innocent
                        )
                    )
                    for id in innocent:
                        assert {step.data["pid"] for step in await client.steps(id)} == {first.pid}
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
                    assert [step.state["count"] for step in steps] == list(range(1, 16))

    run(test)
