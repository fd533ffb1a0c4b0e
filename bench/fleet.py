"""`python -m bench.fleet`: a thousand sessions at once, some of which harm their process.

Cores and workers are processes of their own with `ulimit -n 1024`; a worker that ends is started again.
Steps wait for nothing. One session in fifty crashes, blocks or leaks in one of its steps, again each
time that it is tried. At the end each other session has to have done each of its steps once, and each
harmful one has to have ended as an error at its step.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from msgspec import to_builtins

from agentstepper_nb.protocol.fleet import FleetStatus
from agentstepper_nb.protocol.runtime import AgentState, SessionStatus
from agentstepper_nb.runtime.client import AsyncAgents
from tests.helpers.postgres_server import run_server

from .fleet_monikers import HARMS, CountConfig, FleetCount, install
from .fleet_processes import MeasuredCore, MeasuredWorker, Peak, PeakWatch
from .report_fleet import make_fleet_section

Isolation = Literal["process", "none"]
StoreKind = Literal["sqlite", "postgresql"]

#: One session in so many is harmful.
HARM_EVERY: Final = 50
#: Seconds of a try of a step: a step that blocks is ended then.
_STEP_TIMEOUT_S: Final = 2.0
#: Seconds between two looks at how it stands, and at what the processes take.
_LOOK_S: Final = 0.5
#: Creations, and lists of steps, that are asked for at once.
_AT_ONCE: Final = 32
_ENDED: Final = {
    FleetStatus.DONE,
    FleetStatus.ERROR,
    FleetStatus.QUARANTINED,
    FleetStatus.STOPPED,
}


@dataclass(frozen=True)
class FleetEffort:
    """How much is measured.

    Args:
        sessions: Sessions of all Cores together.
        workers: Workers of all Cores together, in turn.
        steps: Steps of each session.
        isolation: `--isolation` of the workers.
        cores: Cores; several need `postgresql`.
        store: Where the sessions are.
        harm_every: One session in so many is harmful; 0: none is.
        timeout_s: Seconds after which what hasn't ended is stuck.
    """

    sessions: int = 1000
    workers: int = 4
    steps: int = 60
    isolation: Isolation = "process"
    cores: int = 1
    store: StoreKind = "sqlite"
    harm_every: int = HARM_EVERY
    timeout_s: float = 3600.0


@dataclass(frozen=True)
class FleetRun:
    """What a fleet took, and what isn't where it should be."""

    effort: FleetEffort
    steps: int  # that are stored
    wall_s: float  # from the first creation until the last session has ended
    core_cpu_s: float  # of a processor, that all Cores together took for it
    core: Peak
    worker: Peak
    restarts: int  # workers that ended, and were started again
    runs_bytes: int  # of the runs that the Cores' folders have
    sessions_bytes: int  # of SQLite's sessions, steps and actions; 0 where they are elsewhere
    faults: tuple[str, ...]  # sessions that aren't where they should be, and how they stand
    load: float  # the machine's, over the last minute of it

    @property
    def steps_per_s(self) -> float:
        """Steps of all sessions together."""
        return self.steps / self.wall_s


@dataclass(frozen=True)
class PlannedSession:
    """A session of the fleet, and where it has to end."""

    id: str
    config: CountConfig

    def find_fault(self, state: AgentState, iterations: Sequence[int]) -> str | None:
        """What is wrong with it; None for nothing.

        Args:
            state: How it ended.
            iterations: Those of its steps that went well, as they are listed.
        """
        harm = self.config.harm
        wanted = SessionStatus.ERROR if harm else SessionStatus.DONE
        number = self.config.harm_at if harm else self.config.steps
        if state.status is wanted and list(iterations) == list(range(number)):
            return None
        return (
            f"{self.id} ({harm or 'harmless'}) is {state.status} with {len(iterations)} steps in place "
            f"of {wanted} with {number}: {state.last_error}"
        )


def plan_sessions(effort: FleetEffort) -> list[PlannedSession]:
    """All sessions; the harmful ones are spread over them, and their harm over their steps."""
    return [_plan_session(number, effort) for number in range(effort.sessions)]


def _plan_session(number: int, effort: FleetEffort) -> PlannedSession:
    config = CountConfig(steps=effort.steps)
    every = effort.harm_every
    if every and number % every == every // 2:
        harmful = number // every
        harm = list(HARMS)[harmful % len(HARMS)]
        config = CountConfig(steps=effort.steps, harm=harm, harm_at=harmful * 7 % effort.steps)
    return PlannedSession(f"fleet-{number}", config)


def measure(effort: FleetEffort) -> FleetRun:
    """Run a fleet to its end.

    Args:
        effort: How large it is.

    Raises:
        TimeoutError: Sessions are stuck; the text says how many, and how they stand.
    """
    with tempfile.TemporaryDirectory(prefix="bench-fleet-") as folder:
        if effort.store == "sqlite":
            return asyncio.run(_Measurement(effort, Path(folder), "sqlite").run())
        with run_server(is_durable=True) as server:
            location = server.create_database()
            return asyncio.run(_Measurement(effort, Path(folder), location).run())


