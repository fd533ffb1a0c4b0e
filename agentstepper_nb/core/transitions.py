"""The base of agents' inputs and people's commands: the state of all runs, and its transitions.

The outputs of a transition are `RecordOutput`, `AnswerOutput` to an agent and `LeaseGranted`: the hub
performs them.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Final

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from ..errors import CommandError, ProtocolError
from ..protocol.data_model import (
    AgentActivity,
    AnswerKind,
    ApprovalPrompt,
    Event,
    EventKind,
    EventSide,
    HaltPoint,
    Run,
    RunMode,
)
from ..protocol.effects import CheckRun
from ..protocol.records import (
    EventSaved,
    HaltPointAnswered,
    HaltPointEdited,
    HaltPointSaved,
    Record,
    RunHeaderSaved,
)
from ..protocol.step_targets import StepTarget
from ..protocol.tool_names import find_tool_name
from .effects import EffectRecorder
from .guides import MAX_GUIDES, keep_guides
from .input_checks import check_edit
from .outputs import (
    RESUMED,
    AnswerDecision,
    AnswerOutput,
    LeaseGranted,
    Output,
    RecordOutput,
)
from .run_state import EventStatus, RunStates, RunStatus
from .state_table import (
    AnswerAction,
    RunSignal,
    TransitionRule,
    compute_shown_state,
    find_next_activity,
    get_target,
    list_transition_rules,
)
from .timeline_rows import EMPTY_REGISTRY, EventTypeRegistry

#: Answers in a call's place: the person's input with them must not be lost.
_INSTEAD: Final = frozenset({AnswerKind.DENY, AnswerKind.SKIP, AnswerKind.RAISE})


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
            case AnswerOutput(halt_point=HaltPoint(approval=ApprovalPrompt())):
                return True
            case AnswerOutput(answer=answer) if answer in _INSTEAD:
                return True
    return False


#: The most commands of people whose outcomes a run stores: the last ones.
_MAX_CHECK_RUNS: Final = 20


class Transitions:
    """The state of all runs, the outputs that aren't drained yet, and the transitions that rules name.

    Args:
        event_registry: The custom events, summaries and checks of extensions.
    """

    def __init__(self, event_registry: EventTypeRegistry = EMPTY_REGISTRY) -> None:
        self.runs = RunStates()
        self.event_registry = event_registry
        self.effects = EffectRecorder(event_registry.effect_checks)
        self.outputs: list[Output] = []

    def status(self, run_id: str) -> RunStatus:
        """Return the status of a run.

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

    def consult(self, run_id: str, signal: RunSignal) -> tuple[RunStatus, TransitionRule]:
        """A run, and the rule for what a person does with it.

        Raises:
            CommandError: `unknown_run`, `run_is_over`.
        """
        status = self.status(run_id)
        rule = list_transition_rules(status.run).get(signal)
        if rule is None:
            raise CommandError(
                "run_is_over",
                "This run has ended, so it can't be stepped. Start the agent again.",
                run_id,
            )
        return status, rule

    def live_status(self, run_id: str) -> RunStatus:
        """Return the status of a live run.

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

    def complete_halt_point(
        self, halt_point: HaltPoint, event: Event, opened: EventStatus, at: float
    ) -> HaltPoint:
        """Complete a halt point that was reached with the fields that its agent doesn't send.

        Args:
            halt_point: The halt point as the agent sent it.
            event: The halt point's event.
            opened: The status of the event.
            at: Now, by the Core's clock.
        """
        is_begin = halt_point.side is EventSide.BEGIN
        resumed = None if is_begin else opened.resumed_at
        return replace(
            halt_point,
            seq=self.runs.status[halt_point.run].run.rows + 1,
            kind=event.kind,
            name=event.name,
            depth=event.depth,
            scope=event.scope,
            label=event.label,
            location=event.location,
            around=UNSET if is_begin or event.parent is None else event.parent,
            duration=None if resumed is None else max(0.0, at - resumed),
        )

    def drain(self) -> list[Output]:
        """Take the outputs."""
        outputs, self.outputs = self.outputs, []
        return outputs

    def lease(self, run: Run) -> LeaseGranted:
        """The current lease of a run's agent.

        The agent of a run that is to stop waits for the answer: its lease has the mode STEP.
        """
        breakpoints = tuple(
            breakpoint
            for breakpoint in self.runs.breakpoints.values()
            if breakpoint.enabled and fnmatchcase(run.program, breakpoint.program)
        )
        edit_rules = tuple(
            rule
            for rule in self.runs.edit_rules.values()
            if rule.enabled and fnmatchcase(run.program, rule.program)
        )
        return LeaseGranted(
            run.id,
            RunMode.STEP if run.stopping else run.mode,
            breakpoints,
            self.runs.prices,
            tuple(sorted(self.effects.checks.disabled)),
            edit_rules,
            None if run.stopping else get_target(run),
        )

    def apply_rule(
        self,
        status: RunStatus,
        rule: TransitionRule,
        at: float,
        halt_point_id: str | None = None,
        decision: AnswerDecision = RESUMED,
        target: StepTarget | UnsetType | None = UNSET,
    ) -> None:
        """Answer the halt points that a rule chooses, in order, and change the run.

        Args:
            status: The state of the run.
            rule: Names the pending halt points to answer, and the mode afterwards.
            at: Now, by the Core's clock.
            halt_point_id: The named halt point, if any.
            decision: The answer.
            target: The step's target; UNSET: unchanged.
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
                supplied=decision.supplied,
                raised=decision.raised,
            )
            halt_point = self.emit(record)
            assert halt_point is not None
            if halt_point.kind is EventKind.TOOL_INVOCATION:
                self.effects.record_answer(halt_point)
            self.outputs.append(AnswerOutput(halt_point, decision.answer))
            state = find_next_activity(halt_point, decision.answer, self.event_registry)
        if rule.mode is RunMode.CONTINUE and status.run.agent_state is AgentActivity.HALTING:
            state = AgentActivity.RUNNING
        self.update_header(status, rule, state, at, target=target)

    def record_check_run(self, run_id: str, check: CheckRun) -> list[Output]:
        """Record a person's command that checks a run's outcome.

        Args:
            run_id: The run, ended or not.
            check: The command and its outcome.

        Raises:
            CommandError: `unknown_run`.
        """
        run = self.status(run_id).run
        checks = (*(run.checks or ()), replace(check, rows=run.rows))[-_MAX_CHECK_RUNS:]
        self.emit(RunHeaderSaved(run=replace(run, checks=checks)))
        return self.drain()

    def withdraw(self, run_id: str, halt_point_id: str, at: float) -> None:
        """Record that a pending halt point no longer waits; the agent gets no answer."""
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
        guide: str | None = None,
    ) -> None:
        """Check and record the edit of a pending halt point.

        Args:
            status: The state of the run.
            current: The halt point.
            edit: JSON text; None, or the agent's own data, removes the edit.
            sticky: Whether the same messages of later prompts are edited, too.
            is_agents: Whether people of the agent made the edit.
            guide: The message that the edit adds to a prompt, where it is a guide.

        Raises:
            ProtocolError: `invalid_edit`.
        """
        if edit == current.data:
            edit = None
        if edit is not None:
            check_edit(edit, current, is_agents=is_agents)
        known = () if current.guides is UNSET else current.guides
        guides = (*known, *(() if guide is None else (guide,)))[-MAX_GUIDES:]
        record = HaltPointEdited(
            run=status.run.id,
            halt_point=current.id,
            revision=current.revision + 1,
            edit=edit,
            # Once it was said either way, the agent needs to hear what holds.
            sticky=UNSET if not sticky and current.sticky is UNSET else sticky,
            guides=(keep_guides(guides, edit) if guides else ()) or UNSET,
            edit_rules=UNSET if current.edit_rules is UNSET else (),
        )
        self.emit(record)

    def update_header(
        self,
        status: RunStatus,
        rule: TransitionRule,
        state: AgentActivity | None = None,
        at: float | None = None,
        query_bytes: int = 0,
        target: StepTarget | UnsetType | None = UNSET,
    ) -> None:
        """Update the header to the mode, the step's target and the pending halt points; a new mode or
        target is a new lease.

        Args:
            status: The state of the run.
            rule: May name another mode.
            state: The agent's activity now; None: unchanged.
            at: Now, by the Core's clock; None where the set of pending halt points is unchanged.
            query_bytes: The size of a query or an answer that arrived.
            target: The step's target, None: each halt point; UNSET: unchanged.
        """
        before = status.run
        mode = rule.mode or before.mode
        step = before.step if target is UNSET else target or UNSET
        pending = tuple(status.pending)
        run = replace(
            before,
            mode=mode,
            step=step,
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
        if (mode is not before.mode or step != before.step) and not run.stopping:
            self.outputs.append(self.lease(run))


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
