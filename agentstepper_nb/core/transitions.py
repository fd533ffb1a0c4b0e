"""What agents' inputs and people's commands share: the state of all runs, and its transitions.

The outputs of a transition are `RecordOutput`, `AnswerOutput` to an agent and `LeaseGranted`: the hub
performs them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from msgspec import UNSET
from msgspec.structs import replace

from ..errors import CommandError, ProtocolError
from ..protocol.breakpoint_rules import BreakpointRule, Price
from ..protocol.data_model import (
    AgentActivity,
    AnswerKind,
    ApprovalPrompt,
    Commit,
    EventKind,
    EventSide,
    HaltPoint,
    Run,
    RunMode,
)
from ..protocol.records import (
    EventSaved,
    HaltPointAnswered,
    HaltPointEdited,
    HaltPointSaved,
    Record,
    RunHeaderSaved,
)
from ..protocol.tool_names import find_tool_name
from .input_checks import check_edit
from .run_state import EventStatus, RunStates, RunStatus
from .state_table import (
    AnswerAction,
    TransitionRule,
    add_halt_time,
    compute_leased_mode,
    compute_shown_state,
    find_next_activity,
)
from .timeline_rows import EMPTY_REGISTRY, EventTypeRegistry


class RecordOutput(NamedTuple):
    """A record to store and to tell the UIs, and what it is about, as it then stands."""

    record: Record
    halt_point: HaltPoint | None = None
    commit: Commit | None = None  # of a sentence on one


class AnswerOutput(NamedTuple):
    """An answer for the agent: the halt point, with its edit, and how it is answered."""

    halt_point: HaltPoint
    answer: AnswerKind


class AnswerDecision(NamedTuple):
    """How a halt point is answered, and what a person said with it."""

    answer: AnswerKind
    reason: str | None = None  # of a denial
    always: bool = False  # of an approval: also from now on


RESUMED: Final = AnswerDecision(AnswerKind.RESUME)
STOPPED: Final = AnswerDecision(AnswerKind.STOP)
WITHDRAWN: Final = AnswerDecision(AnswerKind.WITHDRAWN)


class LeaseGranted(NamedTuple):
    """What a run's agent may decide by itself from now on.

    It goes before the replies of the same outputs: who is answered by Continue isn't to wait once more.
    """

    run: str
    mode: RunMode
    breakpoints: tuple[BreakpointRule, ...]  # those that are on and are for the run's program
    prices: tuple[Price, ...]


Output = RecordOutput | AnswerOutput | LeaseGranted


def needs_durability(outputs: Sequence[Output]) -> bool:
    """Whether outputs have to survive a power cut before anybody acts on them.

    By such outputs people see a halt, or what a person decided is stored or sent.
    """
    for output in outputs:
        match output:
            case RecordOutput(record=HaltPointSaved(halt_point=HaltPoint(answer=None))):
                return True
            case (
                RecordOutput(record=HaltPointEdited())
                | AnswerOutput(halt_point=HaltPoint(edit=str()))
            ):
                return True
            case (
                AnswerOutput(halt_point=HaltPoint(approval=ApprovalPrompt()))
                | AnswerOutput(answer=AnswerKind.DENY)
            ):
                return True
    return False


class Transitions:
    """The state of all runs, the outputs that nobody has drained, and the transitions that rules name.

    Args:
        event_registry: What extensions add to the debugger's words.
    """

    def __init__(self, event_registry: EventTypeRegistry = EMPTY_REGISTRY) -> None:
        self.runs = RunStates()
        self._event_registry = event_registry
        self.outputs: list[Output] = []

    def status(self, run_id: str) -> RunStatus:
        """What is known of a run.

        Raises:
            CommandError: `unknown_run`.
        """
        status = self.runs.status.get(run_id)
        if status is None:
            raise CommandError(
                "unknown_run",
                f"There is no run {run_id[:80]}: it may have been deleted. Choose another "
                "run from the list.",
                run_id,
            )
        return status

    def live_status(self, run_id: str) -> RunStatus:
        """What is known of a run that lives.

        Raises:
            ProtocolError: `run_ended`.
        """
        status = self.runs.status.get(run_id)
        if status is None or not status.run.live:
            raise ProtocolError("run_ended", "This run has ended. Start a new run.")
        return status

    def emit(self, record: Record) -> HaltPoint | None:
        """Move the state by a record; returns the halt point it is about, as that then stands."""
        if not isinstance(record, RunHeaderSaved):
            halt_point = self.runs.apply(record)
            self.outputs.append(RecordOutput(record, halt_point))
            return halt_point
        run = record.run
        before = compute_leased_mode(self.runs.status[run.id].run)
        self.outputs.append(RecordOutput(record, self.runs.apply(record)))
        if run.live and compute_leased_mode(run) is not before:
            self.outputs.append(self.lease(run))
        return None

    def add_tool_name(
        self, status: RunStatus, opened: EventStatus, halt_point: HaltPoint
    ) -> EventStatus:
        """An event that begins, with its tool's name: version 1 sends it in the call only."""
        event = opened.event
        is_call = event.kind is EventKind.TOOL_INVOCATION and halt_point.side is EventSide.BEGIN
        name = find_tool_name(halt_point.data) if is_call and event.name is None else None
        if name is None:
            return opened
        self.emit(EventSaved(event=replace(event, name=name)))
        return status.open_events[event.id]

    def drain(self) -> list[Output]:
        """Take the outputs."""
        outputs, self.outputs = self.outputs, []
        return outputs

    def lease(self, run: Run) -> LeaseGranted:
        """What a run's agent may decide by itself, as things stand."""
        breakpoints = tuple(
            breakpoint
            for breakpoint in self.runs.breakpoints.values()
            if breakpoint.enabled and fnmatchcase(run.program, breakpoint.program)
        )
        return LeaseGranted(run.id, compute_leased_mode(run), breakpoints, self.runs.prices)

    def apply_rule(
        self,
        status: RunStatus,
        rule: TransitionRule,
        at: float,
        halt_point_id: str | None = None,
        decision: AnswerDecision = RESUMED,
    ) -> None:
        """Answer the halt points that a rule chooses, and change the run.

        Args:
            status: The run's.
            rule: Says which of the pending halt points are answered, and the mode afterwards.
            at: Now, by the Core's clock.
            halt_point_id: The halt point that is meant, where one is.
            decision: The answer.
        """
        state: AgentActivity | None = None
        for each in _chosen(status, rule.action, halt_point_id):
            halt_point = self.answer(status, each, decision, at)
            self.outputs.append(AnswerOutput(halt_point, decision.answer))
            state = self.find_state_after(halt_point, decision.answer)
        if rule.mode is RunMode.CONTINUE and status.run.agent_state is AgentActivity.HALTING:
            state = AgentActivity.RUNNING
        self.update_header(status, rule, state, at)

    def answer(
        self, status: RunStatus, halt_point_id: str, decision: AnswerDecision, at: float
    ) -> HaltPoint:
        """Record the answer to a pending halt point; nobody is sent it."""
        record = HaltPointAnswered(
            run=status.run.id,
            halt_point=halt_point_id,
            answer=decision.answer,
            at=at,
            reason=decision.reason,
            always=decision.always,
        )
        answered = self.emit(record)
        assert answered is not None
        return answered

    def edit(
        self,
        status: RunStatus,
        current: HaltPoint,
        edit: str | None,
        check: Callable[[str, HaltPoint], object] = check_edit,
        sticky: bool = False,
    ) -> None:
        """Check and record the edit of a pending halt point.

        Args:
            status: The run's.
            current: The halt point.
            edit: JSON text; None, or what the agent sent, takes the edit back.
            check: Raises what is wrong with an edit.
            sticky: Whether a prompt's messages are edited so in later ones, too.
        """
        if edit == current.data:
            edit = None
        if edit is not None:
            check(edit, current)
        record = HaltPointEdited(
            run=status.run.id,
            halt_point=current.id,
            revision=current.revision + 1,
            edit=edit,
            # Once it was said either way, the agent needs to hear what holds.
            sticky=UNSET if not sticky and current.sticky is UNSET else sticky,
        )
        self.emit(record)

    def find_state_after(self, halt_point: HaltPoint, answer: AnswerKind) -> AgentActivity:
        """What the agent does once a halt point was answered."""
        if halt_point.kind is not EventKind.CUSTOM:
            return find_next_activity(halt_point.kind, halt_point.side, answer)
        custom = self._event_registry.event_type(halt_point).activity
        return find_next_activity(halt_point.kind, halt_point.side, answer, custom)

    def update_header(
        self,
        status: RunStatus,
        rule: TransitionRule,
        state: AgentActivity | None = None,
        at: float | None = None,
        query_bytes: int = 0,
    ) -> None:
        """Bring the header up to date with the mode and what is pending.

        Args:
            status: The run's.
            rule: May name another mode.
            state: What the agent does now; None: what it did.
            at: Now, by the Core's clock; None where nothing is pending that wasn't, or no longer.
            query_bytes: The size of a query or an answer that came.
        """
        mode = rule.mode or status.run.mode
        pending = tuple(status.pending)
        run = replace(
            status.run,
            mode=mode,
            pending=pending,
            state=compute_shown_state(
                mode,
                pending=bool(pending),
                ended=False,
                detached=status.run.detached_at is not None,
            ),
            agent_state=AgentActivity.HALTED if pending else state or status.run.agent_state,
            query_bytes=status.run.query_bytes + query_bytes,
        )
        self.emit(RunHeaderSaved(run=run if at is None else add_halt_time(run, at)))


def _chosen(status: RunStatus, act: AnswerAction, halt_point_id: str | None) -> list[str]:
    """The pending halt points that a rule answers, in order."""
    unasked = [id for id, point in status.pending.items() if point.approval is None]
    match act:
        case AnswerAction.ANSWER_ONE:
            return [] if halt_point_id is None else [halt_point_id]
        case AnswerAction.STEP_ONE:
            return [id for id in unasked if halt_point_id in (None, id)][:1]
        case AnswerAction.ANSWER_ALL_WITHOUT_APPROVAL:
            return unasked
        case AnswerAction.ANSWER_ALL:
            return list(status.pending)
    return []
