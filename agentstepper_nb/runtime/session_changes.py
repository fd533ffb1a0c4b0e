"""Pure functions that compute a session's next snapshot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec.structs import replace

from ..errors import CommandError
from ..protocol.runtime import (
    LIVE_STATUSES,
    AgentState,
    AgentStep,
    ConversationCursor,
    SessionStatus,
)
from ..protocol.runtime_store_messages import ActionCompletion
from ..protocol.step_losses import clear_tries, pause_between_steps
from ..protocol.step_messages import make_step_message
from .frame import FIRST_STEP, FrameIn, FrameOut
from .session_limits import decide_outcome
from .session_writer import (
    SessionChange,
    StepRunnerState,
    make_session_over_error,
    to_storable_text,
)

#: Characters that wait to be told to the next step: a session that is paused hears all the while.
MAX_GUIDANCE_CHARS = 2_000_000
#: Until when a session waits that waits until it is told something: 2100, in POSIX seconds.
NO_TIME = 4_102_444_800.0


@dataclass(frozen=True)
class FinishedStep:
    """A step that is over.

    Args:
        frame: What it was given, with a person's edit.
        out: What it gave, likewise; None where it failed.
        error: Why it failed.
        at: When it was over.
        latency_ms: How long it took; None where it wasn't begun.
        read: The last message that it read, of each conversation.
    """

    frame: FrameIn
    out: FrameOut | None
    error: str | None
    at: float
    latency_ms: float | None
    read: Mapping[str, str] = field(default_factory=dict)


# ---- actions ----------------------------------------------------------------------------------------


def mark_created(state: AgentState, completion: ActionCompletion) -> SessionChange:
    """The session begins."""
    if state.status is SessionStatus.CREATED:
        state = replace(state, status=SessionStatus.RUNNING)
    # Until its first step has begun, what ends its worker is not its doing.
    return SessionChange(replace(state, is_sharing=True), finished=(completion,))


def mark_paused(
    state: AgentState, is_step_under_way: bool, completion: ActionCompletion
) -> SessionChange:
    """Pause the session: at once, or after its current step."""
    _require_accepting(state)
    state = replace(state, is_pausing=True)
    if not is_step_under_way:
        state = pause_between_steps(state)
    return SessionChange(state, finished=(completion,))


def end_pausing(state: AgentState) -> SessionChange:
    """The step that was under way has ended without being kept: it is paused."""
    return SessionChange(pause_between_steps(state))


def mark_resumed(state: AgentState, completion: ActionCompletion) -> SessionChange:
    """Resume the session."""
    _require_accepting(state)
    return SessionChange(
        _end_wait(replace(state, status=SessionStatus.RUNNING, is_pausing=False)),
        finished=(completion,),
    )


def replace_guidance(
    state: AgentState, guidance: str, completion: ActionCompletion
) -> SessionChange:
    """Replace the guidance for the session's next step."""
    _require_accepting(state)
    return SessionChange(_wake(replace(state, guidance=guidance)), finished=(completion,))


def add_guidance(state: AgentState, text: str, completion: ActionCompletion) -> SessionChange:
    """Append to the guidance for the session's next step."""
    _require_accepting(state)
    guidance = text if state.guidance is None else f"{_as_text(state.guidance)}\n\n{text}"
    if len(guidance) > MAX_GUIDANCE_CHARS:
        raise CommandError(
            "too_large",
            f"With this, {len(guidance):,} characters of guidance wait for the next step; "
            f"the limit is {MAX_GUIDANCE_CHARS:,}. Wait until the session has taken that "
            "step.",
        )
    return SessionChange(_wake(replace(state, guidance=guidance)), finished=(completion,))


def mark_stopping(state: AgentState) -> SessionChange:
    """Mark the session as stopping."""
    return SessionChange(replace(state, status=SessionStatus.STOPPING, is_pausing=False))


def mark_destroyed(state: AgentState, completion: ActionCompletion) -> SessionChange:
    """Mark the session as stopped by an action, unless it has already ended."""
    return add_completion(
        mark_stopped(state) if state.status in LIVE_STATUSES else SessionChange(), completion
    )


def add_completion(change: SessionChange, completion: ActionCompletion) -> SessionChange:
    """A change that carries out an action, too."""
    return SessionChange(
        change.state, change.steps, change.messages, (*change.finished, completion)
    )


def _require_accepting(state: AgentState) -> None:
    if state.status is SessionStatus.STOPPING or state.status not in LIVE_STATUSES:
        raise make_session_over_error(state.session_id)


def _wake(state: AgentState) -> AgentState:
    """A session that was waiting for guidance; one that waits before a retry goes on waiting."""
    return state if state.attempt else replace(state, next_try_at=None)


def _end_wait(state: AgentState) -> AgentState:
    """A session that waits no longer, unless it waits for guidance."""
    return state if state.next_try_at == NO_TIME else replace(state, next_try_at=None)


def _as_text(guidance: Any) -> str:
    return guidance if isinstance(guidance, str) else msgspec.json.encode(guidance).decode()


# ---- an activation -----------------------------------------------------------------------------------


