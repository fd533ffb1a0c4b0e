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
    """The outcome of a step for its session.

    Args:
        status: The session's status after the step.
        note: The limit that ended the session, if one did.
    """

    status: SessionStatus
    note: str | None = None


def decide_outcome(
    state: AgentState, out: FrameOut, stops_on_done: bool, ran_s: float
) -> StepOutcome:
    """Decide the outcome of a step for its session.

    Args:
        state: The session's snapshot before the step.
        out: The step's output frame.
        stops_on_done: Whether the moniker's sessions end when a step reports that it is done. The
            session's limits take precedence.
        ran_s: Seconds that the session has run.
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
    """Make the note of a session that has reached its time limit."""
    return f"Stopped: it has run for max_runtime_s = {limits.max_runtime_s:g} seconds."


def compute_retry_delay_s(state: AgentState, error: BaseException) -> float | None:
    """Seconds to wait before a step that failed is tried again; None: it isn't.

    Args:
        state: Its session, before the failed try is counted.
        error: Why it failed. What a person has refused or spoiled is not asked for again.
    """
    if isinstance(error, ToolDeniedError) or (isinstance(error, StepFrameError) and error.edited):
        return None
    retries = max(0, state.attempt - len(state.losses))  # a try that ended its worker is no retry
    if retries >= state.limits.retries:
        return None
    return float(min(state.limits.backoff_s * 2**retries, MAX_BACKOFF_S))
