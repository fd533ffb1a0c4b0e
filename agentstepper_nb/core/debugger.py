"""The debugger's rules, without I/O: feed inputs in, drain outputs out.

Every input is one method call with the time passed in. It consults `states.RULES`, moves the state and
returns what to do, in order: `Saved` records, to store and then to tell the UIs, and `Reply`s to the
agent.
The state itself is `fold.Runs`, which only the records move.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from msgspec.structs import replace

from ..errors import CommandError, ProtocolError, StaleError
from ..protocol.records import (
    BreakpointAnswered,
    BreakpointEdited,
    BreakpointSaved,
    CommitSaved,
    EventSaved,
    Record,
    RunChanged,
    RunDeleted,
    RunHistory,
    RunImported,
    RunRenamed,
    RunStarted,
)
from ..protocol.values import (
    PAIRED,
    AgentState,
    AnswerKind,
    Breakpoint,
    Commit,
    Ending,
    Event,
    EventKind,
    Failure,
    Mode,
    Outcome,
    Run,
    RunState,
    Side,
)
from .edits import check_edit
from .fold import OpenEvent, Runs, RunStatus
from .states import RULES, Act, Rule, Signal, shown_state, state_after


class Saved(NamedTuple):
    """A record to store and to tell the UIs, and the breakpoint it is about, as it then stands."""

    record: Record
    breakpoint: Breakpoint | None = None


class Reply(NamedTuple):
    """An answer for the agent: the breakpoint, with its edit, and how it is answered."""

    breakpoint: Breakpoint
    answer: AnswerKind


Output = Saved | Reply


class Debugger:
    """All runs, and what may happen to them."""

    def __init__(self) -> None:
        self._runs = Runs()
        self._outputs: list[Output] = []

    # ---- reading ------------------------------------------------------------------------------------

    @property
    def runs(self) -> list[Run]:
        """The headers of all runs, oldest first."""
        return [status.run for status in self._runs.status.values()]

    @property
    def active(self) -> Run | None:
        """The live run that halted or started last."""
        status = self._runs.status.get(self._runs.active or "")
        return status.run if status and status.run.live else None

    def run(self, run_id: str) -> Run:
        """One run's header.

        Raises:
            CommandError: `unknown_run`.
        """
        return self._status(run_id).run

    def pending(self, run_id: str) -> list[Breakpoint]:
        """A run's pending breakpoints, oldest first."""
        return list(self._status(run_id).pending.values())

    def event(self, run_id: str, event_id: str) -> Event | None:
        """An open event of a run."""
        open_event = self._status(run_id).open.get(event_id)
        return open_event.event if open_event else None

    def next_side(self, run_id: str, event_id: str) -> Side:
        """The side of an event's next breakpoint, for version 1, which doesn't say it."""
        opened = self._status(run_id).open.get(event_id)
        return Side.END if opened and opened.begun else Side.BEGIN

    def replay(self, records: Iterable[Record]) -> None:
        """Rebuild the state from stored records, in their order."""
        self._runs.replay(records)

    # ---- what agents send ---------------------------------------------------------------------------

    def start_run(self, run: Run) -> list[Output]:
        """A program started. Its name is made here: `Run #n of P`.

        Raises:
            ProtocolError: `already_open`: a run of this id exists.
        """
        if run.id in self._runs.status:
            raise ProtocolError("already_open", f"A run {run.id} exists already.")
        number = 1 + sum(other.program == run.program for other in self.runs)
        self._emit(RunStarted(run=replace(run, name=f"Run #{number} of {run.program}")))
        return self._drain()

    def begin_event(self, event: Event) -> list[Output]:
        """An event began.

        Raises:
            ProtocolError: `duplicate`, or `run_ended`.
        """
        status = self._living(event.run)
        if event.id in status.open or event.id in status.ended:
            raise ProtocolError("duplicate", f"Event {event.id} was sent before.")
        parent = status.open.get(event.parent or "")
        is_row = event.kind is EventKind.DEBUG_MESSAGE
        event = replace(
            event,
            depth=parent.event.depth + 1 if parent else 0,
            seq=status.run.rows + 1 if is_row else 0,
            ended_at=event.at if is_row else None,
        )
        self._emit(EventSaved(event=event))
        return self._drain()

    def reach_breakpoint(self, breakpoint: Breakpoint, at: float) -> list[Output]:
        """An event's begin or end was reached.

        Args:
            breakpoint: As the agent sent it. Its side need not be right for version 1: `side` is the
                end where the event's begin came before.
            at: Now, by the Core's clock.

        Raises:
            ProtocolError: `unknown_event`, `event_ended`, `duplicate`, or `run_ended`.
        """
        status = self._living(breakpoint.run)
        opened = self._open_event(status, breakpoint)
        resumed = opened.resumed_at if breakpoint.side is Side.END else None
        breakpoint = replace(
            breakpoint,
            seq=status.run.rows + 1,
            kind=opened.event.kind,
            name=opened.event.name,
            depth=opened.event.depth,
            duration=None if resumed is None else max(0.0, at - resumed),
        )
        rule = RULES[status.run.state][Signal.BREAKPOINT]
        if not breakpoint.waits:
            return self._pass(
                replace(breakpoint, answer=AnswerKind.RESUME, answered_at=at), at, False
            )
        if status.run.stopping:
            return self._pass(breakpoint, at, True, AnswerKind.STOP)
        if rule.act is Act.PASS:
            return self._pass(breakpoint, at, True)
        self._emit(BreakpointSaved(breakpoint=breakpoint))
        self._end_event(opened, breakpoint, at)
        self._change(status, rule)
        return self._drain()

    def withdraw(self, run_id: str, breakpoint_id: str, at: float) -> list[Output]:
        """A breakpoint no longer waits. One that was answered meanwhile is no error: messages cross."""
        status = self._living(run_id)
        rule = RULES[status.run.state][Signal.WITHDRAWN]
        if rule.act is Act.WITHDRAW_ONE and breakpoint_id in status.pending:
            self._answered(status, breakpoint_id, AnswerKind.WITHDRAWN, at)
            self._change(status, rule, AgentState.RUNNING)
        return self._drain()

    def add_commit(self, commit: Commit) -> list[Output]:
        """The agent committed its workspace.

        Raises:
            ProtocolError: `run_ended`.
        """
        status = self._living(commit.run)
        self._emit(CommitSaved(commit=replace(commit, seq=status.run.rows)))
        return self._drain()

    def finish_run(
        self,
        run_id: str,
        ending: Ending,
        at: float,
        ids: tuple[str, str],
        failure: Failure | None = None,
    ) -> list[Output]:
        """A run ended: whatever was pending is withdrawn and a last message says so.

        Args:
            run_id: The run.
            ending: How it ended.
            at: Now, by the Core's clock.
            ids: Ids for the last event and its breakpoint.
            failure: What ended it.
        """
        status = self._living(run_id)
        if RULES[status.run.state][Signal.END].act is Act.WITHDRAW_ALL:
            for breakpoint_id in list(status.pending):
                self._answered(status, breakpoint_id, AnswerKind.WITHDRAWN, at)
        event_id, breakpoint_id = ids
        event = Event(id=event_id, run=run_id, kind=EventKind.PROGRAM_FINISHED, at=at, ended_at=at)
        self._emit(EventSaved(event=event))
        last = Breakpoint(
            id=breakpoint_id,
            run=run_id,
            event=event_id,
            seq=status.run.rows + 1,
            side=Side.BEGIN,
            kind=EventKind.PROGRAM_FINISHED,
            at=at,
            data="null",
            waits=False,
            summary="Agent execution finished.",
            failure=failure,
            outcome=_OUTCOMES[ending],
            answer=AnswerKind.RESUME,
            answered_at=at,
        )
        self._emit(BreakpointSaved(breakpoint=last))
        ended = replace(
            status.run,
            state=RunState.IDLE,
            pending=(),
            agent_state=AgentState.FINISHED,
            ending=ending,
            failure=failure,
            ended_at=at,
            stopping=False,
        )
        self._emit(RunChanged(run=ended))
        return self._drain()

    # ---- what people do -----------------------------------------------------------------------------

    def step(
        self,
        run_id: str,
        at: float,
        breakpoint_id: str | None = None,
        revision: int | None = None,
        edit: str | None = None,
    ) -> list[Output]:
        """Answer the named or the oldest pending breakpoint; in CONTINUE: halt at the next.

        Args:
            run_id: The run.
            at: Now, by the Core's clock.
            breakpoint_id: The breakpoint that is meant.
            revision: The revision of it that the person saw.
            edit: JSON text to set as its edit first.

        Raises:
            CommandError: `unknown_run`, `run_is_over`; `stale` where breakpoint or revision is not
                the current one.
            ProtocolError: `invalid_edit`.
        """
        status, rule = self._consult(run_id, Signal.STEP)
        self._named(status, breakpoint_id, revision, edit)
        self._follow(status, rule, at, breakpoint_id)
        return self._drain()

    def resume(
        self,
        run_id: str,
        at: float,
        breakpoint_id: str | None = None,
        revision: int | None = None,
        edit: str | None = None,
    ) -> list[Output]:
        """Continue: answer all pending breakpoints in order and halt no more. Arguments as `step`."""
        status, rule = self._consult(run_id, Signal.CONTINUE)
        self._named(status, breakpoint_id, revision, edit)
        self._follow(status, rule, at)
        return self._drain()

    def halt(self, run_id: str) -> list[Output]:
        """Halt at the next breakpoint.

        Raises:
            CommandError: `unknown_run`, `run_is_over`.
        """
        status, rule = self._consult(run_id, Signal.HALT)
        state = AgentState.HALTED if status.pending else AgentState.HALTING
        self._change(status, rule, state)
        return self._drain()

    def stop(self, run_id: str, at: float) -> list[Output]:
        """Answer `stop` at what is pending, or else at the next breakpoint that waits.

        Raises:
            CommandError: `unknown_run`, `run_is_over`, or `cannot_stop` for agents of version 1.
        """
        status, rule = self._consult(run_id, Signal.STOP)
        if not status.run.can_stop:
            raise CommandError(
                "cannot_stop", "This agent speaks version 1 and can't be stopped.", run_id
            )
        self._emit(RunChanged(run=replace(status.run, stopping=True)))
        self._follow(status, rule, at, answer=AnswerKind.STOP)
        return self._drain()

    def edit(
        self, run_id: str, breakpoint_id: str, edit: str | None, revision: int | None = None
    ) -> list[Output]:
        """Set a pending breakpoint's edit, or take it back with None, without answering.

        Raises:
            CommandError: `unknown_run`; `not_pending` where no revision is given, else `stale`.
            ProtocolError: `invalid_edit`.
        """
        status = self._status(run_id)
        if revision is None and breakpoint_id not in status.pending:
            raise CommandError("not_pending", "This message isn't waiting at a breakpoint.", run_id)
        current = self._current(status, breakpoint_id, revision)
        self._edit(status, current, edit)
        return self._drain()

    def rename(self, run_id: str, name: str) -> list[Output]:
        """Give a run another name.

        Raises:
            CommandError: `unknown_run`.
            ProtocolError: `invalid_message`: the name is empty.
        """
        if not name.strip():
            raise ProtocolError("invalid_message", "A run's name can't be empty.")
        self._emit(RunRenamed(run=replace(self._status(run_id).run, name=name)))
        return self._drain()

    def delete(self, run_id: str) -> list[Output]:
        """Delete a run that has ended.

        Raises:
            CommandError: `unknown_run`, or `run_is_live`.
        """
        if self._status(run_id).run.live:
            raise CommandError(
                "run_is_live", "A run can't be deleted while its agent runs.", run_id
            )
        self._emit(RunDeleted(run=run_id))
        return self._drain()

    def import_run(self, history: RunHistory) -> list[Output]:
        """Take in a run that has ended, whole."""
        self._emit(RunImported(history=history))
        return self._drain()

    # ---- steps of the above -------------------------------------------------------------------------

    def _emit(self, record: Record) -> None:
        self._outputs.append(Saved(record, self._runs.apply(record)))

    def _drain(self) -> list[Output]:
        outputs, self._outputs = self._outputs, []
        return outputs

    def _status(self, run_id: str) -> RunStatus:
        status = self._runs.status.get(run_id)
        if status is None:
            raise CommandError("unknown_run", f"There is no run {run_id[:80]}.", run_id)
        return status

    def _living(self, run_id: str) -> RunStatus:
        status = self._runs.status.get(run_id)
        if status is None or not status.run.live:
            raise ProtocolError("run_ended", "This run has ended: start a new one.")
        return status

    def _consult(self, run_id: str, signal: Signal) -> tuple[RunStatus, Rule]:
        status = self._status(run_id)
        rule = RULES[status.run.state].get(signal)
        if rule is None:
            raise CommandError("run_is_over", "This run has ended: there is nothing to do.", run_id)
        return status, rule

    def _open_event(self, status: RunStatus, breakpoint: Breakpoint) -> OpenEvent:
        opened = status.open.get(breakpoint.event)
        if opened is None:
            if breakpoint.event in status.ended:
                raise ProtocolError("event_ended", f"Event {breakpoint.event} has ended.")
            raise ProtocolError("unknown_event", f"This run has no event {breakpoint.event}.")
        if breakpoint.id in status.pending:
            raise ProtocolError("duplicate", f"Breakpoint {breakpoint.id} was sent before.")
        if opened.begun is (breakpoint.side is Side.BEGIN):
            wrong = "begun before" if opened.begun else "not begun"
            raise ProtocolError("event_ended", f"Event {breakpoint.event} has {wrong}.")
        return opened

    def _pass(
        self,
        breakpoint: Breakpoint,
        at: float,
        reply: bool,
        answer: AnswerKind = AnswerKind.RESUME,
    ) -> list[Output]:
        """Save a breakpoint that doesn't halt and answer it where the agent waits."""
        status = self._runs.status[breakpoint.run]
        opened = status.open[breakpoint.event]
        breakpoint = replace(breakpoint, answer=answer, answered_at=at)
        self._emit(BreakpointSaved(breakpoint=breakpoint))
        if reply:
            self._outputs.append(Reply(breakpoint, answer))
        self._end_event(opened, breakpoint, at)
        state = None if status.pending else state_after(opened.event.kind, breakpoint.side)
        self._change(status, Rule(Act.PASS), state)
        return self._drain()

    def _end_event(self, opened: OpenEvent, breakpoint: Breakpoint, at: float) -> None:
        if breakpoint.side is Side.END or opened.event.kind not in PAIRED:
            outcome = breakpoint.outcome or Outcome.OK
            self._emit(EventSaved(event=replace(opened.event, ended_at=at, outcome=outcome)))

    def _named(
        self, status: RunStatus, breakpoint_id: str | None, revision: int | None, edit: str | None
    ) -> None:
        """Check the breakpoint a command names, and set the edit it brings."""
        if breakpoint_id is None:
            if edit is not None:
                raise ProtocolError(
                    "invalid_message", "An edit needs the breakpoint it belongs to."
                )
            return
        current = self._current(status, breakpoint_id, revision)
        if edit is not None:
            self._edit(status, current, edit)

    def _current(self, status: RunStatus, breakpoint_id: str, revision: int | None) -> Breakpoint:
        current = status.pending.get(breakpoint_id)
        if current is None:
            text = "This breakpoint was answered meanwhile."
        elif revision is not None and revision != current.revision:
            text = "This message was edited meanwhile."
        else:
            return current
        raise StaleError(text, status.run.id, breakpoint_id)

    def _edit(self, status: RunStatus, current: Breakpoint, edit: str | None) -> None:
        if edit is not None:
            check_edit(edit, current.kind, current.side)
        if edit == current.data:
            edit = None
        record = BreakpointEdited(
            run=status.run.id, breakpoint=current.id, revision=current.revision + 1, edit=edit
        )
        self._emit(record)

    def _follow(
        self,
        status: RunStatus,
        rule: Rule,
        at: float,
        breakpoint_id: str | None = None,
        answer: AnswerKind = AnswerKind.RESUME,
    ) -> None:
        """Answer what a rule says and change the run."""
        if rule.act is Act.ANSWER_ONE:
            chosen = [breakpoint_id or next(iter(status.pending))]
        elif rule.act is Act.ANSWER_ALL:
            chosen = list(status.pending)
        else:
            chosen = []
        state: AgentState | None = None
        for each in chosen:
            state = self._release(status, each, answer, at)
        if rule.mode is Mode.CONTINUE and status.run.agent_state is AgentState.HALTING:
            state = AgentState.RUNNING
        self._change(status, rule, state)

    def _release(
        self, status: RunStatus, breakpoint_id: str, answer: AnswerKind, at: float
    ) -> AgentState:
        breakpoint = status.pending[breakpoint_id]
        self._answered(status, breakpoint_id, answer, at)
        self._outputs.append(Reply(breakpoint, answer))
        return state_after(breakpoint.kind, breakpoint.side)

    def _answered(
        self, status: RunStatus, breakpoint_id: str, answer: AnswerKind, at: float
    ) -> None:
        self._emit(
            BreakpointAnswered(run=status.run.id, breakpoint=breakpoint_id, answer=answer, at=at)
        )

    def _change(self, status: RunStatus, rule: Rule, state: AgentState | None = None) -> None:
        """Bring the header up to date with the mode and what is pending."""
        mode = rule.mode or status.run.mode
        pending = tuple(status.pending)
        run = replace(
            status.run,
            mode=mode,
            pending=pending,
            state=shown_state(mode, pending=bool(pending), ended=False),
            agent_state=AgentState.HALTED if pending else state or status.run.agent_state,
        )
        self._emit(RunChanged(run=run))


_OUTCOMES = {
    Ending.FINISHED: Outcome.OK,
    Ending.STOPPED: Outcome.STOPPED,
    Ending.CRASHED: Outcome.ERROR,
    Ending.LOST: Outcome.ERROR,
}
