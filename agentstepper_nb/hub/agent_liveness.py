"""Checks whether disconnected agents still live, and ends the runs of those that don't."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from ..core import Debugger
from ..protocol.data_model import Failure, Run, RunEnding
from . import end_reasons
from .process_info import ProcessInfo, find_process, identify_machine

#: Seconds that an agent may be disconnected if nothing is known of its process.
LOST_AFTER_S: Final = 600.0
#: Seconds between two looks.
CHECK_INTERVAL_S: Final = 1.0
#: A process that began so many seconds after its run is another of the same number; clocks are set.
_START_SLACK_S: Final = 60.0
#: Seconds in which a parent's word on its child finds the run that it belongs to.
_EXIT_CODE_TTL_S: Final = 60.0

FindProcess = Callable[[int], ProcessInfo | None]


class DetachableRuns(Protocol):
    """The runs whose agents may be disconnected, and the ways to end them."""

    log: logging.Logger
    debugger: Debugger
    clock: Callable[[], float]

    def run(self, run_id: str) -> Run:
        """Return a run's header."""

    def finish(
        self,
        run_id: str,
        ending: RunEnding,
        failure: Failure | None = None,
        *,
        is_reported: bool = True,
        exit_code: int | None = None,
    ) -> None:
        """End a run."""

    def report_exit(self, run_id: str, code: int, failure: Failure | None) -> None:
        """Record how the process of an ended run ended."""


class PresumedEnding(NamedTuple):
    """The ending that the Core presumes for a run whose agent is gone."""

    ending: RunEnding
    failure: Failure


class AgentProcess(NamedTuple):
    """A process, as agents name theirs."""

    pid: int
    host: str
    boot: str


class _EndedRun(NamedTuple):
    agent_process: AgentProcess
    at: float
    is_reported: bool  # its agent said how it ended


def presume_ending(
    run: Run,
    process: ProcessInfo | None,
    *,
    is_local: bool,
    can_reconnect: bool,
    waited_s: float,
    timeout_s: float = LOST_AFTER_S,
    start_ticks: int | None = None,
) -> PresumedEnding | None:
    """Presume the ending of a run whose agent is disconnected; None if the agent may come back.

    Args:
        run: The run.
        process: The process with the agent's pid on this machine.
        is_local: Whether the agent ran on this machine.
        can_reconnect: Whether the agent reconnects by itself.
        waited_s: Seconds since the agent was disconnected.
        timeout_s: Seconds that an agent on another machine may be disconnected.
        start_ticks: The agent process's start, in clock ticks since boot, if known.
    """
    if is_local and (process is None or _is_another(process, run, start_ticks)):
        return PresumedEnding(RunEnding.CRASHED, end_reasons.PROCESS_GONE)
    # Not at once: the process may be just about to be gone.
    if not can_reconnect and waited_s >= CHECK_INTERVAL_S:
        return PresumedEnding(RunEnding.LOST, end_reasons.CANNOT_RECONNECT)
    if not is_local and waited_s > timeout_s:
        return PresumedEnding(RunEnding.LOST, end_reasons.describe_silent_agent(timeout_s))
    return None


def _is_another(process: ProcessInfo, run: Run, start_ticks: int | None) -> bool:
    """Whether a process is another one that reuses the pid of a run's agent."""
    if start_ticks is not None and process.start_ticks is not None:
        return process.start_ticks != start_ticks
    return process.started_at is not None and process.started_at > run.started_at + _START_SLACK_S


