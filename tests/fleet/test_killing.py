"""Kills at random of all that a fleet is made of: no step is lost, and none is done twice."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from distributed import Client

from agentstepper_nb import Agents
from agentstepper_nb.discover import CoreTokens
from agentstepper_nb.fleet import Fleet
from agentstepper_nb.fleet.worker_slots import WorkerSlot, open_fleet_folder
from agentstepper_nb.protocol.runtime import ActionKind, AgentState, AgentStep, SessionStatus
from tests.fleet.conftest import OPTIONS, PAUSE, WorkerProcesses, create_jokers, go_on
from tests.helpers.postgres_server import PostgresServer
from tests.runtime.processes import LEASE, CoreProcesses, RuntimeClient, kill, run

#: Seconds in which something is killed again and again.
DURATION_S = float(os.environ.get("FLEET_KILLS_S", "150"))
#: Seconds in which each session has to do another step, whatever was killed: beyond it, it is stuck.
STUCK_S = 120
SESSIONS = tuple(f"joke{number}" for number in range(8))
#: What is killed, each as often as the others.
VICTIMS = ("worker", "workers", "dask_worker", "scheduler", "core", "cores", "server", "backend")

Steps = dict[tuple[str, int], AgentStep]


class Site(CoreProcesses):
    """A Core in a process, with all that a fleet asks of one."""

    _is_forked = False

    def __init__(self, folder: Path, location: str) -> None:
        super().__init__(folder, ("--no-worker", "--runtime-store", location))
        self.client_port = 0
        self.tokens = CoreTokens("", self.control, self.token)
        self._living = ExitStack()

    def url(self, port: int) -> str:
        return f"ws://127.0.0.1:{port}"

    def start(self) -> None:
        self._process = self._living.enter_context(self.core())
        self.client_port = int(self.agents.rpartition(":")[2])

    def kill(self) -> None:
        code = self._process.poll()
        assert code is None, f"it ended by itself: {code}, {self._process.communicate()}"
        kill(self._process)
        self._living.close()

    def __enter__(self) -> Site:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._living.close()


class DaskProcesses:
    """A scheduler and two Dask workers by Dask's own commands, and a fleet of each Core on them.

    Args:
        folder: For the scheduler's file.
        sites: The Cores.
    """

    def __init__(self, folder: Path, sites: list[Site]) -> None:
        self._folder = folder
        self._sites = sites
        self._processes: list[subprocess.Popen[bytes]] = []
        self._count = 0
        self._fleet_names: list[str] = []
        self._client: Client | None = None

    def start(self) -> None:
        """Start all of it, and place a worker of each Core where none is."""
        self._count += 1
        file = self._folder / f"scheduler{self._count}.json"
        self._processes = [self._run("dask_scheduler", file, "--port", "0")]
        while not file.exists():
            assert self._processes[0].poll() is None
            time.sleep(0.05)
        for _ in range(2):
            self._start_worker(file)
        client = self._client = Client(scheduler_file=str(file), set_as_default=False)
        client.wait_for_workers(2)
        options = (*OPTIONS, "--lease", LEASE)
        fleets = [
            Fleet(client, site, workers_per_node=1, worker_options=options) for site in self._sites
        ]
        self._fleet_names = [fleet.name for fleet in fleets]

    def kill_scheduler(self) -> None:
        """Kill the scheduler, and its Dask workers, which end without it; start them all again."""
        if self._client is not None:
            self._client.close()
        for (
            each
        ) in self._processes:  # a Dask worker that just starts goes on looking for the scheduler
            each.kill()
            each.wait()
        self.start()

    def kill_worker(self, chance: random.Random) -> None:
        """Kill a Dask worker, and start another."""
        victim = chance.choice(self._processes[1:])
        victim.kill()
        victim.wait()
        self._processes.remove(victim)
        self._start_worker(self._folder / f"scheduler{self._count}.json")

    def find_workers(self) -> list[int]:
        """The process ids of our workers, which are no children of Dask's."""
        folders = [open_fleet_folder(name) for name in self._fleet_names]
        pids = [WorkerSlot(folder, "node-0", (), dict).pid for folder in folders]
        return [pid for pid in pids if pid is not None]

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
        for each in self._processes:
            each.kill()
            each.wait()

    def _start_worker(self, file: Path) -> None:
        self._processes.append(self._run("dask_worker", file, "--nthreads", "1", "--no-nanny"))

    def _run(self, name: str, file: Path, *options: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.{name}", "--scheduler-file", str(file)]
        return subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--dashboard-address", ":0", *options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self._folder,
        )


@contextmanager
def dask_on(folder: Path, sites: list[Site], workers: WorkerProcesses) -> Iterator[DaskProcesses]:
    """Dask's processes and the fleets; at the end all are killed."""
    dask = DaskProcesses(folder, sites)
    try:
        dask.start()
        yield dask
    finally:
        dask.close()
        workers.seen |= set(dask.find_workers())


async def read_steps(client: RuntimeClient) -> Steps:
    """All steps that are acknowledged."""
    found: Steps = {}
    for session in SESSIONS:
        for step in await client.steps(session):
            assert (session, step.iteration) not in found, "a step stands twice"
            found[session, step.iteration] = step
    return found


