"""Bounds a step that is under way; the time for which a person halts it counts for nothing."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

from ..errors import AgentStepperError
from ..protocol.runtime import AgentLimits
from .session_limits import compute_time_left_s
from .session_writer import Stopwatch

T = TypeVar("T")


class StepTimeoutError(AgentStepperError):
    """A step took longer than its session's `step_timeout_s`, and was cancelled."""

    def __init__(self, limits: AgentLimits) -> None:
        super().__init__(
            f"The step took longer than step_timeout_s = {limits.step_timeout_s:g} seconds and was "
            "cancelled."
        )


class RuntimeLimitError(AgentStepperError):
    """A session's `max_runtime_s` was over while a step was under way, which was cancelled."""


class StepTimer:
    """Cancels a step of a session that takes too long.

    Args:
        stopwatch: Counts the session's seconds; it stands while the step is halted.
        is_halted: Says whether the step is halted now.
    """

    def __init__(self, stopwatch: Stopwatch, is_halted: Callable[[], bool]) -> None:
        self._stopwatch = stopwatch
        self._is_halted = is_halted
        self._loop = asyncio.get_running_loop()
        self._scope: asyncio.Timeout | None = None
        self._left_s: float | None = None  # of the step, while it is halted

    def on_halted(self) -> None:
        """The step was halted, or goes on. From any thread."""
        with suppress(RuntimeError):  # the loop is closed, and with it the session
            self._loop.call_soon_threadsafe(self._update)

    async def run(self, limits: AgentLimits, step: Awaitable[T]) -> T:
        """Wait for a step, at most as long as the limits say.

        Args:
            limits: The session's.
            step: The step. It is cancelled once; whether that ends it is its own.

        Raises:
            StepTimeoutError: It took longer than `step_timeout_s`.
            RuntimeLimitError: The session's `max_runtime_s` was over before.
        """
        session_left_s = compute_time_left_s(limits, self._stopwatch.total())
        step_left_s = math.inf if limits.step_timeout_s is None else limits.step_timeout_s
        left_s = min(session_left_s, step_left_s)
        scope = asyncio.timeout(None if left_s == math.inf else left_s)
        try:
            async with scope:
                self._scope = scope
                self._update()
                return await step
        except BaseException as error:
            if not scope.expired() or _is_cancelled_by_others():
                raise
            if session_left_s <= step_left_s:
                raise RuntimeLimitError(str(error)) from error
            raise StepTimeoutError(limits) from error
        finally:
            self._scope = None
            if self._left_s is not None:
                self._left_s = None
                self._stopwatch.start()

    def _update(self) -> None:
        scope = self._scope
        if scope is None or scope.expired():
            return
        is_halted, now = self._is_halted(), self._loop.time()
        if is_halted and self._left_s is None:
            when = scope.when()
            self._left_s = math.inf if when is None else when - now
            scope.reschedule(None)
            self._stopwatch.stop()
        elif not is_halted and self._left_s is not None:
            left_s, self._left_s = self._left_s, None
            scope.reschedule(None if left_s == math.inf else now + left_s)
            self._stopwatch.start()


def _is_cancelled_by_others() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