class AgentLiveness:
    """Watches the disconnected agents.

    Args:
        hub: The service that holds the agents' runs.
        machine: This machine's name and boot id.
        find_process_info: Finds a process of this machine.
        timeout_s: Seconds that an agent on another machine may be disconnected.
    """

    def __init__(
        self,
        hub: DetachableRuns,
        machine: tuple[str, str] | None = None,
        find_process_info: FindProcess = find_process,
        timeout_s: float = LOST_AFTER_S,
    ) -> None:
        self._hub = hub
        self.machine = machine or identify_machine()
        self._find_process_info = find_process_info
        self._timeout_s = timeout_s
        self._away_since: dict[str, float] = {}  # since when each is waited for
        self._exit_codes: dict[
            AgentProcess, tuple[int, float]
        ] = {}  # exit codes of agents that are connected
        self._ended_runs: dict[str, _EndedRun] = {}  # runs that ended, without an exit code yet
        self._timer: asyncio.TimerHandle | None = None

    def find_start_ticks(self, pid: int) -> int | None:
        """Find the start time of a local process, in clock ticks since boot; None where unknown."""
        process = self._find_process_info(pid) if pid > 0 else None
        return process.start_ticks if process else None

    def on_agent_disconnected(self, run: Run) -> None:
        """Handle an agent's disconnection; if its process is already reported as ended, end its run."""
        self._forget_expired()
        self._away_since[run.id] = self._hub.clock()
        exit_info = self._exit_codes.get(self._find_process(run))
        if exit_info is not None:
            self._end(
                run,
                PresumedEnding(RunEnding.CRASHED, end_reasons.describe_ended_process(exit_info[0])),
                exit_info[0],
            )
        else:
            self._check(run.id)
            self._start_timer()

    def on_agent_reconnected(self, run: str) -> None:
        """Handle an agent's reconnection."""
        self._away_since.pop(run, None)

    def on_run_ending(self, run: Run, *, is_reported: bool) -> int | None:
        """Handle a run's end. Returns the exit code if the agent's parent process has reported it.

        Args:
            run: The run, which is still live.
            is_reported: Whether the agent reported the ending.
        """
        self._forget_expired()
        self._away_since.pop(run.id, None)
        agent_process = self._find_process(run)
        exit_info = self._exit_codes.get(agent_process)
        if exit_info is not None:
            return exit_info[0]
        self._ended_runs[run.id] = _EndedRun(agent_process, self._hub.clock(), is_reported)
        return None

    def on_process_ended(self, agent_process: AgentProcess, code: int) -> None:
        """Handle the report of a parent process that an agent's process has ended.

        Args:
            agent_process: The agent's process.
            code: The exit code; -9: ended by signal 9.
        """
        self._forget_expired()
        failure = end_reasons.describe_ended_process(code)
        ended = [id for id, each in self._ended_runs.items() if each.agent_process == agent_process]
        for id in ended:
            is_reported = self._ended_runs.pop(id).is_reported
            self._hub.report_exit(id, code, None if is_reported else failure)
        away = [
            id for id in self._away_since if self._find_process(self._hub.run(id)) == agent_process
        ]
        for id in away:
            self._end(self._hub.run(id), PresumedEnding(RunEnding.CRASHED, failure), code)
        if not ended and not away:
            # What it said last is still to be read.
            self._exit_codes[agent_process] = (
                code,
                self._hub.clock(),
            )

    def on_run_deleted(self, run: str) -> None:
        """Forget a deleted run."""
        self._ended_runs.pop(run, None)

    def check(self) -> None:
        """Check each disconnected agent, and end the runs of those that don't come back."""
        for run in list(self._away_since):
            self._check(run)

    def close(self) -> None:
        """Look no more."""
        self._away_since.clear()
        if self._timer:
            self._timer.cancel()

    def _check(self, id: str) -> None:
        run = self._hub.run(id)
        agent_process = self._find_process(run)
        is_local = (
            agent_process.host,
            agent_process.boot,
        ) == self.machine and agent_process.pid > 0
        process = self._find_process_info(agent_process.pid) if is_local else None
        waited_s = self._hub.clock() - self._away_since[id]
        credentials = self._hub.debugger.agent_credentials(id)
        found = presume_ending(
            run,
            process,
            is_local=is_local,
            can_reconnect=credentials is None or credentials.can_reconnect,
            waited_s=waited_s,
            timeout_s=self._timeout_s,
            start_ticks=(credentials.process_start_ticks or None) if credentials else None,
        )
        if found:
            self._end(run, found)

    def _end(self, run: Run, presumed: PresumedEnding, code: int | None = None) -> None:
        self._hub.finish(
            run.id, presumed.ending, presumed.failure, is_reported=False, exit_code=code
        )

    def _find_process(self, run: Run) -> AgentProcess:
        credentials = self._hub.debugger.agent_credentials(run.id)
        return AgentProcess(run.pid or 0, run.host or "", credentials.boot if credentials else "")

    def _forget_expired(self) -> None:
        """Forget processes that ended long ago: their pids may be reused."""
        old = self._hub.clock() - _EXIT_CODE_TTL_S
        self._exit_codes = {
            agent_process: exit_info
            for agent_process, exit_info in self._exit_codes.items()
            if exit_info[1] >= old
        }
        self._ended_runs = {
            run: ended for run, ended in self._ended_runs.items() if ended.at >= old
        }

    def _start_timer(self) -> None:
        if self._away_since and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(CHECK_INTERVAL_S, self._check_all)

    def _check_all(self) -> None:
        self._timer = None
        try:
            self.check()
        except Exception:
            self._hub.log.exception("Checking the agents that are away failed.")
        self._start_timer()
