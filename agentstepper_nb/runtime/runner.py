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
from . import changes
from .changes import Done
from .core import Controllable
from .frame import FrameIn, FrameOut
from .keeping import Keeping
from .limits import Tries, time_left, time_over
from .moniker import Moniker
from .watching import Attempt, Watching

_STOPPED: Final = "A person pressed Stop in the debugger."
#: What a moniker's code may end with: none of it may end its worker, too.
FAILURES: Final = (Exception, BaseExceptionGroup, SystemExit, asyncio.CancelledError)


class Runner:
    """Does the steps of one life of a session.

    Args:
        agent: Says whether to go on.
        keeping: Keeps what becomes of the session.
        moniker: Does the steps.
        watching: Shows them.
        new_id: Gives ids.
        clock: Gives POSIX seconds.
        log: Gets what fails.
    """

    def __init__(
        self,
        agent: Controllable,
        keeping: Keeping,
        moniker: Moniker,
        watching: Watching,
        *,
        new_id: Callable[[], str],
        clock: Callable[[], float],
        log: logging.Logger,
    ) -> None:
        self._agent = agent
        self._keeping = keeping
        self._moniker = moniker
        self._watching = watching
        self._new_id = new_id
        self._clock = clock
        self._log = log

    async def run(self) -> None:
        """Do steps until the session is over or is to stop.

        Raises:
            AgentStopped: A person pressed Stop in the debugger; the session is kept as stopped.
            CommandError: What became of it can't be kept.
        """
        while await self._goes_on():
            await self._step()
            if not self._keeping.over:
                await self._wait_for_next()

    # ---- one step -----------------------------------------------------------------------------------

    async def _step(self) -> None:
        frame = await self._frame()
        try:
            done = await self._try(Attempt(frame))
        except AgentStopped:
            await self._keeping.write(partial(changes.stopped, note=_STOPPED))
            raise
        if done is None:
            return  # it is to stop
        await self._keeping.write(
            lambda state: changes.stepped(
                state,
                done,
                ends=self._moniker.stop_on_done,
                ran_s=self._keeping.watch.total(),
                new_id=self._new_id,
            )
        )

    async def _frame(self) -> FrameIn:
        guidance = await self._keeping.take_guidance()
        self._agent.heard()
        state = self._keeping.state
        return FrameIn(
            step=changes.next_step(state),
            state=state.state,
            guidance=UNSET if guidance is None else guidance,
        )

    async def _try(self, attempt: Attempt) -> Done | None:
        """Do a step, as often as the limits give; None where it is to stop before it was done."""
        tries, began = Tries(self._keeping.state.limits), self._clock()
        while True:
            try:
                out = await self._watching.step(attempt, self._moniker.step)
            except FAILURES as error:
                if isinstance(error, asyncio.CancelledError) and was_cancelled():
                    raise
                if isinstance(error, BaseExceptionGroup) and error.subgroup(AgentStopped):
                    raise AgentStopped(_STOPPED) from error
                wait = tries.again(error)
                said = _said(error)
            else:
                return self._done(attempt, began, out, None)
            if wait is None or self._left() <= 0:
                self._log.warning("%s: %s", self._place(), said)
                return self._done(attempt, began, None, said)
            self._log.info("%s is tried again in %g s: %s", self._place(), wait, said)
            if not await self._wait_for_try(min(wait, self._left())):
                return None

    def _done(
        self, attempt: Attempt, began: float, out: FrameOut | None, error: str | None
    ) -> Done:
        now = self._clock()
        return Done(attempt.frame, out, error, at=now, latency_ms=max(0.0, now - began) * 1000)

    def _place(self) -> str:
        state = self._keeping.state
        return f"step {state.iteration} of session {state.session_id}"

    # ---- waiting ------------------------------------------------------------------------------------

    async def _goes_on(self) -> bool:
        """Wait while it is to pause; False where it has ended or is to stop."""
        agent = self._agent
        while agent.paused and not (agent.stopping or self._keeping.over):
            self._keeping.watch.stop()
            await first(agent.resumed(), agent.asked_to_stop())
        self._keeping.watch.start()
        return not (agent.stopping or self._keeping.over)

    async def _wait_for_try(self, seconds: float) -> bool:
        """Wait before a step is tried again; False where it is to stop."""
        agent = self._agent
        await first(agent.asked_to_stop(), agent.asked_to_pause(), within=seconds)
        return await self._goes_on()

    async def _wait_for_next(self) -> None:
        """Wait as the moniker wants between two steps; a stop, a pause or guidance ends the wait."""
        agent, seconds = self._agent, max(0.0, self._moniker.pause_s())
        until = asyncio.get_running_loop().time() + seconds
        await asyncio.sleep(0)  # a moniker that waits for nothing: others have their turn
        while not (agent.stopping or self._keeping.state.guidance is not None):
            if agent.paused:
                if not await self._goes_on() or seconds < math.inf:
                    return
                continue  # it waits for guidance, whatever the time
            rest, left = until - asyncio.get_running_loop().time(), self._left()
            if rest <= 0:
                return
            events = agent.asked_to_stop(), agent.asked_to_pause(), agent.hear()
            if not await first(*events, within=min(rest, left)) and left <= rest:
                note = time_over(self._keeping.state.limits)
                await self._keeping.write(partial(changes.stopped, note=note))
                return

    def _left(self) -> float:
        return time_left(self._keeping.state.limits, self._keeping.watch.total())


def was_cancelled() -> bool:
    """Whether this task was cancelled, and not something that the step waited for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _said(error: BaseException) -> str:
    """A failure, for a person."""
    if isinstance(error, asyncio.CancelledError):
        return "What the step waited for was cancelled, by something of its own."
    if isinstance(error, SystemExit):
        return f"The step wanted to end its process: SystemExit({error.code!r})."
    if isinstance(error, AgentStepperError):
        return str(error)
    return f"{type(error).__name__}: {error}"


async def first(*waits: Coroutine[Any, Any, object], within: float = math.inf) -> bool:
    """Wait until one of these is over; the others are cancelled.

    Args:
        waits: What is waited for.
        within: Seconds to wait at most.

    Returns:
        Whether one was over in that time.
    """
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        limit = None if within == math.inf else within
        done, _ = await asyncio.wait(tasks, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        return bool(done)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
