"""The states of a run: everything that decides when a run halts and goes on stands in this file.

`RULES[state][signal]` tells what happens; a missing entry is the error, and nothing moves. The state a
person is shown follows from the mode and what is pending, so that no rule can contradict it:

========== ===================================================================================
IDLE       the run has ended
HALTED     a halt point is pending
STEP       the agent runs and will halt at its next halt point
CONTINUE   the agent runs and halts where a stop or an approval says so
DETACHED   the agent is away; what may be done is what might be done if it were there
========== ===================================================================================

`HaltPolicy` says which signal a halt point is: an agent that has a lease decides which breakpoints hit,
or else the run's breakpoints do, here.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Final, NamedTuple

from msgspec.structs import replace

from ..protocol.breakpoint_rules import Reaction
from ..protocol.data_model import (
    CHANGES_LOST,
    AgentActivity,
    AnswerKind,
    Commit,
    Event,
    EventKind,
    EventOutcome,
    EventSide,
    Failure,
    HaltPoint,
    Run,
    RunEnding,
    RunMode,
    RunState,
)
from ..protocol.records import RunHistory
from .breakpoints import BreakpointEngine, evaluate_history, list_changed_paths, observe_halt_point
from .run_state import RunStates
from .timeline_rows import EventTypeRegistry

#: Characters of what a condition failed with: as an agent's breakpoints make it, since it stands in
#: its row.
_MAX_ERROR_CHARS: Final = 1000


class RunSignal(Enum):
    """What can happen to a run."""

    HALT_POINT = auto()  # one that waits for an answer
    BREAKPOINT_HIT = auto()  # the same, and a breakpoint says that the run halts there
    APPROVAL_REQUESTED = auto()  # the same, and it asks for an approval
    STEP = auto()
    CONTINUE = auto()
    APPROVE = auto()
    DENY = auto()
    HALT = auto()
    STOP = auto()
    WITHDRAWN = auto()  # a pending halt point no longer waits
    END = auto()


class AnswerAction(Enum):
    """What becomes of halt points."""

    NOTHING = auto()
    SET_PENDING = auto()  # the new halt point becomes pending
    ANSWER_AT_ONCE = auto()  # the new halt point is answered at once
    FOLLOW_MODE = auto()  # the new halt point: the mode says which of these two
    ANSWER_ONE = auto()  # the named one
    STEP_ONE = auto()  # the named or the oldest one that asks for no approval
    ANSWER_ALL_WITHOUT_APPROVAL = auto()  # in order, but for those that ask for an approval
    ANSWER_ALL = auto()  # in order
    WITHDRAW_ONE = auto()  # the named one: nobody waits for its answer
    WITHDRAW_ALL = auto()


class TransitionRule(NamedTuple):
    """A rule: what becomes of halt points, and the mode afterwards (None: as before)."""

    action: AnswerAction
    mode: RunMode | None = None


TRANSITION_RULES: Final[dict[RunState, dict[RunSignal, TransitionRule]]] = {
    RunState.STEP: {
        RunSignal.HALT_POINT: TransitionRule(AnswerAction.SET_PENDING),
        RunSignal.BREAKPOINT_HIT: TransitionRule(AnswerAction.SET_PENDING),
        RunSignal.APPROVAL_REQUESTED: TransitionRule(AnswerAction.SET_PENDING),
        RunSignal.STEP: TransitionRule(AnswerAction.NOTHING),
        RunSignal.CONTINUE: TransitionRule(AnswerAction.NOTHING, RunMode.CONTINUE),
        RunSignal.APPROVE: TransitionRule(AnswerAction.NOTHING),
        RunSignal.DENY: TransitionRule(AnswerAction.NOTHING),
        RunSignal.HALT: TransitionRule(AnswerAction.NOTHING, RunMode.STEP),
        RunSignal.STOP: TransitionRule(AnswerAction.NOTHING),
        RunSignal.WITHDRAWN: TransitionRule(AnswerAction.NOTHING),
        RunSignal.END: TransitionRule(AnswerAction.NOTHING),
    },
    RunState.HALTED: {
        RunSignal.HALT_POINT: TransitionRule(AnswerAction.FOLLOW_MODE),  # another thread or task
        RunSignal.BREAKPOINT_HIT: TransitionRule(AnswerAction.SET_PENDING, RunMode.STEP),
        RunSignal.APPROVAL_REQUESTED: TransitionRule(AnswerAction.SET_PENDING),
        RunSignal.STEP: TransitionRule(AnswerAction.STEP_ONE, RunMode.STEP),
        RunSignal.CONTINUE: TransitionRule(
            AnswerAction.ANSWER_ALL_WITHOUT_APPROVAL, RunMode.CONTINUE
        ),
        RunSignal.APPROVE: TransitionRule(AnswerAction.ANSWER_ONE),
        RunSignal.DENY: TransitionRule(AnswerAction.ANSWER_ONE),
        RunSignal.HALT: TransitionRule(AnswerAction.NOTHING, RunMode.STEP),
        RunSignal.STOP: TransitionRule(AnswerAction.ANSWER_ALL),
        RunSignal.WITHDRAWN: TransitionRule(AnswerAction.WITHDRAW_ONE),
        RunSignal.END: TransitionRule(AnswerAction.WITHDRAW_ALL),
    },
    RunState.CONTINUE: {
        RunSignal.HALT_POINT: TransitionRule(AnswerAction.ANSWER_AT_ONCE),
        RunSignal.BREAKPOINT_HIT: TransitionRule(AnswerAction.SET_PENDING, RunMode.STEP),
        RunSignal.APPROVAL_REQUESTED: TransitionRule(AnswerAction.SET_PENDING),
        RunSignal.STEP: TransitionRule(AnswerAction.NOTHING, RunMode.STEP),
        RunSignal.CONTINUE: TransitionRule(AnswerAction.NOTHING, RunMode.CONTINUE),
        RunSignal.APPROVE: TransitionRule(AnswerAction.NOTHING),
        RunSignal.DENY: TransitionRule(AnswerAction.NOTHING),
        RunSignal.HALT: TransitionRule(AnswerAction.NOTHING, RunMode.STEP),
        RunSignal.STOP: TransitionRule(AnswerAction.NOTHING),
        RunSignal.WITHDRAWN: TransitionRule(AnswerAction.NOTHING),
        RunSignal.END: TransitionRule(AnswerAction.NOTHING),
    },
    RunState.IDLE: {},
}


def list_transition_rules(run: Run) -> dict[RunSignal, TransitionRule]:
    """What may happen to a run: to one whose agent is away what might if it were there."""
    if run.state is RunState.DETACHED:
        return TRANSITION_RULES[
            compute_shown_state(run.mode, pending=bool(run.pending), ended=False)
        ]
    return TRANSITION_RULES[run.state]


class HaltPolicy:
    """What breakpoints make of the halt points of agents that have no lease.

    Args:
        runs: The state of all runs.
    """

    def __init__(self, runs: RunStates) -> None:
        self._runs = runs
        #: Of each live run that is known since it began; None where its agent decides.
        self._engines: dict[str, BreakpointEngine | None] = {}

    def begin(self, run: Run) -> None:
        """A run begins."""
        self._engines[run.id] = BreakpointEngine(run.program, self._runs.breakpoints.values())

    def end(self, run_id: str) -> None:
        """A run has ended."""
        self._engines.pop(run_id, None)

    def set_breakpoints(self) -> None:
        """The breakpoints are others now."""
        for engine in self._engines.values():
            if engine is not None:
                engine.set(self._runs.breakpoints.values())

    def record_commit(self, commit: Commit) -> None:
        """Files of a run's workspace were changed."""
        engine = self._engines.get(commit.run)
        if engine is not None:
            engine.record_changed_paths(list_changed_paths(commit.changes))

    def evaluate(self, run: Run, halt_point: HaltPoint, *, leased: bool) -> HaltPoint:
        """A halt point with the breakpoints that hit there.

        Args:
            run: The run.
            halt_point: The halt point, which was just reached.
            leased: Whether the agent decided which breakpoints hit.
        """
        if leased:
            self._engines[run.id] = None
            error = halt_point.breakpoint_error
            if error is None or len(error) <= _MAX_ERROR_CHARS:
                return halt_point
            return replace(halt_point, breakpoint_error=error[: _MAX_ERROR_CHARS - 1] + "…")
        if self._engines.get(run.id) is None:
            self.begin(run)
        engine = self._engines[run.id]
        assert engine is not None
        result = engine.evaluate(observe_halt_point(halt_point))
        return replace(halt_point, breakpoints=result.hits, breakpoint_error=result.error)

    def find_rule(
        self, run: Run, halt_point: HaltPoint
    ) -> tuple[TransitionRule, AnswerKind | None]:
        """Find the rule for a halt point, which says whether the run halts there.

        Args:
            run: The run.
            halt_point: The halt point, with the breakpoints that hit there.

        Returns:
            The rule, and the answer to a halt point that doesn't halt; None where it becomes pending.
        """
        rules = list_transition_rules(run)
        if not halt_point.waits:
            return rules[RunSignal.HALT_POINT], AnswerKind.RESUME  # what doesn't wait can't halt
        if run.stopping:
            return rules[RunSignal.HALT_POINT], AnswerKind.STOP
        # A breakpoint that hit may have been changed since.
        hit = (self._runs.breakpoints.get(id) for id in halt_point.breakpoints)
        signal = RunSignal.HALT_POINT
        if halt_point.breakpoint_error is not None or any(
            breakpoint and breakpoint.enabled and breakpoint.reaction is Reaction.HALT
            for breakpoint in hit
        ):
            signal = RunSignal.BREAKPOINT_HIT
        elif halt_point.approval is not None:
            signal = RunSignal.APPROVAL_REQUESTED
        rule = rules[signal]
        passes = rule.action is AnswerAction.ANSWER_AT_ONCE or (
            rule.action is AnswerAction.FOLLOW_MODE and run.mode is RunMode.CONTINUE
        )
        return rule, AnswerKind.RESUME if passes else None

    def needs_history(self, run_id: str) -> bool:
        """Whether nobody here knows what a run's breakpoints remember: the run lives, and began under
        another Core.
        """
        return run_id in self._runs.live and run_id not in self._engines

    def restore_history(self, run_id: str, history: RunHistory | None) -> None:
        """Let a live run's breakpoints know what came before.

        Args:
            run_id: The run; where the run has ended meanwhile, nothing is done.
            history: All of the run; None where it can't be read, so that the breakpoints begin anew.
        """
        if not self.needs_history(run_id):
            return
        run = self._runs.status[run_id].run
        engine = self._engines[run_id] = BreakpointEngine(
            run.program, self._runs.breakpoints.values()
        )
        if history is not None:
            for _ in evaluate_history(engine, history):
                pass  # what the breakpoints say of a row was said when the row was reached


