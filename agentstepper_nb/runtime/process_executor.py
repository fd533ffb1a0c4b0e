"""Runs a session's steps in processes of the worker's pool."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

from ..discover import CoreEndpoint
from ..errors import AgentStepperError, AgentStopped, StepFrameError, ToolDeniedError
from ..json_log import is_json_logged
from .debugged_run import StepAttempt
from .fork_server import ForkServer, StepProcess
from .frame import FrameOut
from .model_gate import CreditSource
from .process_slots import ProcessSlots
from .step_executor import CLOSE_TIMEOUT_S, OnHalted, StepSettings
from .step_messages import (
    CloseSession,
    Ending,
    OpenSession,
    RunStep,
    SessionOpened,
    StepDone,
    StepFailed,
)
from .step_process import ProcessSettings

#: Seconds that a step which was cancelled has to end, before its process is killed.
_CANCEL_TIMEOUT_S: Final = 1.0
#: Seconds beyond a moniker's own that a process has to close its session.
_CLOSE_GRACE_S: Final = 3.0

#: Returns the endpoint of runs: the relay that carries them over the worker's one connection.
FindRelay = Callable[[], Awaitable[CoreEndpoint]]


class RemoteStepError(AgentStepperError):
    """A step, or the opening of its session, failed in its process; the text says how."""


class ProcessNotStartedError(AgentStepperError):
    """No process could be started: there is no descriptor, process or memory left for one."""


class ProcessPool:
    """The step processes of a worker.

    Args:
        settings: The settings of the processes.
        find_relay: Returns the endpoint of the sessions' runs; None: each run connects to the Core.
        isolates: Whether monikers that aren't cooperative run in processes. False: only suspect sessions
            do.
        limit: The most sessions that have a process at once.
        credits: Grants the sessions' model calls; None: calls aren't limited.
    """

    def __init__(
        self,
        settings: StepSettings,
        find_relay: FindRelay | None = None,
        *,
        isolates: bool = True,
        limit: int,
        credits: CreditSource | None = None,
    ) -> None:
        self.settings = settings
        self.isolates = isolates
        self.slots = ProcessSlots(limit, time.monotonic)
        self._find_relay = find_relay
        self._credits = credits
        self._fork_server = ForkServer()
        self._processes: dict[int, StepProcess] = {}
        self._is_closed = False

    @property
    def process_ids(self) -> tuple[int, ...]:
        """The processes that run."""
        return tuple(pid for pid, each in self._processes.items() if not each.has_ended)

    async def warm_up(self) -> None:
        """Start the fork server, while this worker goes on."""
        try:
            await self._fork_server.warm_up()
        except OSError as error:
            self.settings.log.warning("the fork server of step processes didn't start: %s", error)

    async def start_process(self) -> StepProcess:
        """Start a process for a session that has a slot.

        Raises:
            ProcessNotStartedError: It can't be started now.
        """
        try:
            process = await StepProcess.start(self._fork_server, await self._make_settings())
        except (OSError, EOFError) as error:  # EOFError: the fork server ended meanwhile
            raise ProcessNotStartedError(f"no process could be started: {error}") from error
        if self._is_closed:
            await process.kill()
            raise ProcessNotStartedError("the worker is ending")
        process.credits = self._credits
        process.read_unread = self.settings.read_unread
        self._forget_ended()
        self._processes[process.pid] = process
        return process

    async def _make_settings(self) -> ProcessSettings:
        url, token = None, None
        if self.settings.debugger and self._find_relay is not None:
            endpoint = await self._find_relay()
            url, token = endpoint.url, endpoint.token
        return ProcessSettings(
            data_dir=self.settings.data_dir,
            debugger=self.settings.debugger,
            url=url,
            token=token,
            log_level=self.settings.log.getEffectiveLevel(),
            logs_json=is_json_logged(),
        )

    async def find_exit_code(self, pid: int, timeout_s: float) -> int | None:
        """Find the exit code of a process.

        Args:
            pid: The process' id.
            timeout_s: The most seconds to wait for the process' end.

        Returns:
            The exit code; None: the process still runs, or isn't one of this pool.
        """
        process = self._processes.get(pid)
        if process is None:
            return None
        try:
            async with asyncio.timeout(timeout_s):
                return await process.exit_code()
        except TimeoutError:
            return None

    async def close(self) -> None:
        """Kill the processes whose sessions haven't closed them. Idempotent."""
        self._is_closed = True
        await asyncio.gather(*(each.kill() for each in self._processes.values()))
        self._processes.clear()

    def _forget_ended(self) -> None:
        """Forget the processes that ended, but for the latest: a lost run may still ask for them."""
        ended = [pid for pid, each in self._processes.items() if each.has_ended]
        for pid in ended[:-100]:
            del self._processes[pid]


