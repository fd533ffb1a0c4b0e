"""The loop: a frame in, a step, what it gave is kept, and on to the next."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final

from msgspec import UNSET

from ..errors import AgentStepperError, AgentStopped
from . import session_changes
from .agent_base import Controllable
from .debugged_run import DebuggedRun, StepAttempt
from .frame import FrameIn, FrameOut
from .moniker import Moniker
from .session_changes import FinishedStep
from .session_limits import RetryCounter, compute_time_left_s, describe_time_limit
from .session_writer import SessionWriter

_STOPPED: Final = "A person pressed Stop in the debugger."
#: What a moniker's code may end with: none of it may end its worker, too.
STEP_FAILURE_TYPES: Final = (Exception, BaseExceptionGroup, SystemExit, asyncio.CancelledError)


class StepRunner:
    """Does the steps of one life of a session.

    Args:
        agent: Says whether to go on.
        session_writer: Keeps what becomes of the session.
        moniker: Does the steps.
        debugged_run: Shows them.
        new_id: Gives ids.
        clock: Gives POSIX seconds.
        log: Gets what fails.
    """

    def __init__(
        self,
        agent: Controllable,
        session_writer: SessionWriter,
        moniker: Moniker,
        debugged_run: DebuggedRun,
        *,
        new_id: Callable[[], str],
        clock: Callable[[], float],
        log: logging.Logger,
    ) -> None:
        self._agent = agent
        self._session_writer = session_writer
        self._moniker = moniker
        self._debugged_run = debugged_run
        self._new_id = new_id
        self._clock = clock
        self._log = log

    async def run(self) -> None:
        """Do steps until the session is over or is to stop.

        Raises:
            AgentStopped: A person pressed Stop in the debugger; the session is kept as stopped.
            CommandError: What became of it can't be kept.
        """
        while await self._should_continue():
            await self._step()
            if not self._session_writer.has_ended:
                await self._wait_for_next()

    # ---- one step -----------------------------------------------------------------------------------

    async def _step(self) -> None:
        frame = await self._make_frame()
        try:
            done = await self._attempt_step(StepAttempt(frame))
        except AgentStopped:
            await self._session_writer.write(partial(session_changes.mark_stopped, note=_STOPPED))
            raise
        if done is None:
            return  # it is to stop
        await self._session_writer.write(
            lambda state: session_changes.add_step(
                state,
                done,
                stops_on_done=self._moniker.stop_on_done,
                ran_s=self._session_writer.stopwatch.total(),
                new_id=self._new_id,
            )
        )

    async def _make_frame(self) -> FrameIn:
        guidance = await self._session_writer.consume_guidance()
        self._agent.drain_texts()
        state = self._session_writer.state
        return FrameIn(
            step=session_changes.find_next_step(state),
            state=state.state,
            guidance=UNSET if guidance is None else guidance,
        )

    async def _attempt_step(self, attempt: StepAttempt) -> FinishedStep | None:
        """Do a step, as often as the limits give; None where it is to stop before it was done."""
        tries, began = RetryCounter(self._session_writer.state.limits), self._clock()
        while True:
            try:
                out = await self._debugged_run.step(attempt, self._moniker.step)
            except STEP_FAILURE_TYPES as error:
                if isinstance(error, asyncio.CancelledError) and was_cancelled():
                    raise
                if isinstance(error, BaseExceptionGroup) and error.subgroup(AgentStopped):
                    raise AgentStopped(_STOPPED) from error
                wait = tries.next_delay_s(error)
                reason = _describe_failure(error)
            else:
                return self._make_finished_step(attempt, began, out, None)
            if wait is None or self._compute_time_left_s() <= 0:
                self._log.warning("%s: %s", self._describe_step(), reason)
                return self._make_finished_step(attempt, began, None, reason)
            self._log.info("%s: next try in %g s: %s", self._describe_step(), wait, reason)
            if not await self._wait_for_retry(min(wait, self._compute_time_left_s())):
                return None

    def _make_finished_step(
        self, attempt: StepAttempt, began: float, out: FrameOut | None, error: str | None
    ) -> FinishedStep:
        now = self._clock()
        return FinishedStep(
            attempt.frame, out, error, at=now, latency_ms=max(0.0, now - began) * 1000
        )

    def _describe_step(self) -> str:
        state = self._session_writer.state
        return f"step {state.iteration} of session {state.session_id}"

    # ---- waiting ------------------------------------------------------------------------------------

    async def _should_continue(self) -> bool:
        """Wait while it is to pause; False where it has ended or is to stop."""
        agent = self._agent
        while agent.is_pause_requested and not (agent.stopping or self._session_writer.has_ended):
            self._session_writer.stopwatch.stop()
            await wait_first_completed(agent.wait_until_resumed(), agent.wait_for_stop())
        self._session_writer.stopwatch.start()
        return not (agent.stopping or self._session_writer.has_ended)

    async def _wait_for_retry(self, seconds: float) -> bool:
        """Wait before a step is tried again; False where it is to stop."""
        agent = self._agent
        await wait_first_completed(agent.wait_for_stop(), agent.wait_for_pause(), timeout_s=seconds)
        return await self._should_continue()

    async def _wait_for_next(self) -> None:
        """Wait as the moniker wants between two steps; a stop, a pause or guidance ends the wait."""
        agent, seconds = self._agent, max(0.0, self._moniker.step_interval_s())
        deadline = asyncio.get_running_loop().time() + seconds
        await asyncio.sleep(0)  # a moniker that waits for nothing: others have their turn
        while not (agent.stopping or self._session_writer.state.guidance is not None):
            if agent.is_pause_requested:
                if not await self._should_continue() or seconds < math.inf:
                    return
                continue  # it waits for guidance, whatever the time
            remaining_s, time_left_s = (
                deadline - asyncio.get_running_loop().time(),
                self._compute_time_left_s(),
            )
            if remaining_s <= 0:
                return
            events = agent.wait_for_stop(), agent.wait_for_pause(), agent.receive_text()
            if (
                not await wait_first_completed(*events, timeout_s=min(remaining_s, time_left_s))
                and time_left_s <= remaining_s
            ):
                note = describe_time_limit(self._session_writer.state.limits)
                await self._session_writer.write(partial(session_changes.mark_stopped, note=note))
                return

    def _compute_time_left_s(self) -> float:
        return compute_time_left_s(
            self._session_writer.state.limits, self._session_writer.stopwatch.total()
        )


def was_cancelled() -> bool:
    """Whether this task was cancelled, and not something that the step waited for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _describe_failure(error: BaseException) -> str:
    """A failure, for a person."""
    if isinstance(error, asyncio.CancelledError):
        return "The step was cancelled by code that it called."
    if isinstance(error, SystemExit):
        return f"The step's code tried to end the process: SystemExit({error.code!r})."
    if isinstance(error, AgentStepperError):
        return str(error)
    return f"{type(error).__name__}: {error}"


async def wait_first_completed(
    *waits: Coroutine[Any, Any, object], timeout_s: float = math.inf
) -> bool:
    """Wait until one of these is over; the others are cancelled.

    Args:
        waits: What is waited for.
        timeout_s: Seconds to wait at most.

    Returns:
        Whether one was over in that time.
    """
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        limit = None if timeout_s == math.inf else timeout_s
        done, _ = await asyncio.wait(tasks, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        return bool(done)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
