"""A session: three agents, one person, and a Core that is killed again and again, and started again."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agentstepper_nb.store.sqlite.reader import StoreReader
from tests.helpers.forked_python import start_python
from tests.helpers.serve_process import ServeExitedError

from .core_hosts import CoreHost, RunningCore
from .faults import KillPoint
from .journal_check import AgentJournal, check_journal, check_killed_journal
from .person import CONTINUED, HALTED, STEPPED, TIMEOUT_S, RandomView

NAMES: Final = (STEPPED, CONTINUED, HALTED)


@dataclass
class CrashTest:
    """One of them.

    Args:
        host: Where the Core runs.
        folder: Where everything else lies.
        seed: Decides when a Core dies, and what is edited.
        relaxed: Whether the Core answers before it records.
    """

    host: CoreHost
    folder: Path
    seed: int
    relaxed: bool = False

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._enough = self.folder / "enough"

    def survive(self, points: Sequence[KillPoint]) -> None:
        """Kill the Core at each of these points, let all agents end, and judge."""
        with ExitStack() as stack:
            with self._core(KillPoint.ANYWHERE) as core:
                person = RandomView(self.seed)
                agents = [stack.enter_context(self._agent(name)) for name in NAMES]
                _watch(person, core, lambda: person.met == set(NAMES))
                core.process.kill()  # as one more: from now on each of them comes back
            for point in points:
                self._kill_at(point, person)
            person.ends = True
            with self._core(KillPoint.ANYWHERE) as core:
                # A goodbye waits 10 s for a Core, and finding back may take longer.
                _watch(person, core, lambda: person.here == set(NAMES))
                self._enough.touch()
                _watch(person, core, lambda: len(person.ended) == len(NAMES))
                for agent in agents:
                    assert agent.wait(TIMEOUT_S) == 0
            self._check(person)

    def lose_agents(self, count: int, name: str) -> None:
        """Kill one agent after the other, the Core lives, and judge.

        Args:
            count: How many.
            name: What they are called, by which they are stepped or continue.
        """
        person = RandomView(self.seed)
        with self._core(KillPoint.ANYWHERE) as core:
            for number in range(count):
                self._lose_one(person, core, number, name)
            core.process.kill()
            core.process.wait(TIMEOUT_S)
        reader = StoreReader(self.host.data / "store.sqlite")
        try:
            for number in range(count):
                journal = AgentJournal.read(self.folder / f"{number}.journal")
                history = reader.history(journal.run)
                check_killed_journal(journal, history, waited=name == STEPPED)
        finally:
            reader.close()

    def _lose_one(self, person: RandomView, core: RunningCore, number: int, name: str) -> None:
        journal = self.folder / f"{number}.journal"
        lines = self._random.randint(1, 200)

        def enough() -> bool:
            return journal.exists() and journal.read_bytes().count(b"\n") >= lines

        with self._agent(name, journal) as agent:
            _watch(person, core, lambda: len(person.begun) > number)
            if name == STEPPED:
                _watch(person, core, enough)
            while not enough():
                assert agent.poll() is None
            agent.kill()
            _watch(person, core, lambda: len(person.ended) > number)

    def _kill_at(self, point: KillPoint, person: RandomView) -> None:
        try:
            with self._core(point) as core:
                person.act_until(core.uis, self._make_kill_condition(point))
                if point is KillPoint.ANYWHERE:
                    core.process.kill()
                assert core.process.wait(TIMEOUT_S) == -9, (point, core.process.communicate())
        except ServeExitedError:
            assert (
                point is not KillPoint.ANYWHERE
            )  # while it found its runs again, before it listened

    def _check(self, person: RandomView) -> None:
        reader = StoreReader(self.host.data / "store.sqlite")
        try:
            headers = reader.list_headers()
            assert sorted(run.program for run in headers) == sorted(NAMES)
            for run in headers:
                journal = AgentJournal.read(self.folder / f"{run.program}.journal")
                assert journal.run == run.id
                history = reader.history(run.id)
                check_journal(journal, history, person.acknowledged, relaxed=self.relaxed)
        finally:
            reader.close()

    def _make_kill_condition(self, point: KillPoint) -> Callable[[], bool]:
        """Whether it is time to kill a Core from outside, after some messages; others die themselves."""
        if point is not KillPoint.ANYWHERE:
            return lambda: False
        left = iter(range(self._random.randint(1, 60)))
        return lambda: next(left, None) is None

    def _core(self, point: KillPoint) -> AbstractContextManager[RunningCore]:
        return self.host.core(point, self._random.randint(1, 12))

    @contextmanager
    def _agent(self, name: str, journal: Path | None = None) -> Iterator[subprocess.Popen[bytes]]:
        journal = journal or self.folder / f"{name}.journal"
        command = [sys.executable, "-m", "tests.crash_recovery.agent", name]
        agent = start_python(
            [*command, str(journal), str(self._enough)],
            env=self.host.environment(),
            stderr=subprocess.DEVNULL,
        )
        try:
            yield agent
        finally:
            agent.kill()
            agent.wait()


def _watch(person: RandomView, core: RunningCore, enough: Callable[[], bool]) -> None:
    """Act until it is enough at a Core that lives, on as many connections as that takes."""
    while not enough():
        assert core.process.poll() is None
        person.act_until(core.uis, enough)
