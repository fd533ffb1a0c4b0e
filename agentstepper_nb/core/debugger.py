"""The debugger's rules, without I/O: feed inputs in, perform the outputs.

Every input is one method call with the time passed in. It consults `state_table`, moves the state and
returns what to do, in order: a `RecordOutput`, to store and then to tell the views, `LeaseGranted`, and
an `AnswerOutput` to the agent. `Debugger` has what agents send, its `commands` what people do; both are
made of `transitions`, which move the state, and of `state_table.HaltPolicy`.

The state itself is `run_state.RunStates`, which only the records move. An input that is refused raises,
and nothing happens.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from ..errors import ProtocolError
from ..protocol.breakpoint_rules import BreakpointRule, Price
from ..protocol.data_model import (
    PAIRED_EVENT_KINDS,
    AgentActivity,
    Commit,
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
from ..protocol.edit_rules import EditRuleDefinition
from ..protocol.field_types import ScopePath
from ..protocol.header_limits import truncate_header
from ..protocol.records import (
    AgentCredentials,
    CommitSaved,
    EventSaved,
    HaltPointSaved,
    MessagesReceived,
    Record,
    RunHeaderSaved,
    RunStarted,
)
from ..protocol.seams import RunSeams, merge_run_seams
from . import run_records
from . import state_table as states
from .breakpoints import end_step_scope
from .commands import DebuggerCommands
from .input_checks import (
    check_event,
    find_open_event,
    make_duplicate_error,
)
from .outputs import AnswerOutput, LeaseGranted, Output
from .timeline_rows import EMPTY_REGISTRY, EventTypeRegistry
from .transitions import Transitions


class Debugger:
    """The state of all runs. `commands` has people's commands, `halt_policy` decides where runs halt.

    Args:
        event_registry: The custom events, summaries and checks of extensions.
    """

    def __init__(self, event_registry: EventTypeRegistry = EMPTY_REGISTRY) -> None:
        self._transitions = Transitions(event_registry)
        self._runs = self._transitions.runs
        self.halt_policy = states.HaltPolicy(self._runs, self._transitions.effects)
        self.commands = DebuggerCommands(self._transitions, self.halt_policy)
        self.record_check_run = self._transitions.record_check_run

    @property
    def runs(self) -> list[Run]:
        """The headers of all runs, oldest first."""
        return [status.run for status in self._runs.status.values()]

    @property
    def active(self) -> Run | None:
        """The live run that halted or started last."""
        run_id = self._runs.active
        return None if run_id is None else self._runs.status[run_id].run

    @property
    def halted_runs(self) -> tuple[str, ...]:
        """The ids of runs that are halted, or were when they ended."""
        return tuple(self._runs.halted)

    @property
    def breakpoints(self) -> tuple[BreakpointRule, ...]:
        """All breakpoints, in the order in which they were made."""
        return tuple(self._runs.breakpoints.values())

    @property
    def prices(self) -> tuple[Price, ...]:
        """The prices of models."""
        return self._runs.prices

    @property
    def edit_rules(self) -> tuple[EditRuleDefinition, ...]:
        """All edit rules, in the order in which they were made."""
        return tuple(self._runs.edit_rules.values())

    def run(self, run_id: str) -> Run:
        """The header of a run. Raises `CommandError` `unknown_run`."""
        return self._transitions.status(run_id).run

    def pending(self, run_id: str) -> list[HaltPoint]:
        """A run's pending halt points, oldest first."""
        return list(self._transitions.status(run_id).pending.values())

    def agent_credentials(self, run_id: str) -> AgentCredentials | None:
        """The credentials of a live run's agent; None where it can't reconnect, or the run has ended."""
        return self._transitions.status(run_id).agent_credentials

    def last_received(self, run_id: str) -> int:
        """The number of the last message that was taken of a live run's agent."""
        return self._transitions.status(run_id).last_received

    def next_side(self, run_id: str, event_id: str) -> EventSide:
        """The side of an event's next halt point, for version 1, which doesn't say it."""
        opened = self._transitions.status(run_id).open_events.get(event_id)
        return EventSide.END if opened and opened.has_begun else EventSide.BEGIN

    def lease(self, run_id: str) -> LeaseGranted:
        """The current lease of a run's agent.

        Raises:
            CommandError: `unknown_run`.
        """
        return self._transitions.lease(self.run(run_id))

    def restore(self, records: Iterable[Record]) -> None:
        """Rebuild the state from stored records, in their order."""
        self._runs.restore(records)

    def start_run(self, run: Run, credentials: AgentCredentials | None = None) -> list[Output]:
        """Record that a program started. The run's name is made here: `Run #n of P`.

        Args:
            run: The run's header.
            credentials: Identify the agent when it reconnects; None: it can't.

        Raises:
            ProtocolError: `already_open`: a run of this id exists.
        """
        if run.id in self._runs.status:
            raise ProtocolError(
                "already_open",
                f"A run with the id {run.id} exists already. Give each run its own id.",
            )
        named = run_records.make_started_run(run, self.runs)
        self._transitions.emit(RunStarted(run=named, agent_credentials=credentials))
        self.halt_policy.begin(named)
        return self._transitions.drain()

    def record_received(self, run_id: str, n: int) -> list[Output]:
        """The agent's messages were heard up to this number; nothing of a run that has ended."""
        self._transitions.status(run_id)  # raises where there is no such run
        if run_id in self._runs.live:
            self._transitions.emit(MessagesReceived(run=run_id, n=n))
        return self._transitions.drain()

    def detach(self, run_id: str, at: float) -> list[Output]:
        """Record that the agent is away: pending halt points stay, and can be answered.

        Args:
            run_id: The run.
            at: Now, by the Core's clock; a run that is detached already keeps its time.

        Raises:
            ProtocolError: `run_ended`: the run has ended before.
        """
        run = self._transitions.live_status(run_id).run
        if run.detached_at is None:
            detached = replace(run, state=RunState.DETACHED, detached_at=at)
            self._transitions.emit(RunHeaderSaved(run=detached))
        return self._transitions.drain()

    def attach(self, run_id: str, failure: Failure | None = None) -> list[Output]:
        """Record that the agent is connected again.

        Args:
            run_id: The run.
            failure: The records that were lost meanwhile, for the failure at the run's end.

        Raises:
            ProtocolError: `run_ended`: the run has ended before.
        """
        run = self._transitions.live_status(run_id).run
        attached = run_records.make_attached_run(run, failure)
        if attached != run:
            self._transitions.emit(RunHeaderSaved(run=attached))
        return self._transitions.drain()

    def report_exit(self, run_id: str, code: int, failure: Failure | None = None) -> list[Output]:
        """Record the exit of a run's process, which the parent process reported after the run's end.

        Args:
            run_id: The run, which has ended.
            code: The exit code; -9: ended by signal 9.
            failure: The failure that ended the process, where the run's agent hadn't reported it.
        """
        run = replace(self._transitions.status(run_id).run, exit_code=code)
        if failure is not None:
            run = replace(run, ending=RunEnding.CRASHED, failure=failure)
        self._transitions.emit(RunHeaderSaved(run=truncate_header(run)))
        return self._transitions.drain()

    def begin_event(self, event: Event, seams: RunSeams | UnsetType = UNSET) -> list[Output]:
        """Record that an event began.

        Args:
            event: The event as the agent sent it. Number and depth are set here.
            seams: The seams of the run's process, where the agent sent them with the event.

        Raises:
            ProtocolError: `duplicate`, `run_ended`, or `invalid_message` for a custom event's type.
        """
        status = self._transitions.live_status(event.run)
        check_event(status, event)
        is_row = event.kind is EventKind.DEBUG_MESSAGE
        parent = status.open_events.get(event.parent or "")
        event = replace(
            event,
            depth=parent.event.depth + 1 if parent else 0,
            seq=status.run.rows + 1 if is_row else 0,
            ended_at=event.at if is_row else None,
        )
        self._transitions.emit(EventSaved(event=event))
        if seams is not UNSET:
            merged = replace(status.run, seams=merge_run_seams(status.run.seams, seams))
            self._transitions.emit(RunHeaderSaved(run=truncate_header(merged)))
        return self._transitions.drain()

    def reach_halt_point(
        self, halt_point: HaltPoint, at: float, *, leased: bool = False
    ) -> list[Output]:
        """Record that a run reached an event's begin or end.

        Args:
            halt_point: As the agent sent it. Number, kind, name, depth and duration are set here.
            at: Now, by the Core's clock.
            leased: Whether the agent's lease decided whether the halt point waits, and which
                breakpoints hit; otherwise the Core decides.

        Raises:
            ProtocolError: `unknown_event`, `event_not_begun`, `event_ended`, `duplicate`,
                `run_ended`, or `invalid_message`: the event allows no approval.
        """
        status = self._transitions.live_status(halt_point.run)
        opened = find_open_event(status, halt_point)
        event = opened.event
        is_begin = halt_point.side is EventSide.BEGIN
        if is_begin and event.kind is EventKind.TOOL_INVOCATION and event.name is None:
            event = self._transitions.add_tool_name(event, halt_point.data)
        halt_point = self._transitions.complete_halt_point(halt_point, event, opened, at)
        halt_point = self.halt_policy.evaluate(status.run, halt_point, leased=leased)
        step = self.halt_policy.advance_step(status.run, halt_point)
        rule, answer = self.halt_policy.find_rule(status.run, halt_point, steps_here=step.halts)
        halt_point = replace(halt_point, answer=answer, answered_at=at if answer else None)
        self._transitions.emit(HaltPointSaved(halt_point=halt_point))
        if answer and halt_point.waits:
            self._transitions.outputs.append(AnswerOutput(halt_point, answer))
        if not is_begin or halt_point.kind not in PAIRED_EVENT_KINDS:
            outcome = halt_point.outcome or EventOutcome.OK
            ended = replace(event, ended_at=halt_point.at, outcome=outcome)
            self._transitions.emit(EventSaved(event=ended))
        size = len(halt_point.data.encode()) if halt_point.kind is EventKind.LLM_QUERY else 0
        state = None
        if answer and (halt_point.waits or status.run.agent_state is not AgentActivity.HALTING):
            state = states.find_next_activity(halt_point, answer, self._transitions.event_registry)
        self._transitions.update_header(status, rule, state, at, size, target=step.target)
        return self._transitions.drain()

    def withdraw(self, run_id: str, halt_point_id: str, at: float) -> list[Output]:
        """A halt point no longer waits. One that was answered meanwhile is no error: messages cross."""
        status = self._transitions.live_status(run_id)
        rule = states.list_transition_rules(status.run)[states.RunSignal.WITHDRAWN]
        if rule.action is states.AnswerAction.WITHDRAW_ONE and halt_point_id in status.pending:
            self._transitions.withdraw(run_id, halt_point_id, at)
            self._transitions.update_header(status, rule, AgentActivity.RUNNING, at)
        return self._transitions.drain()

    def end_scope(self, run_id: str, scope: ScopePath) -> list[Output]:
        """An agent, a task, a thread or a job has ended, in which a run may step.

        Args:
            run_id: The run.
            scope: The path of what has ended.
        """
        status = self._transitions.live_status(run_id)
        before = states.get_target(status.run)
        target = end_step_scope(before, scope, status.find_open_event)
        if target != before:
            self._transitions.update_header(status, states.UNCHANGED, target=target)
        return self._transitions.drain()

    def await_message(self, run_id: str) -> list[Output]:
        """The agent waits for a person's next message, and does nothing until its next event.

        Raises:
            ProtocolError: `run_ended`.
        """
        status = self._transitions.live_status(run_id)
        if not status.pending:
            waiting = replace(status.run, agent_state=AgentActivity.WAITING)
            self._transitions.emit(RunHeaderSaved(run=waiting))
        return self._transitions.drain()

    def add_commit(self, commit: Commit) -> list[Output]:
        """The agent committed its workspace.

        Raises:
            ProtocolError: `duplicate`, or `run_ended`.
        """
        status = self._transitions.live_status(commit.run)
        if commit.id in status.commits:
            raise make_duplicate_error("Commit", commit.id)
        self._transitions.emit(CommitSaved(commit=replace(commit, seq=status.run.rows)))
        self.halt_policy.record_commit(commit)
        return self._transitions.drain()

    def finish_run(
        self,
        run_id: str,
        ending: RunEnding,
        at: float,
        ids: tuple[str, str],
        failure: Failure | None = None,
        exit_code: int | None = None,
    ) -> list[Output]:
        """Record a run's end: pending halt points are withdrawn, and a last row states the end.

        Args:
            run_id: The run.
            ending: The way in which the run ended.
            at: Now, by the Core's clock.
            ids: Ids for the last event and its halt point.
            failure: The failure that ended the run.
            exit_code: The exit code of the run's process, where the parent process reported it.

        Raises:
            ProtocolError: `run_ended`: the run has ended before.
        """
        status = self._transitions.live_status(run_id)
        failure = run_records.join_failures(failure, status.run.failure)
        last = status.last_row
        rule = states.list_transition_rules(status.run)[states.RunSignal.END]
        if rule.action is states.AnswerAction.WITHDRAW_ALL:
            for halt_point_id in list(status.pending):
                self._transitions.withdraw(run_id, halt_point_id, at)
        event, row = run_records.make_end_row(status.run, ids, ending, at, failure)
        self._transitions.emit(EventSaved(event=event))
        self._transitions.emit(HaltPointSaved(halt_point=row))
        ended = run_records.make_ended_run(status.run, ending, at, failure, exit_code, last)
        self._transitions.emit(RunHeaderSaved(run=ended))
        self.halt_policy.end(run_id)
        return self._transitions.drain()
