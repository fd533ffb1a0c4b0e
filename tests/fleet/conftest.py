"""A Core, a Dask cluster of two processes, and a fleet on it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import create_autospec

import pytest
from distributed import Client, LocalCluster

from agentstepper_nb import Agents
from agentstepper_nb.fleet import Fleet
from agentstepper_nb.hub import AgentStepperCore
from tests.worker.processes import gone

#: What workers are told here. Leases are as long as ever: busy machines renew late.
OPTIONS = ("--poll", "0.1", "--log-level", "debug")
#: Seconds between two looks at what nobody tells of.
PAUSE = 0.05


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing of whoever runs the tests is found, and the cluster's files are the test's."""
    for name in ("JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "TMPDIR"):
        folder = tmp_path / name.lower()
        folder.mkdir()
        monkeypatch.setenv(name, str(folder))
    for name in ("URL", "TOKEN", "CONTROL_TOKEN", "WORKER_TOKEN", "CA_FILE", "CERTIFICATE"):
        monkeypatch.delenv(f"AGENTSTEPPER_{name}", raising=False)
    return tmp_path


@pytest.fixture
def core(home: Path) -> Iterator[AgentStepperCore]:
    with AgentStepperCore("127.0.0.1", 0, 0) as core:
        yield core


@pytest.fixture
def agents(core: AgentStepperCore) -> Iterator[Agents]:
    with Agents.connect(core.url(core.client_port)) as agents:
        yield agents


@pytest.fixture
def client() -> Any:
    """Stands for a client of Dask, without a cluster."""
    client = create_autospec(Client, instance=True)
    client.asynchronous, client.status = False, "running"
    return client


@pytest.fixture
def cluster(home: Path) -> Iterator[LocalCluster]:
    with start_cluster() as cluster:
        yield cluster


def start_cluster(n_workers: int = 2) -> LocalCluster:
    """A cluster of processes on this machine."""
    return LocalCluster(
        n_workers=n_workers, threads_per_worker=4, processes=True, dashboard_address=":0"
    )


def create_jokers(agents: Agents, count: int = 6) -> list[str]:
    """Sessions that tell jokes, at work."""
    sessions = [agents.create_agent(f"a{n}", "joke", {"interval_s": 0.1}) for n in range(count)]
    for session in sessions:
        agents.wait_for(session, iteration=2)
    return sessions


def go_on(agents: Agents, sessions: list[str]) -> None:
    """Wait until each session has done more; no step was done twice."""
    for session in sessions:
        agents.wait_for(session, iteration=agents.state(session).iteration + 3)
        steps = agents.list_agent_steps(session, limit=1000)
        assert [step.iteration for step in steps] == list(range(len(steps)))


class WorkerProcesses:
    """The worker processes that a fleet has placed; those that are left are killed in the end."""

    def __init__(self) -> None:
        self.seen: set[int] = set()

    def list(self, fleet: Fleet) -> set[int]:
        """The process ids of those that are there."""
        pids = {each["pid"] for each in fleet.list_workers()}
        self.seen |= pids
        return pids

    def wait_for(self, fleet: Fleet, happened: Callable[[set[int]], bool]) -> set[int]:
        """Wait until this is true of those that are there."""
        while not happened(pids := self.list(fleet)):
            time.sleep(PAUSE)
        return pids

    def kill_all(self) -> None:
        for pid in filter(is_worker, self.seen):
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                continue
            assert gone(pid)


def is_worker(pid: int) -> bool:
    """Whether this is still a worker: ids of those that died soon name others' processes or threads."""
    try:
        return b"agentstepper_nb\0worker\0" in Path("/proc", f"{pid}", "cmdline").read_bytes()
    except OSError:
        return False


@pytest.fixture
def workers() -> Iterator[WorkerProcesses]:
    workers = WorkerProcesses()
    yield workers
    workers.kill_all()


@pytest.fixture
def new_fleet(workers: WorkerProcesses) -> Iterator[Callable[..., Fleet]]:
    """Places workers."""
    with ExitStack() as stack:

        def start(cluster: Any, core: AgentStepperCore, **options: Any) -> Fleet:
            fleet = Fleet(cluster, core, **{"worker_options": OPTIONS} | options)
            return stack.enter_context(fleet)

        yield start


@pytest.fixture
def fleet(cluster: LocalCluster, core: AgentStepperCore, new_fleet: Callable[..., Fleet]) -> Fleet:
    return new_fleet(cluster, core)
