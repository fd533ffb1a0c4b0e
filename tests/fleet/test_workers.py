"""Workers on a Dask cluster: placed, started again, orphaned, drained."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from distributed import Client, LocalCluster

from agentstepper_nb import Agents
from agentstepper_nb.fleet import Fleet
from agentstepper_nb.hub import AgentStepperCore
from tests.fleet.conftest import (
    OPTIONS,
    PAUSE,
    WorkerProcesses,
    create_jokers,
    go_on,
    start_cluster,
)
from tests.helpers.certificates import CertificateAuthority
from tests.worker.processes import gone

# Each starts a cluster: ten processes that import Dask, or us.
pytestmark = [pytest.mark.soak, pytest.mark.timeout(300)]


def find_owners(agents: Agents, sessions: list[str]) -> set[int]:
    """The process ids of the workers that have sessions."""
    owners = [agents.state(session).owner for session in sessions]
    return {int(owner.split(":")[1]) for owner in owners if owner}


def test_workers_are_placed_and_end_with_the_fleet(
    home: Path, cluster: LocalCluster, workers: WorkerProcesses
) -> None:
    """Over TLS, by a certificate that the cluster's machines know from the fleet alone."""
    certificate = CertificateAuthority(home).sign("core", "DNS:core.example")
    with (
        AgentStepperCore("127.0.0.1", 0, 0, **certificate._asdict()) as core,
        Agents.connect(core.url(core.client_port)) as agents,
    ):
        with Fleet(cluster, core) as fleet:
            assert core.url(core.client_port).startswith("wss://")
            pids = workers.wait_for(fleet, lambda pids: len(pids) == 2)
            sessions = create_jokers(agents)
            assert find_owners(agents, sessions) <= pids
            go_on(agents, sessions)
            assert all(agents.state(session).run_id for session in sessions)
        for pid in pids:
            assert gone(pid)
        assert {agents.state(session).status for session in sessions} == {"running"}


def test_a_second_fleet_of_one_core_finds_the_workers(
    fleet: Fleet, core: AgentStepperCore, workers: WorkerProcesses, new_fleet: Callable[..., Fleet]
) -> None:
    pids = workers.wait_for(fleet, lambda pids: len(pids) == 2)
    again = new_fleet(fleet.client, core)
    assert again.name == fleet.name
    assert workers.list(again) == pids


def test_a_node_has_so_many_workers_whatever_dask_workers_it_has(
    cluster: LocalCluster,
    core: AgentStepperCore,
    workers: WorkerProcesses,
    new_fleet: Callable[..., Fleet],
) -> None:
    fleet = new_fleet(cluster, core, workers_per_node=1)
    (pid,) = workers.wait_for(fleet, bool)
    os.kill(pid, signal.SIGKILL)
    workers.wait_for(fleet, lambda pids: bool(pids - {pid}))
    assert len(workers.list(fleet)) == 1


def test_workers_outlive_their_dask_workers(
    fleet: Fleet, agents: Agents, workers: WorkerProcesses
) -> None:
    """They go on meanwhile, and the next Dask workers find them."""
    pids = workers.wait_for(fleet, lambda pids: len(pids) == 2)
    sessions = create_jokers(agents)
    killed = set(fleet.client.run(os.getpid).values())
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    go_on(agents, sessions)
    while len(set(fleet.client.run(os.getpid).values()) - killed) < 2:
        time.sleep(PAUSE)  # the nannies start them
    assert workers.wait_for(fleet, lambda pids: len(pids) == 2) == pids
    go_on(agents, sessions)


def test_a_dask_worker_that_retires_drains_its_workers(
    fleet: Fleet, agents: Agents, workers: WorkerProcesses
) -> None:
    before = workers.wait_for(fleet, lambda pids: len(pids) == 2)
    sessions = create_jokers(agents)
    address, described = next(iter(fleet.client.run(_describe, fleet.name).items()))
    fleet.client.retire_workers([address])
    (pid,) = (each["pid"] for each in described)
    assert gone(pid)
    assert workers.list(fleet) == before - {pid}
    go_on(agents, sessions)
    assert find_owners(agents, sessions) == before - {pid}


def test_a_cluster_that_is_closed_drains_its_workers(
    core: AgentStepperCore, agents: Agents, workers: WorkerProcesses
) -> None:
    with start_cluster(1) as cluster:
        fleet = Fleet(cluster, core, worker_options=OPTIONS)
        (pid,) = workers.wait_for(fleet, bool)
        create_jokers(agents, 1)
    assert gone(pid)
    fleet.close()


