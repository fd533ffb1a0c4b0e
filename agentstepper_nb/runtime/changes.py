"""What becomes of a session, as what is to be kept: pure, so that it can be made when its turn comes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec.structs import replace

from ..errors import CommandError
from ..protocol.runtime import (
    LIVE,
    AgentState,
    AgentStep,
    ConversationMessage,
    SenderType,
    SessionStatus,
)
from ..protocol.runtime_asks import Finish
from .frame import FIRST_STEP, FrameIn, FrameOut
from .keeping import Change, Context, kept, session_over
from .limits import verdict

#: Characters that wait to be told to the next step: a session that is paused hears all the while.
MOST_GUIDANCE = 2_000_000


@dataclass(frozen=True)
class Done:
    """A step that is over.

    Args:
        frame: What it was given, with a person's edit.
        out: What it gave, likewise; None where it failed.
        error: Why it failed.
        at: When it was over.
        latency_ms: How long it took; None where it wasn't begun.
    """

    frame: FrameIn
    out: FrameOut | None
    error: str | None
    at: float
    latency_ms: float | None


# ---- actions ----------------------------------------------------------------------------------------


def created(state: AgentState, finish: Finish) -> Change:
    """The session begins."""
    if state.status is SessionStatus.CREATED:
        state = replace(state, status=SessionStatus.RUNNING)
    return Change(state, finished=(finish,))


def paused(state: AgentState, finish: Finish) -> Change:
    """It pauses: the step that is under way is its last for now."""
    _takes(state)
    return Change(replace(state, status=SessionStatus.PAUSED), finished=(finish,))


def resumed(state: AgentState, finish: Finish) -> Change:
    """It goes on."""
    _takes(state)
    return Change(replace(state, status=SessionStatus.RUNNING), finished=(finish,))


def interrupted(state: AgentState, guidance: str, finish: Finish) -> Change:
    """Its next frame is told this, and nothing else."""
    _takes(state)
    return Change(replace(state, guidance=guidance), finished=(finish,))


def told(state: AgentState, text: str, finish: Finish) -> Change:
    """Its next frame is told this, after what it is told already."""
    _takes(state)
    guidance = text if state.guidance is None else f"{_as_text(state.guidance)}\n\n{text}"
    if len(guidance) > MOST_GUIDANCE:
        raise CommandError(
            "too_large",
            f"The next step is told {len(guidance):,} characters with this; at most {MOST_GUIDANCE:,} "
            "wait for it. Let it take that step first.",
        )
    return Change(replace(state, guidance=guidance), finished=(finish,))


def stopping(state: AgentState) -> Change:
    """It is to stop."""
    return Change(replace(state, status=SessionStatus.STOPPING))


def finished(state: AgentState, finish: Finish) -> Change:
    """It has stopped, unless it has ended by itself."""
    return replace_finished(stopped(state) if state.status in LIVE else Change(), finish)


def replace_finished(change: Change, finish: Finish) -> Change:
    """A change that carries out an action, too."""
    return Change(change.state, change.steps, change.messages, (*change.finished, finish))


def _takes(state: AgentState) -> None:
    if state.status is SessionStatus.STOPPING or state.status not in LIVE:
        raise session_over(state.session_id)


def _as_text(guidance: Any) -> str:
    return guidance if isinstance(guidance, str) else msgspec.json.encode(guidance).decode()


# ---- a life -----------------------------------------------------------------------------------------


def begun(state: AgentState, run_id: str | None) -> Change:
    """A life of it begins, with a run of its own in the debugger."""
    if state.status is SessionStatus.CREATED:
        state = replace(state, status=SessionStatus.RUNNING)
    return Change(state if run_id is None else replace(state, run_id=run_id))


def stopped(state: AgentState, note: str | None = None) -> Change:
    """It has stopped between two steps."""
    state = replace(state, status=SessionStatus.STOPPED)
    return Change(_noted(state, note))


def failed(state: AgentState, error: str) -> Change:
    """It can't go on, and there is no place for a step that says why."""
    return Change(replace(state, status=SessionStatus.ERROR, last_error=kept(error)))


def next_step(state: AgentState) -> str:
    """The token of the step that is next."""
    if state.next_step_token is not None:
        return state.next_step_token
    first = state.config.get("first_step") if isinstance(state.config, dict) else None
    return first if isinstance(first, str) and first else FIRST_STEP


# ---- steps ------------------------------------------------------------------------------------------


def stepped(
    state: AgentState, done: Done, *, ends: bool, ran_s: float, new_id: Callable[[], str]
) -> Change:
    """A step, with the snapshot after it and what it says in the conversation.

    Args:
        state: The snapshot before it.
        done: The step.
        ends: Whether the moniker ends at a step that is done.
        ran_s: Seconds that the session has run.
        new_id: Gives ids.
    """
    after, note = _after(state, done, ends, ran_s)
    step = _row(state, done, after, note, new_id())
    said = () if state.conversation_id is None else (_message(step, state, new_id()),)
    return Change(after, steps=(step,), messages=said)


def _after(
    state: AgentState, done: Done, ends: bool, ran_s: float
) -> tuple[AgentState, str | None]:
    context = Context.of(state)
    state = replace(context, given=None).in_(state)
    if done.out is None:
        failed = replace(
            state,
            status=SessionStatus.ERROR,
            iteration=state.iteration + 1,
            step_token=done.frame.step,
            next_step_token=done.frame.step,
            last_error=kept(done.error or ""),
        )
        return failed, None
    out, how = done.out, verdict(state, done.out, ends, ran_s)
    after = replace(
        state,
        status=how.status,
        iteration=state.iteration + 1,
        step_token=out.step,
        next_step_token=out.next_step,
        state=out.state,
        result={"text": out.text, "data": out.data, "done": out.done},
    )
    return _noted(after, how.note), how.note


def _row(state: AgentState, done: Done, after: AgentState, note: str | None, id: str) -> AgentStep:
    out = done.out
    notes = [text for text in (out.notes if out else None, note) if text]
    return AgentStep(
        id=id,
        created_at=done.at,
        agent_id=state.agent_id,
        session_id=state.session_id,
        iteration=state.iteration,
        step_token=done.frame.step,
        next_step_token=out.next_step if out else None,
        status=after.status,
        text=out.text if out else None,
        data=out.data if out else None,
        state=after.state,
        guidance=None if done.frame.guidance is msgspec.UNSET else done.frame.guidance,
        notes="\n".join(notes) or None,
        latency_ms=done.latency_ms,
        error=None if done.error is None else kept(done.error),
    )


def _message(step: AgentStep, state: AgentState, id: str) -> ConversationMessage:
    assert state.conversation_id is not None
    return ConversationMessage(
        message_id=id,
        conversation_id=state.conversation_id,
        created_at=step.created_at,
        sender_type=SenderType.AGENT,
        agent_id=step.agent_id,
        session_id=step.session_id,
        text=step.text or step.error or "",
        data=step.data,
        status=step.status,
        event_type="step",
        iteration=step.iteration,
        step_token=step.step_token,
        next_step_token=step.next_step_token,
        notes=step.notes,
    )


def _noted(state: AgentState, note: str | None) -> AgentState:
    return state if note is None else replace(Context.of(state), note=note).in_(state)
