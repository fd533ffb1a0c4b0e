"""When a session ends by itself, and when a step is tried again."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from ..errors import StepFrameError, ToolDeniedError
from ..protocol.runtime import AgentLimits, AgentState, SessionStatus
from .frame import FrameOut

#: Seconds that a wait before another try lasts at most.
MAX_BACKOFF_S: Final = 3600.0


@dataclass(frozen=True)
class StepOutcome:
    """How a session stands after a step.

    Args:
        status: Its status.
        note: Which limit ended it, where one did.
    """

    status: SessionStatus
    note: str | None = None


def decide_outcome(
    state: AgentState, out: FrameOut, stops_on_done: bool, ran_s: float
) -> StepOutcome:
    """How a session stands after a step.

    Args:
        state: Its snapshot, before the step is kept.
        out: What the step gave.
        stops_on_done: Whether its moniker ends at a step that is done, unless the limits say otherwise.
        ran_s: Seconds that it has run.
    """
    limits = state.limits
    if out.done and (stops_on_done if limits.stop_on_done is None else limits.stop_on_done):
        return StepOutcome(SessionStatus.DONE)
    if limits.max_steps is not None and state.iteration + 1 >= limits.max_steps:
        text = f"Stopped: it has done max_steps = {limits.max_steps} steps."
        return StepOutcome(SessionStatus.STOPPED, text)
    if compute_time_left_s(limits, ran_s) <= 0:
        return StepOutcome(SessionStatus.STOPPED, describe_time_limit(limits))
    return StepOutcome(state.status)


def compute_time_left_s(limits: AgentLimits, ran_s: float) -> float:
    """Seconds that a session may go on."""
    return math.inf if limits.max_runtime_s is None else limits.max_runtime_s - ran_s


def describe_time_limit(limits: AgentLimits) -> str:
    """What is noted where that time is over."""
    return f"Stopped: it has run for max_runtime_s = {limits.max_runtime_s:g} seconds."


class RetryCounter:
    """Counts how often a step was tried.

    Args:
        limits: The session's.
    """

    def __init__(self, limits: AgentLimits) -> None:
        self._retries_left = limits.retries
        self._next_delay = limits.backoff_s

    def next_delay_s(self, error: BaseException) -> float | None:
        """Seconds to wait before the step is tried again; None: it isn't.

        Args:
            error: Why it failed. What a person has refused or spoiled is not asked for again.
        """
        if isinstance(error, ToolDeniedError) or (
            isinstance(error, StepFrameError) and error.edited
        ):
            return None
        if self._retries_left <= 0:
            return None
        delay_s = min(self._next_delay, MAX_BACKOFF_S)
        self._retries_left, self._next_delay = self._retries_left - 1, delay_s * 2
        return delay_s