async def wait_farther(client: RuntimeClient) -> None:
    """Wait until each session has done another step."""
    before = {session: (await client.state(session)).iteration for session in SESSIONS}
    states: dict[str, AgentState] = {}

    def is_farther(now: dict[str, AgentState]) -> bool:
        states.update(now)
        return all(
            session in now and now[session].iteration > before[session] for session in SESSIONS
        )

    try:
        async with asyncio.timeout(STUCK_S):
            await client.wait_until(is_farther)
    except TimeoutError:
        stuck = [each for id, each in states.items() if each.iteration <= before[id]]
        pytest.fail(f"stuck: {stuck}")


def kill_one(
    victim: str,
    chance: random.Random,
    sites: list[Site],
    dask: DaskProcesses,
    server: PostgresServer,
) -> None:
    """Kill something by SIGKILL, and start again what nobody else does."""

    def kill_cores(dying: list[Site]) -> None:
        for site in dying:
            site.kill()
        for site in reversed(dying):
            site.start()

    def kill_workers(number: int) -> None:
        for pid in chance.sample(found := dask.find_workers(), min(number, len(found))):
            os.kill(pid, signal.SIGKILL)

    def kill_server() -> None:
        server.kill()
        server.start()

    kills: dict[str, Any] = {
        "worker": lambda: kill_workers(1),
        "workers": lambda: kill_workers(2),
        "dask_worker": lambda: dask.kill_worker(chance),
        "scheduler": dask.kill_scheduler,
        "core": lambda: kill_cores([chance.choice(sites)]),
        "cores": lambda: kill_cores(sites),
        "server": kill_server,
        "backend": lambda: kill_backend(chance, server),
    }
    kills[victim]()


def kill_backend(chance: random.Random, server: PostgresServer) -> None:
    """Kill a process that serves a connection: PostgreSQL ends the others, and starts them again."""
    query = "SELECT pid FROM pg_stat_activity WHERE datname LIKE 'test%%' AND backend_type = %s"
    found = [pid for (pid,) in server.execute(query, "client backend")]
    if found:
        os.kill(chance.choice(found), signal.SIGKILL)
    while True:
        try:
            server.execute("SELECT 1")
            return
        except psycopg.OperationalError:
            time.sleep(0.05)


def wait_for_dispatchers(agents: Agents, number: int) -> None:
    """Wait until so many workers are connected: a process that has begun may import for long."""
    while agents.status().dispatchers != number:
        time.sleep(PAUSE)


@pytest.mark.soak
@pytest.mark.timeout(300)
def test_a_worker_that_died_is_started_again(
    fleet: Fleet, agents: Agents, workers: WorkerProcesses
) -> None:
    before = workers.wait_for(fleet, lambda pids: len(pids) == 2)
    wait_for_dispatchers(agents, 2)
    sessions = create_jokers(agents)
    for pid in before:
        os.kill(pid, signal.SIGKILL)
    workers.wait_for(fleet, lambda pids: len(pids - before) == 2)
    wait_for_dispatchers(agents, 2)
    go_on(agents, sessions)
    logs = [Path(each["log"]) for each in fleet.list_workers()]
    for log in (*logs, *(Path(f"{log}.1") for log in logs)):  # also of those that died
        assert "connected to the Core" in log.read_text()


@pytest.mark.soak
@pytest.mark.timeout(DURATION_S + 600)
def test_whatever_dies_of_a_fleet(
    home: Path, postgres_server: PostgresServer, workers: WorkerProcesses
) -> None:
    async def test() -> None:
        chance = random.Random(24)
        location = postgres_server.create_database()
        counts = dict.fromkeys(VICTIMS, 0)
        longest_s = 0.0
        async with AsyncExitStack() as stack:
            sites = [stack.enter_context(Site(home / name, location)) for name in ("one", "two")]
            dask = stack.enter_context(dask_on(home, sites, workers))
            clients = [await stack.enter_async_context(site.client()) for site in sites]
            payload = {
                "moniker": "joke",
                "config": {"interval_s": 1.0},
                "limits": {"max_attempts": 100},
            }
            for session in SESSIONS:
                await clients[0].enqueue(ActionKind.CREATE, session, agent_id="a", payload=payload)
            await clients[0].wait_until(
                lambda states: all(id in states and states[id].iteration for id in SESSIONS)
            )
            acknowledged: Steps = {}
            victims: list[str] = []
            ends_at = time.monotonic() + DURATION_S
            while time.monotonic() < ends_at:
                acknowledged |= await read_steps(chance.choice(clients))
                victims = victims or chance.sample(VICTIMS, len(VICTIMS))
                victim = victims.pop()
                kill_one(victim, chance, sites, dask, postgres_server)
                counts[victim] += 1
                began = time.monotonic()
                if chance.random() < 0.7:  # else something else is killed meanwhile
                    await wait_farther(chance.choice(clients))
                    longest_s = max(longest_s, time.monotonic() - began)
            await wait_farther(clients[0])
            steps = await read_steps(clients[1])
            print(f"{counts}, {len(steps)} steps, at most {longest_s:.1f} s until all went on")
            assert {key: steps.get(key) for key in acknowledged} == acknowledged
            for session in SESSIONS:
                own = [steps[key] for key in steps if key[0] == session]
                assert [step.iteration for step in own] == list(range(len(own)))
                counted = [step.state["count"] for step in own]
                assert counted == list(range(1, len(own) + 1))
                assert {step.error for step in own} == {None}
                assert (await clients[1].state(session)).status is SessionStatus.RUNNING

    run(test)
