"""The loop: a frame in, a step, what it gave is kept, and on to the next."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Coroutine
from functools import partial
from typing import Any, Final

from msgspec import UNSET

from ..errors import AgentStopped
from ..protocol.runtime import StepLoss
from ..protocol.step_losses import add_loss
from . import session_changes
from .agent_base import Controllable, wait_first_completed
from .debugged_run import StepAttempt
from .frame import FrameIn, FrameOut
from .session_changes import FinishedStep
from .session_limits import compute_retry_delay_s, compute_time_left_s, describe_time_limit
from .session_steps import SessionSteps
from .session_writer import RuntimeContext, SessionChange, SessionWriter
from .step_executor import STEP_FAILURE_TYPES, ProcessLostError, describe_failure, was_cancelled
from .step_timer import RuntimeLimitError

_STOPPED: Final = "A person pressed Stop in the debugger."


class StepRunner:
    """Does the steps of one activation of a session.

    Args:
        agent: Says whether to go on.
        session_writer: Keeps what becomes of the session.
        steps: Has them run.
        runtime_context: The worker's.
    """

    def __init__(
        self,
        agent: Controllable,
        session_writer: SessionWriter,
        steps: SessionSteps,
        runtime_context: RuntimeContext,
    ) -> None:
        self._agent = agent
        self._session_writer = session_writer
        self._steps = steps
        self._new_id = runtime_context.new_id
        self._clock = runtime_context.clock
        self._log = runtime_context.log
        self._owner = runtime_context.owner
        self._due: float | None = None  # the `next_try_at` that is waited for
        self._deadline = 0.0  # the same by the loop's clock

    async def run(self) -> None:
        """Do steps until the session is over or is to stop.

        Raises:
            AgentStopped: A person pressed Stop in the debugger; the session is kept as stopped.
            CommandError: What became of it can't be kept.
        """
        while await self._should_continue():
            if await self._wait_to_begin():
                try:
                    await self._step()
                finally:
                    self._session_writer.end_step()

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
        executor = self._steps.executor
        wait_s, stops_on_done = executor.interval_s, executor.stops_on_done
        await self._session_writer.write(
            lambda state: session_changes.add_step(
                state,
                done,
                stops_on_done=stops_on_done,
                ran_s=self._session_writer.stopwatch.total(),
                new_id=self._new_id,
                wait_s=wait_s,
            )
        )
        await asyncio.sleep(0)  # a moniker that waits for nothing: others have their turn

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
        began = self._clock()
        while True:
            try:
                out = await self._steps.run(attempt)
            except ProcessLostError as lost:
                await self._record_loss(lost)
                return None  # unless that was the last try, it is begun again
            except RuntimeLimitError:
                note = describe_time_limit(self._session_writer.state.limits)
                await self._session_writer.write(partial(session_changes.mark_stopped, note=note))
                return None
            except STEP_FAILURE_TYPES as error:
                wait, reason = self._judge_failure(error)
            else:
                return self._make_finished_step(attempt, began, out, None)
            if wait is None or self._compute_time_left_s() <= 0:
                self._log.warning("%s: %s", self._describe_step(), reason)
                return self._make_finished_step(attempt, began, None, reason)
            if not await self._wait_to_retry(wait, reason):
                return None

    def _judge_failure(self, error: BaseException) -> tuple[float | None, str]:
        """Seconds until the next try of a step, None for none, and why it failed, for a person."""
        if isinstance(error, asyncio.CancelledError) and was_cancelled():
            raise error
        if isinstance(error, BaseExceptionGroup) and error.subgroup(AgentStopped):
            raise AgentStopped(_STOPPED) from error
        return compute_retry_delay_s(self._session_writer.state, error), describe_failure(error)

    async def _wait_to_retry(self, wait_s: float, reason: str) -> bool:
        """Wait until a step is to be tried again; False where it is to stop before."""
        self._log.info("%s: next try in %g s: %s", self._describe_step(), wait_s, reason)
        wait_s = min(wait_s, self._compute_time_left_s())
        await self._session_writer.write(
            partial(
                session_changes.mark_try_failed,
                error=reason,
                next_try_at=self._clock() + wait_s,
            )
        )
        self._session_writer.end_step()
        return await self._wait_to_begin()

    async def _make_ready(self) -> bool:
        """Have all there that a step needs; False where it is to be looked again whether to go on."""
        try:
            return await self._steps.make_ready()
        except ProcessLostError as lost:
            await self._record_loss(lost)
            return False

    async def _record_loss(self, lost: ProcessLostError) -> None:
        """Count that a step ended its process, unless something else may have."""
        self._log.warning("%s: %s %s", self._describe_step(), lost.process, lost.ending)
        if not lost.is_counted:
            return
        worker = f"{lost.process} of {self._owner}"
        loss = StepLoss(worker=worker, at=self._clock(), ending=lost.ending)
        await self._session_writer.write(lambda state: SessionChange(add_loss(state, loss)))

    def _make_finished_step(
        self, attempt: StepAttempt, began: float, out: FrameOut | None, error: str | None
    ) -> FinishedStep:
        now = self._clock()
        return FinishedStep(
            attempt.frame,
            out,
            error,
            at=now,
            latency_ms=max(0.0, now - began) * 1000,
            read={} if out is None else attempt.read,
        )

    def _describe_step(self) -> str:
        state = self._session_writer.state
        return f"step {state.iteration} of session {state.session_id}"

    # ---- waiting ------------------------------------------------------------------------------------

    async def _wait_to_begin(self) -> bool:
        """Wait until a step may begin, and begin it; False where none is to be done."""
        agent = self._agent

        def may_begin() -> bool:
            return not (agent.is_pause_requested or agent.stopping)

        while await self._wait_for_next() and await self._make_ready():
            if await self._session_writer.begin_step(may_begin):
                return True
        return False

    async def _should_continue(self) -> bool:
        """Wait while it is to pause; False where it has ended or is to stop."""
        agent = self._agent
        while agent.is_pause_requested and not (agent.stopping or self._session_writer.has_ended):
            if (
                self._session_writer.state.is_pausing
            ):  # its process ended, or its step is tried again
                await self._session_writer.write(session_changes.end_pausing)
                continue
            self._session_writer.stopwatch.stop()
            self._steps.set_idle(math.inf)
            await wait_first_completed(agent.wait_until_resumed(), agent.wait_for_stop())
        self._session_writer.stopwatch.start()
        return not (agent.stopping or self._session_writer.has_ended)

    async def _wait_for_next(self) -> bool:
        """Wait until the session's next step, or its next try, is due; False where none is to be done.

        A stop or a pause ends the wait. Guidance does, but where a step is to be tried again: that is
        given the guidance that it had.
        """
        while (wait_s := self._compute_wait_s()) > 0:
            if not self._agent.is_pause_requested:
                await self._wait_at_most(wait_s)
            elif not await self._should_continue():
                return False
            # Who resumed it has ended the wait, unless it waits for guidance.
        return await self._should_continue()

    def _compute_wait_s(self) -> float:
        """Seconds until the next step is due; 0 where none is to be waited for."""
        writer = self._session_writer
        state, now = writer.state, asyncio.get_running_loop().time()
        if state.next_try_at is None or writer.has_ended or self._agent.stopping:
            return 0.0
        if state.guidance is not None and not state.attempt:
            return 0.0
        if self._due != state.next_try_at:  # from here on by a clock that nobody sets
            self._due, self._deadline = state.next_try_at, now + state.next_try_at - self._clock()
        return max(0.0, self._deadline - now)

    async def _wait_at_most(self, wait_s: float) -> None:
        """Wait, unless the session is told something; it ends where its time is over."""
        agent, writer = self._agent, self._session_writer
        events: list[Coroutine[Any, Any, object]] = [agent.wait_for_stop(), agent.wait_for_pause()]
        if not writer.state.attempt:
            events.append(agent.receive_text())
        time_left_s = self._compute_time_left_s()
        self._steps.set_idle(wait_s)
        if await wait_first_completed(*events, timeout_s=min(wait_s, time_left_s)):
            return
        if time_left_s <= wait_s:
            note = describe_time_limit(writer.state.limits)
            await writer.write(partial(session_changes.mark_stopped, note=note))

    def _compute_time_left_s(self) -> float:
        return compute_time_left_s(
            self._session_writer.state.limits, self._session_writer.stopwatch.total()
        )
