"""The states of a run: this file has all rules for when a run halts and resumes.

`TRANSITION_RULES[state][signal]` has the transition; a missing entry is an error without effect. The
state that views show follows from the mode and the pending halt points, so no rule can contradict it:

========== ===================================================================================
IDLE       the run has ended
HALTED     a halt point is pending
STEP       the agent runs and will halt at its next halt point, or where its step's target says
CONTINUE   the agent runs and halts where a breakpoint or an approval requires it
DETACHED   the agent is away; the rules are those of the state with the agent connected
========== ===================================================================================

`HaltPolicy` maps a halt point to its signal: an agent with a lease decides which breakpoints hit; for
other agents the Core evaluates the run's breakpoints.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, auto
from typing import Final, NamedTuple

from msgspec import UNSET
from msgspec.structs import replace

from ..protocol.breakpoint_rules import Reaction
from ..protocol.data_model import (
    AgentActivity,
    AnswerKind,
    Commit,
    EventKind,
    EventSide,
    HaltPoint,
    Run,
    RunMode,
    RunState,
)
from ..protocol.records import RunHistory
from ..protocol.step_targets import StepTarget
from .breakpoints import (
    BreakpointEngine,
    StepPoint,
    advance_step,
    evaluate_history,
    make_step_target,
    observe_halt_point,
)
from .breakpoints.step_targets import StepResult
from .effects import EffectRecorder
from .run_edit_rules import RunEditRules
from .run_state import RunStates, RunStatus
from .timeline_rows import EventTypeRegistry

#: Characters of what a condition failed with: as an agent's breakpoints make it, since it stands in
#: its row.
_MAX_ERROR_CHARS: Final = 1000


class RunSignal(Enum):
    """A signal that can change a run's state."""

    HALT_POINT = auto()  # one that waits for an answer
    BREAKPOINT_HIT = auto()  # the same, and a breakpoint says that the run halts there
    APPROVAL_REQUESTED = auto()  # the same, and it asks for an approval
    STEP = auto()
    CONTINUE = auto()
    APPROVE = auto()
    DENY = auto()  # or another answer in the call's place: a result, an exception
    HALT = auto()
    STOP = auto()
    WITHDRAWN = auto()  # a pending halt point no longer waits
    END = auto()


class AnswerAction(Enum):
    """An action on halt points."""

    NOTHING = auto()
    SET_PENDING = auto()  # the new halt point becomes pending
    ANSWER_AT_ONCE = auto()  # the new halt point is answered at once
    FOLLOW_MODE = auto()  # the new halt point: mode and step decide between these two
    ANSWER_ONE = auto()  # the named halt point
    STEP_ONE = auto()  # the named halt point, or the oldest one that asks for no approval
    ANSWER_ALL_WITHOUT_APPROVAL = auto()  # in order, except halt points that ask for an approval
    ANSWER_ALL = auto()  # in order
    WITHDRAW_ONE = auto()  # the named halt point: no agent waits for its answer
    WITHDRAW_ALL = auto()


class TransitionRule(NamedTuple):
    """A rule: the action on halt points, and the mode afterwards (None: unchanged)."""

    action: AnswerAction
    mode: RunMode | None = None


#: No action on halt points, and no change of the mode.
UNCHANGED: Final = TransitionRule(AnswerAction.NOTHING)