def _describe(name: str, dask_worker: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = dask_worker.plugins[name].describe()
    return found


@contextmanager
def dask_processes(home: Path) -> Iterator[tuple[Client, list[subprocess.Popen[bytes]]]]:
    """A scheduler and two workers by Dask's own commands, as on several machines."""
    file = home / "scheduler.json"
    common = ("--scheduler-file", str(file), "--no-dashboard", "--dashboard-address", ":0")
    own = ("--host", "127.0.0.1", "--port", "0")
    commands = [
        ["distributed.cli.dask_scheduler", *common, *own],
        *(["distributed.cli.dask_worker", *common, "--nthreads", "1"] for _ in range(2)),
    ]
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", *command],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=home,
        )
        for command in commands
    ]
    try:
        while not file.exists():
            assert processes[0].poll() is None
            time.sleep(PAUSE)
        with Client(scheduler_file=str(file)) as client:
            client.wait_for_workers(2)
            yield client, processes
    finally:
        for process in processes:
            process.kill()
            process.wait()


def test_workers_outlive_the_scheduler_and_end_as_orphans(
    home: Path,
    core: AgentStepperCore,
    agents: Agents,
    workers: WorkerProcesses,
    new_fleet: Callable[..., Fleet],
) -> None:
    with dask_processes(home) as (client, processes):
        fleet = new_fleet(client, core, orphan_timeout_s=2)
        pids = workers.wait_for(fleet, lambda pids: len(pids) == 2)
        sessions = create_jokers(agents)
        processes[0].kill()
        for process in processes:
            process.wait()  # Dask's workers end without their scheduler
        go_on(agents, sessions)
        assert not any(gone(pid, 0) for pid in find_owners(agents, sessions))
        for session in sessions:
            agents.destroy(session_id=session)
        for pid in pids:
            assert gone(pid)


def test_the_cluster_is_scaled_by_the_queue(
    core: AgentStepperCore,
    agents: Agents,
    workers: WorkerProcesses,
    new_fleet: Callable[..., Fleet],
) -> None:
    with start_cluster(0) as cluster:
        fleet = new_fleet(cluster, core)
        fleet.adapt(0, 2, sessions_per_worker=2, interval_s=0.1)
        sessions = create_jokers(agents)
        pids = workers.wait_for(fleet, lambda pids: len(pids) == 2)
        for session in sessions:
            agents.destroy(session_id=session)
        for pid in pids:
            assert gone(pid)
        while fleet.client.nthreads():
            time.sleep(PAUSE)


def test_a_dask_worker_with_a_mapped_agent_is_not_let_go(
    core: AgentStepperCore, new_fleet: Callable[..., Fleet], monkeypatch: pytest.MonkeyPatch
) -> None:
    def wait(number: int, dbg: Any) -> int:
        with dbg.tool("wait", {}) as tool:
            tool.result = None
        return number

    with start_cluster(3) as cluster:
        fleet = new_fleet(cluster, core)
        described = fleet.client.scheduler_info()["workers"]
        # A cluster that isn't told otherwise lets the newest go.
        newest = [address for address, each in described.items() if each["name"] > 0]
        monkeypatch.setattr(fleet.client, "map", partial(fleet.client.map, workers=newest))
        mapped = fleet.map(wait, range(2), breakpoints=["before tool wait"])
        while None in (used := {agent.dask_worker for agent in mapped}):
            time.sleep(PAUSE)
        fleet.adapt(0, 3, agents_per_worker=10, interval_s=0.1)
        while set(fleet.client.nthreads()) != used:
            time.sleep(PAUSE)
        while len(core.hub.debugger.halted_runs) < 2:
            time.sleep(PAUSE)
        for agent in mapped:
            continued = core.continue_execution(agent.run_id)
            asyncio.run_coroutine_threadsafe(continued, core.loop).result()
        assert mapped.results(60) == [0, 1]


def test_only_a_cluster_can_be_scaled(fleet: Fleet, core: AgentStepperCore) -> None:
    address = fleet.client.scheduler_info()["address"]
    with Client(address) as client, Fleet(client, core) as other:
        with pytest.raises(ValueError, match="has no cluster to scale"):
            other.adapt(0, 2)
    with pytest.raises(ValueError, match="The bounds 3 and 2 don't work"):
        fleet.adapt(3, 2)
