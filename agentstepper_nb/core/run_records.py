"""The records of a run's begin and end: its header, and its last row."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from ..protocol.data_model import (
    CHANGES_LOST,
    AgentActivity,
    AnswerKind,
    Event,
    EventKind,
    EventOutcome,
    EventSide,
    Failure,
    HaltPoint,
    Run,
    RunEnding,
    RunState,
)
from ..protocol.header_limits import truncate_header
from .run_state import LastRow
from .state_table import compute_shown_state
from .timeline_rows import describe_row
from .transitions import add_halt_time


def make_started_run(run: Run, others: Iterable[Run]) -> Run:
    """The header of a run that begins, with the run's name.

    Args:
        run: The header as the agent sent it.
        others: The known runs.
    """
    number = 1 + sum(other.program == run.program for other in others)
    state = compute_shown_state(run.mode, pending=False, ended=False)
    name = f"Run #{number} of {run.program}"
    return replace(run, name=name, state=state, halted_s=0.0)


def make_attached_run(run: Run, failure: Failure | None) -> Run:
    """The header of a run whose agent is connected again.

    Args:
        run: The header.
        failure: The records that were lost meanwhile.
    """
    state = compute_shown_state(run.mode, pending=bool(run.pending), ended=False)
    known = run.failure
    if known is not None and known.type == CHANGES_LOST:
        known = None  # the agent sends the changes again
    attached = replace(run, state=state, detached_at=None, failure=failure or known)
    return truncate_header(attached)


def make_ended_run(
    run: Run,
    ending: RunEnding,
    at: float,
    failure: Failure | None,
    exit_code: int | None,
    last_row: LastRow | None,
) -> Run:
    """The header of a run that has ended.

    Args:
        run: The header.
        ending: The way in which the run ended.
        at: Now, by the Core's clock.
        failure: The failure that ended the run.
        exit_code: The exit code of the run's process, where the parent process reported it.
        last_row: The agent's last action; None: it did nothing.
    """
    broke_off = ending in (RunEnding.CRASHED, RunEnding.LOST)
    ended = replace(
        run,
        state=RunState.IDLE,
        pending=(),
        agent_state=AgentActivity.FINISHED,
        ending=ending,
        failure=failure,
        ended_at=at,
        exit_code=exit_code,
        last_event=describe_row(last_row) if broke_off and last_row is not None else None,
        step=UNSET,
        stopping=False,
        detached_at=None,
    )
    return truncate_header(add_halt_time(ended, at))


_OUTCOMES: Final = {
    RunEnding.FINISHED: EventOutcome.OK,
    RunEnding.STOPPED: EventOutcome.STOPPED,
    RunEnding.CRASHED: EventOutcome.ERROR,
    RunEnding.LOST: EventOutcome.ERROR,
}


def make_end_row(
    run: Run, ids: tuple[str, str], ending: RunEnding, at: float, failure: Failure | None
) -> tuple[Event, HaltPoint]:
    """The event and the halt point that record a run's end; no agent waits there.

    Args:
        run: The header, before the end.
        ids: Ids for the event and the halt point.
        ending: The way in which the run ended.
        at: Now, by the Core's clock.
        failure: The failure that ended the run.
    """
    event_id, halt_point_id = ids
    kind = EventKind.PROGRAM_FINISHED
    event = Event(id=event_id, run=run.id, kind=kind, at=at, ended_at=at)
    halt_point = HaltPoint(
        id=halt_point_id,
        run=run.id,
        event=event_id,
        seq=run.rows + 1,
        side=EventSide.BEGIN,
        kind=kind,
        at=at,
        data="null",
        waits=False,
        summary="Agent execution finished.",
        failure=failure,
        outcome=_OUTCOMES[ending],
        answer=AnswerKind.RESUME,
        answered_at=at,
    )
    return event, halt_point


def join_failures(failure: Failure | None, before: Failure | None) -> Failure | None:
    """Join the failure that ended a run with an earlier loss of its records."""
    if failure is None or before is None:
        return failure or before
    return replace(failure, message=f"{failure.message} {before.message}")