TRANSITION_RULES: Final[dict[RunState, dict[RunSignal, TransitionRule]]] = {
    RunState.STEP: {
        RunSignal.HALT_POINT: TransitionRule(AnswerAction.FOLLOW_MODE),
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
    """The rules for a run's possible signals; for a run whose agent is away, as if it were connected."""
    if run.state is RunState.DETACHED:
        return TRANSITION_RULES[
            compute_shown_state(run.mode, pending=bool(run.pending), ended=False)
        ]
    return TRANSITION_RULES[run.state]


class HaltPolicy:
    """Effect checks on halt points, and breakpoints on halt points of agents that have no lease.

    Args:
        runs: The state of all runs.
        effects: Makes the marks.
    """

    def __init__(self, runs: RunStates, effects: EffectRecorder) -> None:
        self._runs = runs
        self._effects = effects
        #: The engines of live runs that are known from their begin; None: the agent decides itself.
        self._engines: dict[str, BreakpointEngine | None] = {}
        #: The edits that rules make here.
        self.edit_rules = RunEditRules(runs)

    def begin(self, run: Run) -> None:
        """A run begins."""
        self._engines[run.id] = BreakpointEngine(run.program, self._runs.breakpoints.values())
        self._effects.begin(run)

    def end(self, run_id: str) -> None:
        """A run has ended."""
        self._engines.pop(run_id, None)
        self._effects.end(run_id)
        self.edit_rules.end(run_id)

    def set_rules(self) -> None:
        """The breakpoints or the edit rules are others now."""
        for engine in self._engines.values():
            if engine is not None:
                engine.set(self._runs.breakpoints.values())
        self.edit_rules.set()

    def record_commit(self, commit: Commit) -> None:
        """Files of a run's workspace were changed."""
        self._effects.record_commit(commit)
        engine = self._engines.get(commit.run)
        if engine is not None:
            engine.record_changes(commit.changes)

    def evaluate(self, run: Run, halt_point: HaltPoint, *, leased: bool) -> HaltPoint:
        """A halt point with its marks, the breakpoints that hit there, and the edit that rules make.

        Args:
            run: The run.
            halt_point: The halt point, which was just reached.
            leased: Whether the agent decided which breakpoints hit.
        """
        if halt_point.kind is EventKind.TOOL_INVOCATION:
            halt_point = self._effects.evaluate(halt_point)
        if leased:
            self._engines[run.id] = None
            error = halt_point.breakpoint_error
            if error is None or len(error) <= _MAX_ERROR_CHARS:
                return halt_point
            return replace(halt_point, breakpoint_error=error[: _MAX_ERROR_CHARS - 1] + "…")
        engine = self._engines.get(run.id)
        if engine is None:
            engine = BreakpointEngine(run.program, self._runs.breakpoints.values())
            self._engines[run.id] = engine
        result = engine.evaluate(observe_halt_point(halt_point))
        halt_point = replace(halt_point, breakpoints=result.hits, breakpoint_error=result.error)
        return self.edit_rules.apply(run, halt_point)

    def advance_step(self, run: Run, halt_point: HaltPoint) -> StepResult:
        """The result of a run's step target at a halt point, and the target from then on.

        Args:
            run: The run.
            halt_point: The halt point, which was just reached.
        """
        if run.step is UNSET:
            return StepResult(halt_point.waits, None)
        point = StepPoint(
            halt_point.event,
            halt_point.side,
            halt_point.kind,
            halt_point.name,
            halt_point.depth,
            halt_point.scope,
            halt_point.waits,
        )
        return advance_step(run.step, point, self._runs.status[run.id].find_open_event)

    def make_target(
        self, status: RunStatus, request: StepTarget, meant: Iterable[HaltPoint]
    ) -> StepTarget | None:
        """The target of a step that begins.

        Args:
            status: The state of the run.
            request: The target that a person requests.
            meant: The pending halt points; the first of them that asks for no approval is answered.
        """
        point = next((each for each in meant if each.approval is None), None)
        return make_step_target(request, point, status.find_open_event, get_target(status.run))

    def find_rule(
        self, run: Run, halt_point: HaltPoint, *, steps_here: bool = True
    ) -> tuple[TransitionRule, AnswerKind | None]:
        """Find the rule for a halt point, which decides whether the run halts there.

        Args:
            run: The run.
            halt_point: The halt point, with the breakpoints that hit there.
            steps_here: Whether a stepping run halts there.

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
        is_shown = halt_point.replay is not UNSET and halt_point.replay.halts
        if (
            is_shown
            or halt_point.breakpoint_error is not None
            or any(
                breakpoint and breakpoint.enabled and breakpoint.reaction is Reaction.HALT
                for breakpoint in hit
            )
        ):
            signal = RunSignal.BREAKPOINT_HIT
        elif halt_point.approval is not None:
            signal = RunSignal.APPROVAL_REQUESTED
        rule = rules[signal]
        passes = rule.action is AnswerAction.ANSWER_AT_ONCE or (
            rule.action is AnswerAction.FOLLOW_MODE
            and (run.mode is RunMode.CONTINUE or not steps_here)
        )
        return rule, AnswerKind.RESUME if passes else None

    def needs_history(self, run_id: str) -> bool:
        """Whether the history of a live run is unknown here, since the run began under another Core."""
        return run_id not in self._engines and run_id in self._runs.live

    def restore_history(self, run_id: str, history: RunHistory | None) -> None:
        """Let a live run's breakpoints and effect checks know what came before.

        Args:
            run_id: The run; where the run has ended meanwhile, nothing is done.
            history: All of the run; None where it can't be read, so that they begin anew.
        """
        if not self.needs_history(run_id):
            return
        run = self._runs.status[run_id].run
        self._effects.restore_history(run, history)
        engine = BreakpointEngine(run.program, self._runs.breakpoints.values())
        self._engines[run_id] = engine
        for _ in () if history is None else evaluate_history(engine, history):
            pass  # what the breakpoints say of a row was said when the row was reached


def get_target(run: Run) -> StepTarget | None:
    """The target at which a run's step halts; None: each halt point."""
    return None if run.step is UNSET else run.step


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


_AFTER_BEGIN: Final[dict[EventKind, AgentActivity]] = {
    EventKind.LLM_QUERY: AgentActivity.LLM_THINKING,
    EventKind.TOOL_INVOCATION: AgentActivity.TOOL_EXECUTING,
}


def find_next_activity(
    halt_point: HaltPoint, answer: AnswerKind, event_registry: EventTypeRegistry
) -> AgentActivity:
    """The agent's activity after the answer to a halt point.

    Args:
        halt_point: The halt point.
        answer: The kind of the answer.
        event_registry: Has the agent's activity while a custom event is open.
    """
    if halt_point.side is not EventSide.BEGIN or answer is not AnswerKind.RESUME:
        return AgentActivity.RUNNING
    if halt_point.kind is EventKind.CUSTOM:
        return event_registry.event_type(halt_point).activity
    return _AFTER_BEGIN.get(halt_point.kind, AgentActivity.RUNNING)