def compute_shown_state(
    mode: RunMode, *, pending: bool, ended: bool, detached: bool = False
) -> RunState:
    """The state a person is shown."""
    if ended:
        return RunState.IDLE
    if detached:
        return RunState.DETACHED
    if pending:
        return RunState.HALTED
    return RunState(mode.value)


def add_halt_time(run: Run, at: float) -> Run:
    """A header with the time that the run has waited for a person, which it does while anything is
    pending.

    Args:
        run: The header.
        at: Now, by the Core's clock.
    """
    if run.pending:
        return run if run.halted_at is not None else replace(run, halted_at=at)
    if run.halted_at is None:
        return run
    waited = (run.halted_s or 0.0) + max(0.0, at - run.halted_at)
    return replace(run, halted_at=None, halted_s=waited)


def make_attached_run(run: Run, failure: Failure | None) -> Run:
    """The header of a run whose agent is there again.

    Args:
        run: The header.
        failure: What was lost meanwhile.
    """
    state = compute_shown_state(run.mode, pending=bool(run.pending), ended=False)
    known = run.failure
    if known is not None and known.type == CHANGES_LOST:
        known = None  # the agent sends the changes again
    return replace(run, state=state, detached_at=None, failure=failure or known)


def make_ended_run(run: Run, ending: RunEnding, at: float, failure: Failure | None) -> Run:
    """The header of a run that has ended.

    Args:
        run: The header.
        ending: How the run ended.
        at: Now, by the Core's clock.
        failure: What ended the run.
    """
    ended = replace(
        run,
        state=RunState.IDLE,
        pending=(),
        agent_state=AgentActivity.FINISHED,
        ending=ending,
        failure=failure,
        ended_at=at,
        stopping=False,
        detached_at=None,
    )
    return add_halt_time(ended, at)


