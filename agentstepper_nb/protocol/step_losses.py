"""Rules that end a session whose step ends each worker that begins it (docs/design/0024-fleet.md).

A store counts a loss as it gives a session to another worker; a worker counts one as the process of its
step ends. Both count by these rules, so that the limit means the same.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from typing import Final

from msgspec.structs import replace

from .runtime import AgentState, SessionStatus, StepLoss

#: Losses that a session remembers, of a step whose `max_attempts` allows more.
_MAX_LOSSES: Final = 100


def is_suspect(
    state: AgentState,
    loss: StepLoss,
    halted_runs: Collection[str] = (),
    present_owners: Collection[str] = (),
) -> bool:
    """Whether a step of a session may have caused the loss of its worker.

    Args:
        state: The session's last snapshot.
        loss: The known facts of the worker's end.
        halted_runs: Runs that a person halted: a step that waits for a person ends no worker.
        present_owners: Workers that are connected: one whose lease is over was late. A step in a process
            of its own doesn't make its worker late; one on the worker's loop may.
    """
    if loss.worker in present_owners and not state.is_sharing:
        return False
    if state.status is not SessionStatus.RUNNING or state.run_id in halted_runs:
        return False
    return state.next_try_at is None or state.next_try_at <= loss.at


def add_loss(state: AgentState, loss: StepLoss) -> AgentState:
    """A session after its worker ended with a step under way.

    Args:
        state: Before it.
        loss: The known facts of the loss. A loss in a process that several sessions shared doesn't
            count: the session's next try gets a process of its own, whose loss counts.

    Returns:
        The session; it has ended as an error where that was the last try that its limits allow.
    """
    losses = (*state.losses, loss)[-_MAX_LOSSES:]
    state = replace(state, losses=losses, attempt=state.attempt + 1, updated_at=loss.at)
    counted = count_losses(state)
    if loss.is_shared or counted < state.limits.max_attempts:
        return state
    return replace(
        state, status=SessionStatus.ERROR, last_error=_describe(state, counted), is_pausing=False
    )


def count_losses(state: AgentState) -> int:
    """Count the losses of a session's next step in processes that no other session shared."""
    return sum(not loss.is_shared for loss in state.losses)


def clear_tries(state: AgentState) -> AgentState:
    """A session whose step has ended, or is to be tried anew: its next step has no tries behind it."""
    return replace(state, attempt=0, next_try_at=None, losses=())


def pause_between_steps(state: AgentState) -> AgentState:
    """A session that has no step under way: one that was to pause after its step is paused."""
    if not state.is_pausing:
        return state
    is_running = state.status is SessionStatus.RUNNING
    status = SessionStatus.PAUSED if is_running else state.status
    return replace(state, status=status, is_pausing=False)


def _describe(state: AgentState, counted: int) -> str:
    stories = "; ".join(
        f"{datetime.fromtimestamp(loss.at, UTC):%H:%M:%S} UTC in {loss.worker}, which "
        f"{loss.ending or 'was lost: nothing is known of its end'}"
        for loss in state.losses
        if not loss.is_shared
    )
    return (
        f"Step {state.iteration} was begun {counted} times and never ended, because its worker did: "
        f"{stories}. No worker begins it again by itself. Correct what the step does, then retry the "
        "session."
    )
