"""The agent of one session in this worker: a task that executes steps, controlled by actions."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Final

from ..errors import AgentStopped, CommandError
from ..json_log import set_log_fields
from ..protocol.runtime import AgentState, SessionStatus
from ..protocol.runtime_store_messages import ActionCompletion
from . import session_changes
from .agent_base import AgentBase, Controllable
from .frame import FrameIn
from .moniker import MonikerFactory
from .process_executor import RemoteStepError
from .session_changes import FinishedStep
from .session_steps import SessionSteps
from .session_writer import LOST_SESSION_CODES, RuntimeContext, SessionWriter
from .step_executor import STEP_FAILURE_TYPES, was_cancelled
from .step_runner import StepRunner

#: The number of cancellations until a step is abandoned.
MAX_CANCEL_ATTEMPTS: Final = 5


class SessionAgent(AgentBase, Controllable):
    """Runs a session from a snapshot.

    Each action's change of the session is stored atomically with the action's end. If the store refuses
    because another worker has the session, the agent ends silently.

    Args:
        state: The snapshot that was claimed or adopted.
        make_moniker: Makes the session's moniker.
        runtime_context: The context of the worker's sessions.
    """

    def __init__(
        self, state: AgentState, make_moniker: MonikerFactory, runtime_context: RuntimeContext
    ) -> None:
        super().__init__(state.agent_id, state.session_id)
        self._runtime_context = runtime_context
        self._log = runtime_context.log
        self._session_writer = SessionWriter(state, runtime_context, self._cancel)
        self._steps = SessionSteps(self, self._session_writer, make_moniker, runtime_context)
        self._task: asyncio.Task[None] | None = None
        self._steps_ended = asyncio.Event()  # no step is under way, and none will be
        self._ended = asyncio.Event()
        self._is_suspended = False  # its worker ends: nothing is kept any more
        if state.status is SessionStatus.PAUSED:
            self.request_pause()
        if state.status is SessionStatus.STOPPING:
            self.request_stop()

    @property
    def epoch(self) -> int:
        """The epoch in which this worker has the session."""
        return self._session_writer.state.epoch

    @property
    def snapshot(self) -> AgentState:
        """The session, as it was kept last."""
        return self._session_writer.state

    @property
    def running(self) -> bool:
        """Whether it lives: it was started, and has not ended."""
        return self._task is not None and not self._ended.is_set()

    async def join(self) -> None:
        """Wait until it has ended."""
        await self._ended.wait()

    # ---- actions ------------------------------------------------------------------------------------

    async def record_created(self, completion: ActionCompletion) -> None:
        """Store the new session, before `start`.

        Args:
            completion: The end of the action, stored with the change, as for all actions of this class.

        Raises:
            CommandError: `session_over`: the session has ended. `stale_epoch`, `stale_claim`: another
                worker has the session, or the action. All actions of this class raise these errors.
        """
        await self._session_writer.write(
            partial(session_changes.mark_created, completion=completion)
        )

    async def pause(self, completion: ActionCompletion) -> None:
        """Pause it: no step begins any more. One that is under way ends and is kept before the session
        is `paused`; until then it is pausing.
        """
        writer = self._session_writer
        await writer.write(
            lambda state: session_changes.mark_paused(state, writer.is_step_under_way, completion),
            on_written=self.request_pause,
        )

    async def resume(self, completion: ActionCompletion) -> None:
        """Resume the session at once, without the rest of the wait in which it was paused."""
        await self._session_writer.write(
            partial(session_changes.mark_resumed, completion=completion),
            on_written=self.request_resume,
        )

    async def interrupt(self, guidance: str, completion: ActionCompletion) -> None:
        """Tell its next frame this, in the place of what it was to be told; a wait ends."""
        await self._session_writer.write(
            partial(session_changes.replace_guidance, guidance=guidance, completion=completion),
            on_written=partial(self.replace_texts, guidance),
        )

    async def input(self, text: str, completion: ActionCompletion) -> None:
        """Tell its next frame this, after what it is to be told; a wait ends."""
        await self._session_writer.write(
            partial(session_changes.add_guidance, text=text, completion=completion),
            on_written=partial(self.send_text, text),
        )

    async def destroy(self, timeout_s: float, completion: ActionCompletion) -> None:
        """Stop it: a pause ends, the step that is under way may end and be kept, or is cancelled.

        That it is stopping is kept first, and the action's end with `stopped`, last: done means that
        nothing runs any more. A kill in between leaves a session that rehydration stops, and an action
        that is claimed again and finds nothing more to do.

        Args:
            timeout_s: Seconds until it is cancelled.
            completion: The action's end.
        """
        if not self._session_writer.has_ended:
            await self._request_stop()
            await self._end_steps(timeout_s)
        await self._record_stopped(completion)
        if self._task is None:
            self._ended.set()

    async def hand_over(self, timeout_s: float | None) -> None:
        """End its activation here once the step that is under way is kept: it goes on in another worker.

        Args:
            timeout_s: Seconds after which the step is broken off; None: never.
        """
        self._is_suspended = True
        self.request_stop()
        if self._task is not None:
            await self._wait_for_steps_end(timeout_s)
        await self.suspend()

    async def suspend(self) -> None:
        """End its activation here, with nothing kept: the session goes on in another worker."""
        self._is_suspended = True
        self._session_writer.reject_writes(
            CommandError(
                "stale_epoch", "This worker is ending; the session continues in another worker."
            )
        )
        self.request_stop()
        if self._task is None:
            self._ended.set()
        else:
            await self._end_steps(0)
        await self.join()

    async def _request_stop(self) -> None:
        def now() -> None:
            self.request_resume()
            self.request_stop()

        try:
            await self._session_writer.write(session_changes.mark_stopping, on_written=now)
        except CommandError as error:
            if error.code != "session_over":  # it has ended by itself meanwhile
                raise

    async def _record_stopped(self, completion: ActionCompletion) -> None:
        try:
            await self._session_writer.write(
                partial(session_changes.mark_destroyed, completion=completion), allow_ended=True
            )
        except CommandError as error:
            if error.code == "stale_claim" and not self._session_writer.has_ended:
                await self._session_writer.write(
                    session_changes.mark_stopped
                )  # nothing of it runs any more
            raise

    async def _end_steps(self, timeout_s: float) -> None:
        """Wait for the step that is under way; then cancel it, more than once if need be."""
        if self._task is None or await self._wait_for_steps_end(timeout_s):
            return
        for _ in range(MAX_CANCEL_ATTEMPTS):
            self._cancel()
            if await self._wait_for_steps_end(self._runtime_context.cancel_grace_s):
                return
        self._log.error(
            "session %s: its step ignores %d cancellations and is left running",
            self.session_id,
            MAX_CANCEL_ATTEMPTS,
        )
        self._ended.set()

    async def _wait_for_steps_end(self, timeout_s: float | None) -> bool:
        try:
            async with asyncio.timeout(timeout_s):
                await self._steps_ended.wait()
        except TimeoutError:
            return False
        return True

    def _cancel(self) -> None:
        if self._task is not None and not self._steps_ended.is_set():
            self._task.cancel()

    # ---- its activation ----------------------------------------------------------------------------

    def start(self) -> None:
        """Begin its activation where the snapshot says: stopping ones stop, paused ones stay paused."""
        name = f"session {self.session_id}"
        self._task = asyncio.create_task(self._run_to_end(), name=name)

    async def _run_to_end(self) -> None:
        set_log_fields(session_id=self.session_id, agent_id=self.agent_id)
        why: BaseException | None = asyncio.CancelledError()
        try:
            why = await self._run()
        except (AgentStopped, *STEP_FAILURE_TYPES) as error:
            why = error
            if not self._is_requested_end(error):
                await self._fail(error)
        finally:
            self._steps_ended.set()
            try:
                await self._steps.close(why)
            finally:
                self._ended.set()

    async def _run(self) -> BaseException | None:
        """Do what is left to be done; what ended it, None where it is done."""
        if self._is_suspended:
            return asyncio.CancelledError()
        if self.stopping:
            await self._session_writer.write(session_changes.mark_stopped)
            return asyncio.CancelledError()
        await self._steps.open()
        runner = StepRunner(self, self._session_writer, self._steps, self._runtime_context)
        await runner.run()
        return self._find_ending()

    def _find_ending(self) -> BaseException | None:
        state = self._session_writer.state
        if state.status is SessionStatus.DONE:
            return None
        if state.status is SessionStatus.ERROR:
            return RuntimeError(state.last_error)
        return asyncio.CancelledError()

    def _is_requested_end(self, error: BaseException) -> bool:
        """Whether somebody wanted it to end, and all that is to be kept is."""
        if isinstance(error, AgentStopped):
            return self._session_writer.has_ended
        return isinstance(error, asyncio.CancelledError) and was_cancelled()

    async def _fail(self, error: BaseException) -> None:
        """It can't go on: keep that, unless nothing of it is to be kept here."""
        if self._is_suspended or (
            isinstance(error, CommandError) and error.code in LOST_SESSION_CODES
        ):
            self._log.info("session %s continues in another worker: %s", self.session_id, error)
            return
        self._log.error("session %s can't continue", self.session_id, exc_info=error)
        try:
            await self._record_failure(f"The session can't continue: {_describe_end(error)}")
        except Exception:
            self._log.exception("session %s: the failure can't be stored either", self.session_id)

    async def _record_failure(self, error_text: str) -> None:
        runtime_context, state = self._runtime_context, self._session_writer.state
        frame = FrameIn(step=session_changes.find_next_step(state), state=state.state)
        done = FinishedStep(frame, None, error_text, at=runtime_context.clock(), latency_ms=None)
        try:
            await self._session_writer.write(
                partial(
                    session_changes.add_step,
                    finished_step=done,
                    stops_on_done=True,
                    ran_s=0.0,
                    new_id=runtime_context.new_id,
                )
            )
        except CommandError as error:
            if error.code != "duplicate_step":
                raise
            await self._session_writer.write(partial(session_changes.mark_failed, error=error_text))


def _describe_end(error: BaseException) -> str:
    """Why a session can't go on; what a process reported names its type already."""
    if isinstance(error, RemoteStepError):
        return str(error)
    return f"{type(error).__name__}: {error}"