class _Measurement:
    """A fleet while it is measured.

    Args:
        effort: How large it is.
        folder: For all that it stores.
        store: `--runtime-store`.
    """

    def __init__(self, effort: FleetEffort, folder: Path, store: str) -> None:
        self._effort = effort
        self._planned = plan_sessions(effort)
        self._folder = folder
        self._cores = [
            MeasuredCore(folder / f"core{number}", store) for number in range(effort.cores)
        ]

    async def run(self) -> FleetRun:
        """Start all of it, wait for its end, and look whether all is where it should be."""
        async with AsyncExitStack() as stack:
            for core in self._cores:
                stack.enter_context(core.run())
            clients = [
                await stack.enter_async_context(AsyncAgents.connect(core.url, core.control_token))
                for core in self._cores
            ]
            workers = self._make_workers()
            for worker in workers:
                await stack.enter_async_context(worker.run())
            await self._wait_for_workers(clients)
            watch = PeakWatch(self._cores, workers)
            begin = time.perf_counter()
            async with asyncio.TaskGroup() as group:
                group.create_task(self._create(clients))
                group.create_task(self._wait_for_ends(clients[0], watch))
            wall_s, load = time.perf_counter() - begin, os.getloadavg()[0]
            core_cpu_s = watch.core_cpu_s
            restarts = sum(len(worker.endings) for worker in workers)
            steps, faults = await self._check(clients[0])
        return FleetRun(
            effort=self._effort,
            steps=steps,
            wall_s=wall_s,
            core_cpu_s=core_cpu_s,
            core=watch.core,
            worker=watch.worker,
            restarts=restarts,
            runs_bytes=self._count_bytes("store.sqlite*") + self._count_bytes("search.sqlite*"),
            sessions_bytes=self._count_bytes("runtime.sqlite*"),
            faults=tuple(faults),
            load=load,
        )

    def _make_workers(self) -> list[MeasuredWorker]:
        environment, options = self._make_environment(), ("--isolation", self._effort.isolation)
        return [
            MeasuredWorker(self._cores[number % self._effort.cores], options, environment)
            for number in range(self._effort.workers)
        ]

    def _make_environment(self) -> dict[str, str]:
        root, installed = Path(__file__).parents[1], install(self._folder / "installed")
        paths = [str(root), str(installed), *filter(None, [os.environ.get("PYTHONPATH")])]
        return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}

    async def _wait_for_workers(self, clients: Sequence[AsyncAgents]) -> None:
        for number, client in enumerate(clients):
            wanted = len(range(number, self._effort.workers, self._effort.cores))
            while True:
                if (await client.status()).dispatchers >= wanted:
                    break
                await asyncio.sleep(_LOOK_S)

    async def _create(self, clients: Sequence[AsyncAgents]) -> None:
        turn = asyncio.Semaphore(_AT_ONCE)

        async def create(number: int, session: PlannedSession) -> None:
            async with turn:
                await clients[number % len(clients)].create_agent(
                    f"agent-{number % 10}",
                    FleetCount.name,
                    to_builtins(session.config),
                    session_id=session.id,
                    step_timeout_s=_STEP_TIMEOUT_S if session.config.harm == "block" else None,
                )

        await asyncio.gather(*(create(*each) for each in enumerate(self._planned)))

    async def _wait_for_ends(self, client: AsyncAgents, watch: PeakWatch) -> None:
        deadline = time.monotonic() + self._effort.timeout_s
        while True:
            counts = (await client.fleet()).report.counts
            if sum(each.count for each in counts if each.status in _ENDED) == len(self._planned):
                return
            if time.monotonic() > deadline:
                stand = ", ".join(f"{each.count} {each.status}" for each in counts)
                raise TimeoutError(f"After {self._effort.timeout_s:g} s sessions stand as: {stand}")
            watch.look()
            await asyncio.sleep(_LOOK_S)

    async def _check(self, client: AsyncAgents) -> tuple[int, list[str]]:
        """How many steps are stored, and which sessions aren't where they should be."""
        turn = asyncio.Semaphore(_AT_ONCE)

        async def check(session: PlannedSession) -> tuple[int, str | None]:
            async with turn:
                state = await client.state(session.id)
                limit = self._effort.steps + 100
                steps = await client.list_agent_steps(session.id, limit=limit)
            good = [step.iteration for step in steps if step.error is None]
            return len(good), session.find_fault(state, good)

        checked = await asyncio.gather(*map(check, self._planned))
        return sum(count for count, _ in checked), [fault for _, fault in checked if fault]

    def _count_bytes(self, pattern: str) -> int:
        found: Iterator[Path] = (
            path for core in self._cores for path in core.data.glob(pattern) if path.is_file()
        )
        return sum(path.stat().st_size for path in found)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure one fleet, and print it."""
    options = _parser().parse_args(arguments)
    run = measure(FleetEffort(**vars(options)))
    print("\n".join([*make_fleet_section([run]), "", *run.faults]), repr(run), sep="\n")


def _parser() -> argparse.ArgumentParser:
    usual = FleetEffort()
    parser = argparse.ArgumentParser(prog="python -m bench.fleet", description="A fleet's cost.")
    add = parser.add_argument
    add("--sessions", type=int, default=usual.sessions, help="(%(default)s)")
    add("--workers", type=int, default=usual.workers, help="of all Cores (%(default)s)")
    add("--steps", type=int, default=usual.steps, help="of each session (%(default)s)")
    add("--isolation", choices=("process", "none"), default=usual.isolation, help="(%(default)s)")
    add("--cores", type=int, default=usual.cores, help="several need postgresql (%(default)s)")
    add("--store", choices=("sqlite", "postgresql"), default=usual.store, help="(%(default)s)")
    add(
        "--harm-every",
        type=int,
        default=usual.harm_every,
        help="one session in so many is harmful; 0: none (%(default)s)",
    )
    add(
        "--timeout-s",
        type=float,
        default=usual.timeout_s,
        help="seconds until what hasn't ended is stuck (%(default)s)",
    )
    return parser


if __name__ == "__main__":
    main()