_OUTCOMES: Final = {
    RunEnding.FINISHED: EventOutcome.OK,
    RunEnding.STOPPED: EventOutcome.STOPPED,
    RunEnding.CRASHED: EventOutcome.ERROR,
    RunEnding.LOST: EventOutcome.ERROR,
}


def make_end_row(
    run: Run, ids: tuple[str, str], ending: RunEnding, at: float, failure: Failure | None
) -> tuple[Event, HaltPoint]:
    """The event and the halt point that say that a run has ended; nobody waits there.

    Args:
        run: The header, before the end.
        ids: Ids for the event and the halt point.
        ending: How the run ended.
        at: Now, by the Core's clock.
        failure: What ended the run.
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
    """What ended a run, and what had been lost of it before."""
    if failure is None or before is None:
        return failure or before
    return replace(failure, message=f"{failure.message} {before.message}")


_AFTER_BEGIN: Final[dict[EventKind, AgentActivity]] = {
    EventKind.LLM_QUERY: AgentActivity.LLM_THINKING,
    EventKind.TOOL_INVOCATION: AgentActivity.TOOL_EXECUTING,
}


def find_next_activity(
    halt_point: HaltPoint, answer: AnswerKind, event_registry: EventTypeRegistry
) -> AgentActivity:
    """What the agent does once a halt point was answered.

    Args:
        halt_point: The halt point.
        answer: How it was answered.
        event_registry: What the agent does while a custom event is open.
    """
    if halt_point.side is not EventSide.BEGIN or answer is not AnswerKind.RESUME:
        return AgentActivity.RUNNING
    if halt_point.kind is EventKind.CUSTOM:
        return event_registry.event_type(halt_point).activity
    return _AFTER_BEGIN.get(halt_point.kind, AgentActivity.RUNNING)
