"""Runs the steps of one activation of a session: on the worker's event loop, or in a process."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Final

from ..json_log import add_log_fields
from ..protocol.runtime import SessionStatus
from . import session_changes
from .agent_base import Controllable, wait_first_completed
from .debugged_run import StepAttempt
from .frame import FrameOut
from .moniker import MonikerFactory
from .process_executor import ProcessNotStartedError, ProcessStepExecutor
from .session_writer import RuntimeContext, SessionWriter
from .step_executor import LocalStepExecutor, StepExecutor, StepSettings
from .step_messages import OpenSession
from .step_timer import StepTimer

#: Seconds before the next try where no process could be started.
_START_RETRY_S: Final = 1.0


class SessionSteps:
    """Has a session's steps run, in the place that suits its moniker and its losses.

    Steps of cooperative monikers run on the loop, beside those of other sessions. A session that is a
    suspect, since its worker was lost during its step, has that step alone in a process first.

    Args:
        agent: Says whether to go on.
        session_writer: Keeps what becomes of the session.
        make_moniker: Makes its moniker.
        runtime_context: What it runs with.
    """

    def __init__(
        self,
        agent: Controllable,
        session_writer: SessionWriter,
        make_moniker: MonikerFactory,
        runtime_context: RuntimeContext,
    ) -> None:
        self._agent = agent
        self._session_writer = session_writer
        self._make_moniker = make_moniker
        self._runtime_context = runtime_context
        self._timer = StepTimer(session_writer.stopwatch, lambda: self._is_halted())
        self._executor: StepExecutor | None = None

    @property
    def executor(self) -> StepExecutor:
        """The executor that runs the session's steps now."""
        if self._executor is None:
            self._executor = self._make_executor(self._runs_in_process())
        return self._executor

    async def open(self) -> None:
        """Open a session whose steps run on the loop, at its beginning; others are at their steps."""
        if not self._runs_in_process():
            await self._open()

    async def make_ready(self) -> bool:
        """Have all there that the next step needs.

        Returns:
            False where the session is to pause or stop before it is, or where no process could be
            started just now.

        Raises:
            ProcessLostError: The process ended before the session was open in it.
        """
        if isinstance(self.executor, ProcessStepExecutor) is not self._runs_in_process():
            await self.close(asyncio.CancelledError())
            self._executor = None
        if not await self._acquire():
            return False
        try:
            await self._open()
        except ProcessNotStartedError as error:
            log, session_id = self._runtime_context.log, self._session_writer.state.session_id
            log.warning("session %s waits for a process: %s", session_id, error)
            waits = (self._agent.wait_for_stop(), self._agent.wait_for_pause())
            await wait_first_completed(*waits, timeout_s=_START_RETRY_S)
            return False
        return True

    async def run(self, attempt: StepAttempt) -> FrameOut:
        """Run a step, at most as long as the session's limits say; raises as executor and timer do."""
        limits = self._session_writer.state.limits
        return await self._timer.run(limits, self.executor.step(attempt))

    def set_idle(self, wait_s: float) -> None:
        """The session waits so many seconds for its next step."""
        if self._executor is not None:
            self._executor.set_idle(wait_s)

    async def close(self, error: BaseException | None) -> None:
        """Close the moniker and the run; see `StepExecutor.close`."""
        if self._executor is not None:
            await self._executor.close(error)

    # ---- where --------------------------------------------------------------------------------------

    def _runs_in_process(self) -> bool:
        pool = self._runtime_context.pool
        if pool is None:
            return False
        is_cooperative = bool(getattr(self._make_moniker, "cooperative", False))
        return (pool.isolates and not is_cooperative) or bool(self._session_writer.state.losses)

    def _make_executor(self, in_process: bool) -> StepExecutor:
        context = self._runtime_context
        if in_process:
            assert context.pool is not None
            return ProcessStepExecutor(context.pool, self._timer.on_halted)
        settings = StepSettings(
            context.data_dir,
            context.debugger,
            context.log,
            run_close_timeout_s=context.run_close_timeout_s,
            model_gate=context.model_gate,
            read_unread=context.read_unread,
        )
        return LocalStepExecutor(self._make_moniker, settings, self._timer.on_halted)

    def _is_halted(self) -> bool:
        return self._executor is not None and self._executor.is_halted

    # ---- being ready --------------------------------------------------------------------------------

    async def _acquire(self) -> bool:
        """Wait until the session may have its step; False where it is to pause or stop before."""
        executor, agent = self.executor, self._agent
        if executor.has_room():
            await executor.acquire()
            return True
        await self._record_sharing(is_sharing=True)  # nothing that happens meanwhile is its doing
        has_acquired = False

        async def acquire() -> None:
            nonlocal has_acquired
            await executor.acquire()
            has_acquired = True

        stopwatch = self._session_writer.stopwatch
        stopwatch.stop()
        try:
            await wait_first_completed(acquire(), agent.wait_for_stop(), agent.wait_for_pause())
        finally:
            stopwatch.start()
        return has_acquired and not (agent.stopping or agent.is_pause_requested)

    async def _open(self) -> None:
        executor, writer = self.executor, self._session_writer
        if executor.is_open:
            await self._record_sharing(executor.is_sharing)
            return
        state = writer.state
        run_id = await executor.open(
            OpenSession(
                agent_id=state.agent_id,
                session_id=state.session_id,
                moniker=state.moniker,
                config=state.config,
                step=state.step,
                conversation_id=state.conversation_id,
            )
        )
        if run_id is not None:
            add_log_fields(run_id=run_id)
        if (
            run_id is not None
            or state.status is SessionStatus.CREATED
            or state.is_sharing is not executor.is_sharing
        ):
            change = partial(
                session_changes.mark_started, run_id=run_id, is_sharing=executor.is_sharing
            )
            await writer.write(change)

    async def _record_sharing(self, is_sharing: bool) -> None:
        if self._session_writer.state.is_sharing is not is_sharing:
            change = partial(session_changes.mark_started, run_id=None, is_sharing=is_sharing)
            await self._session_writer.write(change)