class ProcessStepExecutor:
    """Runs a session's steps in a process of the pool; see `StepExecutor`.

    Args:
        pool: The pool.
        on_halted: Called where the run halts, and where it goes on.
    """

    is_sharing = False

    def __init__(self, pool: ProcessPool, on_halted: OnHalted) -> None:
        self._pool = pool
        self._on_halted = on_halted
        self._process: StepProcess | None = None
        self._session_id = ""
        self._stops_on_done = True
        self._interval_s = 0.0

    @property
    def is_open(self) -> bool:
        """Whether the session has a process now, as far as is known."""
        return self._process is not None and not self._process.has_ended

    @property
    def is_halted(self) -> bool:
        """Whether the run waits at a halt point."""
        return self._process is not None and self._process.is_halted

    @property
    def stops_on_done(self) -> bool:
        """The moniker's value when the session was opened."""
        return self._stops_on_done

    @property
    def interval_s(self) -> float:
        """The moniker's value after the last step."""
        return self._interval_s

    def has_room(self) -> bool:
        """Whether the session has a process, or may have one at once."""
        return self._pool.slots.has_room(self)

    async def acquire(self) -> None:
        """Wait for a process' turn."""
        await self._pool.slots.acquire(self)

    def set_idle(self, wait_s: float) -> None:
        """The process may be given up for another session."""
        self._pool.slots.set_idle(self, wait_s)

    async def open(self, session: OpenSession) -> str | None:
        """Start a process, and open the session in it.

        Raises:
            ProcessLostError: The process ended before the session was open.
            ProcessNotStartedError: No process can be started now.
            RemoteStepError: The moniker can't be made.
        """
        self._session_id = session.session_id
        await self._discard()
        process = self._process = await self._pool.start_process()
        process.on_halted = self._on_halted
        try:
            reply = await process.request(session)
        except asyncio.CancelledError:
            await self._discard()
            raise
        if isinstance(reply, SessionOpened):
            self._stops_on_done = reply.stops_on_done
            return reply.run_id
        assert isinstance(reply, StepFailed)
        await self._discard()
        raise RemoteStepError(reply.error)

    async def step(self, attempt: StepAttempt) -> FrameOut:
        """Run a step. Cancelled, it cancels the step, and kills the process of one that goes on.

        Raises:
            AgentStopped: A person pressed Stop.
            ToolDeniedError: A person denied the step.
            StepFrameError: A person's edit is no frame.
            ProcessLostError: The process ended before the step did.
            RemoteStepError: The step failed.
        """
        assert self._process is not None
        try:
            reply = await self._process.request(RunStep(frame=attempt.frame))
        except asyncio.CancelledError:
            await self._process.cancel_step(_CANCEL_TIMEOUT_S)
            raise
        if isinstance(reply, StepDone):
            attempt.frame, attempt.read = reply.frame, reply.read
            self._interval_s = math.inf if reply.interval_s is None else reply.interval_s
            return reply.out
        assert isinstance(reply, StepFailed)
        if reply.frame is not None:
            attempt.frame = reply.frame
        raise _make_error(reply)

    async def close(self, error: BaseException | None) -> None:
        """Close the session in its process, which ends, and give the slot to another."""
        ending: Ending = "failed"
        if error is None:
            ending = "done"
        elif isinstance(error, asyncio.CancelledError | AgentStopped):
            ending = "suspended"
        await self._close(CloseSession(ending=ending, error=None if error is None else str(error)))
        self._pool.slots.release(self)

    async def give_up_process(self) -> None:
        """End the process for another session's sake: this one goes on in a new one."""
        self._pool.settings.log.debug("session %s gives up its process", self._session_id)
        await self._close(CloseSession(ending="suspended"))

    async def _close(self, message: CloseSession) -> None:
        process, self._process = self._process, None
        if process is not None:
            await process.close(message, CLOSE_TIMEOUT_S + _CLOSE_GRACE_S)

    async def _discard(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            await process.kill()


def _make_error(failed: StepFailed) -> BaseException:
    """What the session's runner is to see of a failure in a process."""
    makers: dict[str, Callable[[str], Any]] = {
        "stopped": AgentStopped,
        "denied": ToolDeniedError,
        "bad_edit": lambda text: StepFrameError(text, edited=True),
    }
    error: BaseException = makers.get(failed.kind, RemoteStepError)(failed.error)
    return error
