"""Whether an agent that is away may still live, and the end of the runs whose agents don't."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from ..core import Debugger
from ..protocol.values import Failure, Run, RunEnding
from . import end_reasons
from .process_info import ProcessInfo, find_process, identify_machine

#: Seconds that an agent may be away of whose process nothing is known.
PATIENCE: Final = 600.0
#: Seconds between two looks.
GLANCE: Final = 1.0
#: A process that began so many seconds after its run is another of the same number; clocks are set.
_SLACK: Final = 60.0
#: Seconds in which a parent's word on its child finds the run that it belongs to.
_RECENT: Final = 60.0

FindProcess = Callable[[int], ProcessInfo | None]


class AwayRuns(Protocol):
    """The runs that agents may be away of, and how they end."""

    log: logging.Logger
    debugger: Debugger
    clock: Callable[[], float]

    def run(self, run_id: str) -> Run:
        """One run's header."""

    def finish(
        self,
        run_id: str,
        ending: RunEnding,
        failure: Failure | None = None,
        *,
        said: bool = True,
        exit_code: int | None = None,
    ) -> None:
        """End a run."""

    def report_exit(self, run_id: str, code: int, failure: Failure | None) -> None:
        """Record how the process of an ended run ended."""


class PresumedEnding(NamedTuple):
    """How a run has ended."""

    ending: RunEnding
    failure: Failure


class AgentProcess(NamedTuple):
    """A process, as agents name theirs."""

    pid: int
    host: str
    boot: str


class _Over(NamedTuple):
    agent_process: AgentProcess
    at: float
    said: bool  # its agent said how it ended


def presume_ending(
    run: Run,
    process: ProcessInfo | None,
    *,
    here: bool,
    returns: bool,
    waited: float,
    patience: float = PATIENCE,
) -> PresumedEnding | None:
    """Say how a run has ended whose agent is away; None where it may come back.

    Args:
        run: The run.
        process: The process of its number on this machine.
        here: Whether that is where the agent ran.
        returns: Whether it comes back by itself.
        waited: Seconds since its agent is waited for.
        patience: How long an agent elsewhere may be away.
    """
    if here:
        other = process and process.started and process.started > run.started_at + _SLACK
        if process is None or other:
            return PresumedEnding(RunEnding.CRASHED, end_reasons.GONE)
    # Not at once: the process may be just about to be gone.
    if not returns and waited >= GLANCE:
        return PresumedEnding(RunEnding.LOST, end_reasons.WONT_RETURN)
    if not here and waited > patience:
        return PresumedEnding(RunEnding.LOST, end_reasons.describe_silent_agent(patience))
    return None


class AgentPresence:
    """Looks after the agents that are away.

    Args:
        hub: Whose they are.
        machine: This machine's name and boot id.
        look: Tells of a process of this machine.
        patience: Seconds that an agent elsewhere may be away.
    """

    def __init__(
        self,
        hub: AwayRuns,
        machine: tuple[str, str] | None = None,
        look: FindProcess = find_process,
        patience: float = PATIENCE,
    ) -> None:
        self._hub = hub
        self._machine = machine or identify_machine()
        self._look = look
        self._patience = patience
        self._away: dict[str, float] = {}  # since when each is waited for
        self._told: dict[
            AgentProcess, tuple[int, float]
        ] = {}  # exit codes of agents that are connected
        self._over: dict[str, _Over] = {}  # runs that ended, without an exit code yet
        self._timer: asyncio.TimerHandle | None = None

    def left(self, run: Run) -> None:
        """An agent is away; where it was told meanwhile that it has ended, so has its run."""
        self._away[run.id] = self._hub.clock()
        told = self._told.pop(self._find_process(run), None)
        if told is not None:
            self._end(
                run,
                PresumedEnding(RunEnding.CRASHED, end_reasons.describe_ended_process(told[0])),
                told[0],
            )
        else:
            self._check(run.id)
            self._wait()

    def back(self, run: str) -> None:
        """An agent is there again."""
        self._away.pop(run, None)

    def ends(self, run: Run, *, said: bool) -> int | None:
        """A run is about to end: its exit code, where its parent has told it.

        Args:
            run: The run, which still lives.
            said: Whether its agent said how.
        """
        self._forget_expired()
        self._away.pop(run.id, None)
        agent_process = self._find_process(run)
        told = self._told.pop(agent_process, None)
        if told is not None:
            return told[0]
        self._over[run.id] = _Over(agent_process, self._hub.clock(), said)
        return None

    def process_ended(self, agent_process: AgentProcess, code: int) -> None:
        """The parent of an agent's process told how that ended.

        Args:
            agent_process: The process.
            code: Its exit code; -9: ended by signal 9.
        """
        self._forget_expired()
        failure = end_reasons.describe_ended_process(code)
        over = [id for id, each in self._over.items() if each.agent_process == agent_process]
        for id in over:
            said = self._over.pop(id).said
            self._hub.report_exit(id, code, None if said else failure)
        away = [id for id in self._away if self._find_process(self._hub.run(id)) == agent_process]
        for id in away:
            self._end(self._hub.run(id), PresumedEnding(RunEnding.CRASHED, failure), code)
        if not over and not away:
            self._told[agent_process] = (
                code,
                self._hub.clock(),
            )  # what it said last is still to be read

    def deleted(self, run: str) -> None:
        """A run is gone."""
        self._over.pop(run, None)

    def check(self) -> None:
        """Look after each that is away, and end the runs of those that don't come back."""
        for run in list(self._away):
            self._check(run)

    def close(self) -> None:
        """Look no more."""
        self._away.clear()
        if self._timer:
            self._timer.cancel()

    def _check(self, id: str) -> None:
        run = self._hub.run(id)
        agent_process = self._find_process(run)
        here = (agent_process.host, agent_process.boot) == self._machine and agent_process.pid > 0
        process = self._look(agent_process.pid) if here else None
        waited = self._hub.clock() - self._away[id]
        proof = self._hub.debugger.proof(id)
        found = presume_ending(
            run,
            process,
            here=here,
            returns=proof is None or proof.returns,
            waited=waited,
            patience=self._patience,
        )
        if found:
            self._end(run, found)

    def _end(self, run: Run, verdict: PresumedEnding, code: int | None = None) -> None:
        self._hub.finish(run.id, verdict.ending, verdict.failure, said=False, exit_code=code)

    def _find_process(self, run: Run) -> AgentProcess:
        proof = self._hub.debugger.proof(run.id)
        return AgentProcess(run.pid or 0, run.host or "", proof.boot if proof else "")

    def _forget_expired(self) -> None:
        """The number of a process that ended long ago may be another's by now."""
        old = self._hub.clock() - _RECENT
        self._told = {
            agent_process: told for agent_process, told in self._told.items() if told[1] >= old
        }
        self._over = {run: over for run, over in self._over.items() if over.at >= old}

    def _wait(self) -> None:
        if self._away and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(GLANCE, self._glance)

    def _glance(self) -> None:
        self._timer = None
        try:
            self.check()
        except Exception:
            self._hub.log.exception("Looking after the agents that are away failed.")
        self._wait()
