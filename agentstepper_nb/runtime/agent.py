"""One session's agent in this worker: its life is a task, and actions change it."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Final

from ..errors import AgentStopped, CommandError
from ..protocol.runtime import AgentState, SessionStatus
from ..protocol.runtime_asks import Finish
from . import changes
from .changes import Done
from .core import AgentBase, Controllable
from .frame import FrameIn
from .keeping import OVER, Keeping, Surroundings
from .moniker import Moniker, MonikerFactory, Task
from .runner import FAILURES, Runner, was_cancelled
from .watching import Watching

#: Seconds that a step which was cancelled has to end, before it is cancelled again.
GRACE_S: Final = 1.0
#: How often it is cancelled before it is left alone.
CANCELS: Final = 5
#: Seconds that a moniker has to close.
CLOSE_S: Final = 5.0


class SessionAgent(AgentBase, Controllable):
    """Runs a session, from the snapshot that it is given.

    Each of its actions changes the session and keeps that together with the action's end, all or
    nothing. Where the store refuses because somebody else has the session, it ends without a word.

    Args:
        state: The snapshot, as it was claimed or adopted.
        make: Makes its moniker.
        surroundings: Where it runs.
    """

    def __init__(self, state: AgentState, make: MonikerFactory, surroundings: Surroundings) -> None:
        super().__init__(state.agent_id, state.session_id)
        self._make = make
        self._surroundings = surroundings
        self._log = surroundings.log
        self._keeping = Keeping(state, surroundings, self._cancel)
        self._watching = Watching(state.moniker, self._log)
        self._moniker: Moniker | None = None
        self._life: asyncio.Task[None] | None = None
        self._stepped = asyncio.Event()  # no step is under way, and none will be
        self._ended = asyncio.Event()
        self._left = False  # its worker ends: nothing is kept any more
        if state.status is SessionStatus.PAUSED:
            self.request_pause()
        if state.status is SessionStatus.STOPPING:
            self.request_stop()

    @property
    def epoch(self) -> int:
        """The epoch in which this worker has the session."""
        return self._keeping.state.epoch

    @property
    def snapshot(self) -> AgentState:
        """The session, as it was kept last."""
        return self._keeping.state

    @property
    def running(self) -> bool:
        """Whether it lives: it was started, and has not ended."""
        return self._life is not None and not self._ended.is_set()

    async def join(self) -> None:
        """Wait until it has ended."""
        await self._ended.wait()

    # ---- actions ------------------------------------------------------------------------------------

    async def created(self, finish: Finish) -> None:
        """The session begins; `start` comes after it.

        Args:
            finish: The end of the action, kept with what it did; so it is of all actions here.

        Raises:
            CommandError: `session_over`: it has ended; `stale_epoch`, `stale_claim`: it, or the action,
                is somebody else's by now. So it is of all actions here.
        """
        await self._keeping.write(partial(changes.created, finish=finish))

    async def pause(self, finish: Finish) -> None:
        """Pause it: the step that is under way ends and is kept, and no other begins."""
        await self._keeping.write(partial(changes.paused, finish=finish), then=self.request_pause)

    async def resume(self, finish: Finish) -> None:
        """Let it go on; it is at once, whatever it was waiting for when it paused."""
        await self._keeping.write(partial(changes.resumed, finish=finish), then=self.request_resume)

    async def interrupt(self, guidance: str, finish: Finish) -> None:
        """Tell its next frame this, in the place of what it was to be told; a wait ends."""
        await self._keeping.write(
            partial(changes.interrupted, guidance=guidance, finish=finish),
            then=partial(self.tell_instead, guidance),
        )

    async def input(self, text: str, finish: Finish) -> None:
        """Tell its next frame this, after what it is to be told; a wait ends."""
        await self._keeping.write(
            partial(changes.told, text=text, finish=finish), then=partial(self.tell, text)
        )

    async def destroy(self, timeout_s: float, finish: Finish) -> None:
        """Stop it: a pause ends, the step that is under way may end and be kept, or is cancelled.

        That it is stopping is kept first, and the action's end with `stopped`, last: done means that
        nothing runs any more. A kill in between leaves a session that rehydration stops, and an action
        that is claimed again and finds nothing more to do.

        Args:
            timeout_s: Seconds until it is cancelled.
            finish: The action's end.
        """
        if not self._keeping.over:
            await self._ask_to_stop()
            await self._end_steps(timeout_s)
        await self._keep_stopped(finish)
        if self._life is None:
            self._ended.set()

    async def suspend(self) -> None:
        """End its life here, with nothing kept: the session goes on in another worker."""
        self._left = True
        self._keeping.shut(
            CommandError("stale_epoch", "This worker ends: the session goes on in another one.")
        )
        self.request_stop()
        if self._life is None:
            self._ended.set()
        else:
            await self._end_steps(0)
        await self.join()

    async def _ask_to_stop(self) -> None:
        def now() -> None:
            self.request_resume()
            self.request_stop()

        try:
            await self._keeping.write(changes.stopping, then=now)
        except CommandError as error:
            if error.code != "session_over":  # it has ended by itself meanwhile
                raise

    async def _keep_stopped(self, finish: Finish) -> None:
        try:
            await self._keeping.write(partial(changes.finished, finish=finish), over=True)
        except CommandError as error:
            if error.code == "stale_claim" and not self._keeping.over:
                await self._keeping.write(changes.stopped)  # nothing of it runs any more
            raise

    async def _end_steps(self, timeout_s: float) -> None:
        """Wait for the step that is under way; then cancel it, more than once if need be."""
        if self._life is None or await self._have_stepped(timeout_s):
            return
        for _ in range(CANCELS):
            self._cancel()
            if await self._have_stepped(GRACE_S):
                return
        self._log.error(
            "session %s: its step doesn't end, though it was cancelled %d times; it is left alone",
            self.session_id,
            CANCELS,
        )
        self._ended.set()

    async def _have_stepped(self, within: float) -> bool:
        try:
            async with asyncio.timeout(within):
                await self._stepped.wait()
        except TimeoutError:
            return False
        return True

    def _cancel(self) -> None:
        if self._life is not None and not self._stepped.is_set():
            self._life.cancel()

    # ---- its life -----------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin its life, where the snapshot says: what was stopping stops, what paused is paused."""
        name = f"session {self.session_id}"
        self._life = asyncio.create_task(self._live(), name=name)

    async def _live(self) -> None:
        why: BaseException | None = asyncio.CancelledError()
        try:
            why = await self._run()
        except (AgentStopped, *FAILURES) as error:
            why = error
            if not self._is_order(error):
                await self._fail(error)
        finally:
            self._stepped.set()
            try:
                await self._close(why)
            finally:
                self._ended.set()

    async def _run(self) -> BaseException | None:
        """Do what is left to be done; what ended it, None where it is done."""
        if self.stopping:
            await self._keeping.write(changes.stopped)
            return asyncio.CancelledError()
        await self._open()
        assert self._moniker is not None
        runner = Runner(
            self,
            self._keeping,
            self._moniker,
            self._watching,
            new_id=self._surroundings.new_id,
            clock=self._surroundings.clock,
            log=self._log,
        )
        await runner.run()
        return self._why()

    def _why(self) -> BaseException | None:
        state = self._keeping.state
        if state.status is SessionStatus.DONE:
            return None
        if state.status is SessionStatus.ERROR:
            return RuntimeError(state.last_error)
        return asyncio.CancelledError()

    async def _open(self) -> None:
        state = self._keeping.state
        if self._surroundings.debugger:
            await self._watching.open(f"{state.agent_id} · {state.moniker}", step=state.step)
        dbg = self._watching.dbg
        run_id = None if dbg is None else dbg.run_id
        if run_id is not None or state.status is SessionStatus.CREATED:
            await self._keeping.write(partial(changes.begun, run_id=run_id))
        self._watching.task = task = Task(
            agent_id=self.agent_id,
            session_id=self.session_id,
            config=state.config,
            data_dir=self._surroundings.data_dir,
            dbg=dbg,
            log=self._log,
        )
        self._moniker = self._make(task)

    def _is_order(self, error: BaseException) -> bool:
        """Whether somebody wanted it to end, and all that is to be kept is."""
        if isinstance(error, AgentStopped):
            return self._keeping.over
        return isinstance(error, asyncio.CancelledError) and was_cancelled()

    async def _fail(self, error: BaseException) -> None:
        """It can't go on: keep that, unless nothing of it is to be kept here."""
        if self._left or (isinstance(error, CommandError) and error.code in OVER):
            self._log.info("session %s goes on elsewhere: %s", self.session_id, error)
            return
        self._log.error("session %s can't go on", self.session_id, exc_info=error)
        try:
            await self._keep_failure(f"The session can't go on: {type(error).__name__}: {error}")
        except Exception:
            self._log.exception("session %s: and that can't be kept", self.session_id)

    async def _keep_failure(self, said: str) -> None:
        surroundings, state = self._surroundings, self._keeping.state
        frame = FrameIn(step=changes.next_step(state), state=state.state)
        done = Done(frame, None, said, at=surroundings.clock(), latency_ms=None)
        try:
            await self._keeping.write(
                partial(
                    changes.stepped, done=done, ends=True, ran_s=0.0, new_id=surroundings.new_id
                )
            )
        except CommandError as error:
            if error.code != "duplicate_step":
                raise
            await self._keeping.write(partial(changes.failed, error=said))

    async def _close(self, why: BaseException | None) -> None:
        if self._moniker is not None:
            try:
                async with asyncio.timeout(CLOSE_S):
                    await self._moniker.close()
            except (AgentStopped, *FAILURES):
                self._log.exception("session %s: its moniker didn't close", self.session_id)
        await self._watching.close(why)
