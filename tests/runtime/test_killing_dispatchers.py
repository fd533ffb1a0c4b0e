"""Two dispatchers share a queue; one of them is killed, or stopped for longer than its leases last."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from collections import Counter
from contextlib import AbstractContextManager, AsyncExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from agentstepper_nb.protocol.runtime import ActionKind, ActionStatus, AgentState
from agentstepper_nb.protocol.runtime_store_messages import MAX_LIMIT, ActionQuery
from tests.runtime.file_writer import MOST
from tests.runtime.processes import CoreProcesses, RuntimeClient, kill, run

SESSIONS = tuple(f"s{number}" for number in range(2 * MOST))
#: What a journal says of an action whose write was answered.
OVER = ("done", "stale_epoch", "stale_claim")
Process = subprocess.Popen[str]


@dataclass(frozen=True, order=True)
class JournalLine:
    """A line of a journal."""

    at: int
    word: str
    session: str
    number: int
    pid: int

    @property
    def which(self) -> tuple[str, int]:
        """The action."""
        return self.session, self.number


def journals(folder: Path) -> list[JournalLine]:
    """What all dispatchers noted, in the order of time."""
    lines = []
    for path in folder.glob("*.journal"):
        for line in path.read_text().splitlines():
            at, word, session, number = line.split()
            lines.append(JournalLine(int(at), word, session, int(number), int(path.stem)))
    return sorted(lines)


class DispatcherPair:
    """Two dispatchers at work on some actions of each session.

    Args:
        folder: For all of it.
        each: Actions of each session.
    """

    def __init__(self, folder: Path, each: int) -> None:
        self.folder = folder / "filed"
        self.folder.mkdir()
        self.place = CoreProcesses(folder)
        self.each = each

    async def begin(self, stack: AsyncExitStack) -> tuple[RuntimeClient, Process, Process]:
        """Enqueue all of it, and let both have as many sessions, whose creations wait for `go`."""
        stack.enter_context(self.place.core())
        client = await stack.enter_async_context(self.place.client())
        first, second = (stack.enter_context(self._dispatcher()) for _ in range(2))
        for number in range(self.each):
            await asyncio.gather(*(self._enqueue(client, each, number) for each in SESSIONS))
        await client.wait_until(lambda states: all_owned(states))
        return client, first, second

    async def wait_until(self, client: RuntimeClient, part: float) -> None:
        """Wait until so much of it is done."""
        enough = part * self.each * len(SESSIONS)
        await client.wait_until(
            lambda states: sum(each.iteration for each in states.values()) >= enough
        )

    async def check(self, client: RuntimeClient, first: Process) -> None:
        """Each is done once, in order, and none is lost.

        Args:
            client: Asks the queue.
            first: The dispatcher that was killed or stopped.
        """
        expected = {(session, number) for session in SESSIONS for number in range(self.each)}
        made = {tuple(path.name.split(".")[:2]) for path in self.folder.glob("*.made")}
        assert made == {(session, str(number)) for session, number in expected}
        await self._check_queue(client)
        lines = journals(self.folder)
        done = Counter(line.which for line in lines if line.word == "done")
        assert set(done.values()) == {1}
        untold = expected - set(done)  # kept, and who had begun it was killed before it knew
        assert {line.pid for line in lines if line.which in untold} <= {first.pid}
        over = {(line.pid, line.which) for line in lines if line.word in OVER}
        for line in lines:  # who began and didn't end it is the one that was killed
            if line.word == "began" and line.pid != first.pid:
                assert (line.pid, line.which) in over
        for session in SESSIONS:
            begun = [line for line in lines if (line.word, line.session) == ("began", session)]
            numbers = [line.number for line in begun]
            assert numbers[0] == 0
            assert all(later - earlier in (0, 1) for earlier, later in pairwise(numbers))

    async def _check_queue(self, client: RuntimeClient) -> None:
        actions = await client.actions(ActionQuery(limit=MAX_LIMIT))
        assert len(actions) == self.each * len(SESSIONS)
        assert {action.status for action in actions} == {ActionStatus.DONE}

    def _dispatcher(self) -> AbstractContextManager[Process]:
        return self.place.worker("tests.runtime.file_writer", str(self.folder))

    async def _enqueue(self, client: RuntimeClient, session: str, number: int) -> None:
        metadata = {"number": number}
        if number == 0:
            await client.create(session, metadata=metadata)
        else:
            text = {"text": str(number)}
            await client.enqueue(ActionKind.INPUT, session, payload=text, metadata=metadata)


def all_owned(states: dict[str, AgentState]) -> bool:
    """Whether both dispatchers have their share."""
    owners = Counter(state.owner for state in states.values() if state.owner is not None)
    return list(owners.values()) == [MOST, MOST]


def write_line(process: Process, word: str) -> None:
    """Say a line to a process."""
    assert process.stdin is not None
    process.stdin.write(f"{word}\n")
    process.stdin.flush()


async def read_line(process: Process) -> str:
    """The next line that a process says."""
    assert process.stdout is not None
    return (await asyncio.to_thread(process.stdout.readline)).strip()


async def survive_a_kill(folder: Path, each: int) -> None:
    shift = DispatcherPair(folder, each)
    async with AsyncExitStack() as stack:
        client, *both = await shift.begin(stack)
        for process in both:
            write_line(process, "go")
        await shift.wait_until(client, 0.6)  # more than one of them can do alone
        first, _ = both
        kill(first)
        await shift.wait_until(client, 1)
        await shift.check(client, first)
        actions = await client.actions(ActionQuery(limit=MAX_LIMIT))
        assert len({action.owner for action in actions}) == 2


@pytest.mark.slow
def test_two_dispatchers_do_each_action_once_though_one_is_killed(tmp_path: Path) -> None:
    run(lambda: survive_a_kill(tmp_path, 10))


@pytest.mark.soak
@pytest.mark.parametrize("again", range(3))
def test_so_it_is_with_500_actions(tmp_path: Path, again: int) -> None:
    run(lambda: survive_a_kill(tmp_path, 50))


@pytest.mark.slow
def test_what_a_dispatcher_writes_after_its_leases_is_refused(tmp_path: Path) -> None:
    async def test() -> None:
        shift = DispatcherPair(tmp_path, 10)
        async with AsyncExitStack() as stack:
            client, first, second = await shift.begin(stack)
            hold = shift.folder / f"hold.{first.pid}"
            hold.touch()
            for process in (first, second):
                write_line(process, "go")
            for _ in range(MOST):
                assert await read_line(first) == "held"
            first.send_signal(signal.SIGSTOP)
            await shift.wait_until(client, 1)
            hold.unlink()
            write_line(first, "on")
            first.send_signal(signal.SIGCONT)
            for _ in range(MOST):
                assert await read_line(first) == "stale_epoch"
            await shift.check(client, first)

    run(test)
