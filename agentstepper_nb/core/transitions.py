"""What agents' inputs and people's commands share: the state of all runs, and its transitions.

The outputs of a transition are `RecordOutput`, `AnswerOutput` to an agent and `LeaseGranted`: the hub
performs them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from msgspec.structs import replace

from ..errors import CommandError, ProtocolError
from ..protocol.records import (
    BreakpointAnswered,
    BreakpointEdited,
    BreakpointSaved,
    Record,
    RunHeaderSaved,
)
from ..protocol.stops import BreakpointRule, Price
from ..protocol.values import (
    AgentActivity,
    AnswerKind,
    ApprovalPrompt,
    Breakpoint,
    Commit,
    EventKind,
    Run,
    RunMode,
)
from .input_checks import check_edit
from .run_state import RunStates, RunStatus
from .state_table import (
    AnswerAction,
    TransitionRule,
    add_halt_time,
    compute_leased_mode,
    compute_shown_state,
    find_next_activity,
)
from .timeline_rows import PLAIN, EventTypeRegistry


class RecordOutput(NamedTuple):
    """A record to store and to tell the UIs, and what it is about, as it then stands."""

    record: Record
    breakpoint: Breakpoint | None = None
    commit: Commit | None = None  # of a sentence on one


class AnswerOutput(NamedTuple):
    """An answer for the agent: the breakpoint, with its edit, and how it is answered."""

    breakpoint: Breakpoint
    answer: AnswerKind


class AnswerDecision(NamedTuple):
    """How a breakpoint is answered, and what a person said with it."""

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
    stops: tuple[BreakpointRule, ...]  # those that are on and are for the run's program
    prices: tuple[Price, ...]


Output = RecordOutput | AnswerOutput | LeaseGranted


def needs_durability(outputs: Sequence[Output]) -> bool:
    """Whether outputs have to survive a power cut before anybody acts on them.

    By such outputs people see a halt, or what a person decided is stored or sent.
    """
    for output in outputs:
        match output:
            case RecordOutput(record=BreakpointSaved(breakpoint=Breakpoint(answer=None))):
                return True
            case (
                RecordOutput(record=BreakpointEdited())
                | AnswerOutput(breakpoint=Breakpoint(edit=str()))
            ):
                return True
            case (
                AnswerOutput(breakpoint=Breakpoint(approval=ApprovalPrompt()))
                | AnswerOutput(answer=AnswerKind.DENY)
            ):
                return True
    return False


class Transitions:
    """The state of all runs, the outputs that nobody has drained, and the transitions that rules name.

    Args:
        vocabulary: What extensions add to the debugger's words.
    """

    def __init__(self, vocabulary: EventTypeRegistry = PLAIN) -> None:
        self.runs = RunStates()
        self._vocabulary = vocabulary
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
                f"There is no run {run_id[:80]}: it may have been deleted. Choose one of the list.",
                run_id,
            )
        return status

    def live(self, run_id: str) -> RunStatus:
        """What is known of a run that lives.

        Raises:
            ProtocolError: `run_ended`.
        """
        status = self.runs.status.get(run_id)
        if status is None or not status.run.live:
            raise ProtocolError("run_ended", "This run has ended: start a new one.")
        return status

    def emit(self, record: Record) -> Breakpoint | None:
        """Move the state by a record; returns the breakpoint it is about, as that then stands."""
        if not isinstance(record, RunHeaderSaved):
            breakpoint = self.runs.apply(record)
            self.outputs.append(RecordOutput(record, breakpoint))
            return breakpoint
        run = record.run
        before = compute_leased_mode(self.runs.status[run.id].run)
        self.outputs.append(RecordOutput(record, self.runs.apply(record)))
        if run.live and compute_leased_mode(run) is not before:
            self.outputs.append(self.lease(run))
        return None

    def drain(self) -> list[Output]:
        """Take the outputs."""
        outputs, self.outputs = self.outputs, []
        return outputs

    def lease(self, run: Run) -> LeaseGranted:
        """What a run's agent may decide by itself, as things stand."""
        stops = tuple(
            stop
            for stop in self.runs.stops.values()
            if stop.enabled and fnmatchcase(run.program, stop.program)
        )
        return LeaseGranted(run.id, compute_leased_mode(run), stops, self.runs.prices)

    def follow(
        self,
        status: RunStatus,
        rule: TransitionRule,
        at: float,
        breakpoint_id: str | None = None,
        verdict: AnswerDecision = RESUMED,
    ) -> None:
        """Answer the breakpoints that a rule chooses, and change the run.

        Args:
            status: The run's.
            rule: Says which of the pending breakpoints are answered, and the mode afterwards.
            at: Now, by the Core's clock.
            breakpoint_id: The breakpoint that is meant, where one is.
            verdict: The answer.
        """
        state: AgentActivity | None = None
        for each in _chosen(status, rule.act, breakpoint_id):
            breakpoint = self.answer(status, each, verdict, at)
            self.outputs.append(AnswerOutput(breakpoint, verdict.answer))
            state = self.state_past(breakpoint, verdict.answer)
        if rule.mode is RunMode.CONTINUE and status.run.agent_state is AgentActivity.HALTING:
            state = AgentActivity.RUNNING
        self.change(status, rule, state, at)

    def answer(
        self, status: RunStatus, breakpoint_id: str, verdict: AnswerDecision, at: float
    ) -> Breakpoint:
        """Record the answer to a pending breakpoint; nobody is sent it."""
        record = BreakpointAnswered(
            run=status.run.id,
            breakpoint=breakpoint_id,
            answer=verdict.answer,
            at=at,
            reason=verdict.reason,
            always=verdict.always,
        )
        answered = self.emit(record)
        assert answered is not None
        return answered

    def edit(
        self,
        status: RunStatus,
        current: Breakpoint,
        edit: str | None,
        check: Callable[[str, Breakpoint], object] = check_edit,
    ) -> None:
        """Check and record the edit of a pending breakpoint.

        Args:
            status: The run's.
            current: The breakpoint.
            edit: JSON text; None, or what the agent sent, takes the edit back.
            check: Raises what is wrong with an edit.
        """
        if edit == current.data:
            edit = None
        if edit is not None:
            check(edit, current)
        record = BreakpointEdited(
            run=status.run.id, breakpoint=current.id, revision=current.revision + 1, edit=edit
        )
        self.emit(record)

    def state_past(self, breakpoint: Breakpoint, answer: AnswerKind) -> AgentActivity:
        """What the agent does once a breakpoint was answered."""
        if breakpoint.kind is not EventKind.CUSTOM:
            return find_next_activity(breakpoint.kind, breakpoint.side, answer)
        custom = self._vocabulary.event_type(breakpoint).state
        return find_next_activity(breakpoint.kind, breakpoint.side, answer, custom)

    def change(
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
                away=status.run.detached_at is not None,
            ),
            agent_state=AgentActivity.HALTED if pending else state or status.run.agent_state,
            query_bytes=status.run.query_bytes + query_bytes,
        )
        self.emit(RunHeaderSaved(run=run if at is None else add_halt_time(run, at)))


def _chosen(status: RunStatus, act: AnswerAction, breakpoint_id: str | None) -> list[str]:
    """The pending breakpoints that a rule answers, in order."""
    unasked = [id for id, point in status.pending.items() if point.approval is None]
    match act:
        case AnswerAction.ANSWER_ONE:
            return [] if breakpoint_id is None else [breakpoint_id]
        case AnswerAction.STEP_ONE:
            return [id for id in unasked if breakpoint_id in (None, id)][:1]
        case AnswerAction.ANSWER_UNASKED:
            return unasked
        case AnswerAction.ANSWER_ALL:
            return list(status.pending)
    return []