def mark_started(state: AgentState, run_id: str | None, is_sharing: bool) -> SessionChange:
    """An activation of the session begins, with a run of its own in the debugger, or goes on elsewhere.

    Args:
        state: The snapshot before it.
        run_id: The new run; None: the snapshot names the one before.
        is_sharing: Whether its steps share a process with those of other sessions.
    """
    if state.status is SessionStatus.CREATED:
        state = replace(state, status=SessionStatus.RUNNING)
    state = replace(state, is_sharing=is_sharing)
    return SessionChange(state if run_id is None else replace(state, run_id=run_id))


def mark_stopped(state: AgentState, note: str | None = None) -> SessionChange:
    """Mark the session as stopped between two steps."""
    state = replace(state, status=SessionStatus.STOPPED, is_pausing=False)
    return SessionChange(_with_note(state, note))


def mark_failed(state: AgentState, error: str) -> SessionChange:
    """Mark the session as failed outside of a step, with the error."""
    return SessionChange(
        replace(
            state,
            status=SessionStatus.ERROR,
            last_error=to_storable_text(error),
            is_pausing=False,
        )
    )


def find_next_step(state: AgentState) -> str:
    """The token of the step that is next."""
    if state.next_step_token is not None:
        return state.next_step_token
    first = state.config.get("first_step") if isinstance(state.config, dict) else None
    return first if isinstance(first, str) and first else FIRST_STEP


def mark_try_failed(state: AgentState, error: str, next_try_at: float) -> SessionChange:
    """A try of its step failed, and it waits for the next."""
    return SessionChange(
        replace(
            state,
            attempt=state.attempt + 1,
            next_try_at=next_try_at,
            last_error=to_storable_text(error),
        )
    )


# ---- steps ------------------------------------------------------------------------------------------


def add_step(
    state: AgentState,
    finished_step: FinishedStep,
    *,
    stops_on_done: bool,
    ran_s: float,
    new_id: Callable[[], str],
    wait_s: float = 0.0,
) -> SessionChange:
    """Add a step, with the snapshot after the step and the step's message in the conversation.

    Args:
        state: The snapshot before the step.
        finished_step: The step.
        stops_on_done: Whether the session ends when a step reports that it is done.
        ran_s: Seconds that the session has run.
        new_id: Makes ids.
        wait_s: Seconds until the session's next step; inf: until the session gets a message.
    """
    after, note = _compute_state_after(state, finished_step, stops_on_done, ran_s)
    if after.status in LIVE_STATUSES and after.guidance is None and wait_s > 0:
        after = replace(after, next_try_at=min(finished_step.at + wait_s, NO_TIME))
    step = _make_step(state, finished_step, after, note, new_id())
    messages = (
        ()
        if state.conversation_id is None
        else (make_step_message(step, state.conversation_id, new_id()),)
    )
    cursors = tuple(
        ConversationCursor(
            session_id=state.session_id, conversation_id=conversation, last_message_id=last
        )
        for conversation, last in finished_step.read.items()
    )
    return SessionChange(after, steps=(step,), messages=messages, cursors=cursors)


def _compute_state_after(
    state: AgentState, finished_step: FinishedStep, stops_on_done: bool, ran_s: float
) -> tuple[AgentState, str | None]:
    context = StepRunnerState.from_state(state)
    state = clear_tries(replace(context, pending_guidance=None).store_in(state))
    state = pause_between_steps(state)
    if finished_step.out is None:
        failed = replace(
            state,
            status=SessionStatus.ERROR,
            iteration=state.iteration + 1,
            step_token=finished_step.frame.step,
            next_step_token=finished_step.frame.step,
            last_error=to_storable_text(finished_step.error or ""),
        )
        return failed, None
    out, outcome = finished_step.out, decide_outcome(state, finished_step.out, stops_on_done, ran_s)
    after = replace(
        state,
        status=outcome.status,
        iteration=state.iteration + 1,
        step_token=out.step,
        next_step_token=out.next_step,
        state=out.state,
        last_error=None,
        result={"text": out.text, "data": out.data, "done": out.done},
    )
    return _with_note(after, outcome.note), outcome.note


def _make_step(
    state: AgentState, finished_step: FinishedStep, after: AgentState, note: str | None, id: str
) -> AgentStep:
    out = finished_step.out
    notes = [text for text in (out.notes if out else None, note) if text]
    return AgentStep(
        id=id,
        created_at=finished_step.at,
        agent_id=state.agent_id,
        session_id=state.session_id,
        iteration=state.iteration,
        step_token=finished_step.frame.step,
        next_step_token=out.next_step if out else None,
        status=after.status,
        text=out.text if out else None,
        data=out.data if out else None,
        state=after.state,
        guidance=None
        if finished_step.frame.guidance is msgspec.UNSET
        else finished_step.frame.guidance,
        notes="\n".join(notes) or None,
        latency_ms=finished_step.latency_ms,
        error=None if finished_step.error is None else to_storable_text(finished_step.error),
    )


def _with_note(state: AgentState, note: str | None) -> AgentState:
    return (
        state
        if note is None
        else replace(StepRunnerState.from_state(state), end_reason=note).store_in(state)
    )
