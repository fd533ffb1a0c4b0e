"""What agents' inputs and people's commands share: the state of all runs, and its transitions.

The outputs of a transition are `RecordOutput`, `AnswerOutput` to an agent and `LeaseGranted`: the hub
performs them.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    Event,
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
from .run_state import RunStates, RunStatus
from .state_table import (
    AnswerAction,
    TransitionRule,
    add_halt_time,
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
        self.event_registry = event_registry
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
        if status is None or run_id not in self.runs.live:
            raise ProtocolError("run_ended", "This run has ended. Start a new run.")
        return status

    def emit(self, record: Record) -> HaltPoint | None:
        """Move the state by a record; returns the halt point it is about, as that then stands."""
        halt_point = self.runs.apply(record)
        self.outputs.append(RecordOutput(record, halt_point))
        return halt_point

    def add_tool_name(self, event: Event, call: str) -> Event:
        """An event that begins, with its tool's name: version 1 sends it in the call only.

        Args:
            event: The event.
            call: JSON text of the call.
        """
        name = find_tool_name(call)
        if name is None:
            return event
        named = replace(event, name=name)
        self.emit(EventSaved(event=named))
        return named

    def drain(self) -> list[Output]:
        """Take the outputs."""
        outputs, self.outputs = self.outputs, []
        return outputs

    def lease(self, run: Run) -> LeaseGranted:
        """What a run's agent may decide by itself, as things stand.

        The agent of a run that is to stop waits for that answer: its lease has the mode STEP.
        """
        breakpoints = tuple(
            breakpoint
            for breakpoint in self.runs.breakpoints.values()
            if breakpoint.enabled and fnmatchcase(run.program, breakpoint.program)
        )
        mode = RunMode.STEP if run.stopping else run.mode
        return LeaseGranted(run.id, mode, breakpoints, self.runs.prices)

    def apply_rule(
        self,
        status: RunStatus,
        rule: TransitionRule,
        at: float,
        halt_point_id: str | None = None,
        decision: AnswerDecision = RESUMED,
    ) -> None:
        """Answer the halt points that a rule chooses, in order, and change the run.

        Args:
            status: The run's.
            rule: Says which of the pending halt points are answered, and the mode afterwards.
            at: Now, by the Core's clock.
            halt_point_id: The halt point that is meant, where one is.
            decision: The answer.
        """
        unasked = [id for id, point in status.pending.items() if point.approval is None]
        chosen: list[str] = []
        match rule.action:
            case AnswerAction.ANSWER_ONE if halt_point_id is not None:
                chosen = [halt_point_id]
            case AnswerAction.STEP_ONE:
                chosen = [id for id in unasked if halt_point_id in (None, id)][:1]
            case AnswerAction.ANSWER_ALL_WITHOUT_APPROVAL:
                chosen = unasked
            case AnswerAction.ANSWER_ALL:
                chosen = list(status.pending)
        state: AgentActivity | None = None
        for each in chosen:
            record = HaltPointAnswered(
                run=status.run.id,
                halt_point=each,
                answer=decision.answer,
                at=at,
                reason=decision.reason,
                always=decision.always,
            )
            halt_point = self.emit(record)
            assert halt_point is not None
            self.outputs.append(AnswerOutput(halt_point, decision.answer))
            state = find_next_activity(halt_point, decision.answer, self.event_registry)
        if rule.mode is RunMode.CONTINUE and status.run.agent_state is AgentActivity.HALTING:
            state = AgentActivity.RUNNING
        self.update_header(status, rule, state, at)

    def withdraw(self, run_id: str, halt_point_id: str, at: float) -> None:
        """Record that a pending halt point no longer waits; nobody is sent an answer."""
        self.emit(
            HaltPointAnswered(
                run=run_id, halt_point=halt_point_id, answer=AnswerKind.WITHDRAWN, at=at
            )
        )

    def edit(
        self,
        status: RunStatus,
        current: HaltPoint,
        edit: str | None,
        *,
        sticky: bool = False,
        is_agents: bool = False,
    ) -> None:
        """Check and record the edit of a pending halt point.

        Args:
            status: The run's.
            current: The halt point.
            edit: JSON text; None, or what the agent sent, takes the edit back.
            sticky: Whether a prompt's messages are edited so in later ones, too.
            is_agents: Whether the agent's own people made the edit.

        Raises:
            ProtocolError: `invalid_edit`.
        """
        if edit == current.data:
            edit = None
        if edit is not None:
            check_edit(edit, current, is_agents=is_agents)
        record = HaltPointEdited(
            run=status.run.id,
            halt_point=current.id,
            revision=current.revision + 1,
            edit=edit,
            # Once it was said either way, the agent needs to hear what holds.
            sticky=UNSET if not sticky and current.sticky is UNSET else sticky,
        )
        self.emit(record)

    def update_header(
        self,
        status: RunStatus,
        rule: TransitionRule,
        state: AgentActivity | None = None,
        at: float | None = None,
        query_bytes: int = 0,
    ) -> None:
        """Bring the header up to date with the mode and what is pending; a new mode is a new lease.

        Args:
            status: The run's.
            rule: May name another mode.
            state: What the agent does now; None: what it did.
            at: Now, by the Core's clock; None where nothing is pending that wasn't, or no longer.
            query_bytes: The size of a query or an answer that came.
        """
        before = status.run
        mode = rule.mode or before.mode
        pending = tuple(status.pending)
        run = replace(
            before,
            mode=mode,
            pending=pending,
            state=compute_shown_state(
                mode,
                pending=bool(pending),
                ended=False,
                detached=before.detached_at is not None,
            ),
            agent_state=AgentActivity.HALTED if pending else state or before.agent_state,
            query_bytes=before.query_bytes + query_bytes,
        )
        self.emit(RunHeaderSaved(run=run if at is None else add_halt_time(run, at)))
        if mode is not before.mode and not run.stopping:
            self.outputs.append(self.lease(run))
