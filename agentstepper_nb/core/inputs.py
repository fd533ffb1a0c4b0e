"""What agents send, and what becomes of it."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from ..errors import ProtocolError
from ..protocol.calls import tool_of
from ..protocol.records import (
    AgentHeard,
    BreakpointSaved,
    CommitSaved,
    EventSaved,
    Proof,
    RunChanged,
    RunStarted,
)
from ..protocol.values import (
    CHANGES_LOST,
    EVENT_NAME,
    EVENT_NAME_RULE,
    PAIRED,
    AgentState,
    AnswerKind,
    Breakpoint,
    Commit,
    Ending,
    Event,
    EventKind,
    Failure,
    Outcome,
    Run,
    RunState,
    Side,
)
from .deciding import Deciding
from .fold import OpenEvent, RunStatus
from .moves import WITHDRAWN, Output, Reply
from .states import Act, Rule, Signal, passes, rules, shown_state, with_halt_time

_OUTCOMES: Final = {
    Ending.FINISHED: Outcome.OK,
    Ending.STOPPED: Outcome.STOPPED,
    Ending.CRASHED: Outcome.ERROR,
    Ending.LOST: Outcome.ERROR,
}


class AgentInputs(Deciding):
    """The agents' half of the debugger."""

    def start_run(self, run: Run, proof: Proof | None = None) -> list[Output]:
        """A program started. Its name is made here: `Run #n of P`.

        Args:
            run: Its header.
            proof: By what its agent is known when it comes back; None: it can't.

        Raises:
            ProtocolError: `already_open`: a run of this id exists.
        """
        if run.id in self._runs.status:
            raise ProtocolError(
                "already_open", f"A run {run.id} exists already: give each run an id of its own."
            )
        number = 1 + sum(other.run.program == run.program for other in self._runs.status.values())
        named = replace(
            run,
            name=f"Run #{number} of {run.program}",
            state=shown_state(run.mode, pending=False, ended=False),
            halted_s=0.0,
        )
        self._emit(RunStarted(run=named, proof=proof))
        self._begin_deciding(named)
        return self._drain()

    def hear(self, run_id: str, n: int) -> list[Output]:
        """The agent's messages were heard up to this number; nothing of a run that has ended."""
        if self._status(run_id).run.live:
            self._emit(AgentHeard(run=run_id, n=n))
        return self._drain()

    def detach(self, run_id: str, at: float) -> list[Output]:
        """The agent is away, and may come back: what is pending stays, and can be answered.

        Args:
            run_id: The run.
            at: Now, by the Core's clock; of a run that is detached already its time stays.

        Raises:
            ProtocolError: `run_ended`: it ended before.
        """
        run = self._living(run_id).run
        if run.detached_at is None:
            self._emit(RunChanged(run=replace(run, state=RunState.DETACHED, detached_at=at)))
        return self._drain()

    def attach(self, run_id: str, failure: Failure | None = None) -> list[Output]:
        """The agent is there again.

        Args:
            run_id: The run.
            failure: What was lost meanwhile; the run's end is going to say so.

        Raises:
            ProtocolError: `run_ended`: it ended before.
        """
        run = self._living(run_id).run
        state = shown_state(run.mode, pending=bool(run.pending), ended=False)
        known = run.failure
        if known is not None and known.type == CHANGES_LOST:
            known = None  # it sends them again
        here = replace(run, state=state, detached_at=None, failure=failure or known)
        if here != run:
            self._emit(RunChanged(run=here))
        return self._drain()

    def tell_exit(self, run_id: str, code: int, failure: Failure | None = None) -> list[Output]:
        """The parent of a run's process told how that ended, after the run did.

        Args:
            run_id: The run, which has ended.
            code: The exit code; -9: ended by signal 9.
            failure: What ended it, where its agent hadn't said so itself.
        """
        run = replace(self._status(run_id).run, exit_code=code)
        if failure is not None:
            run = replace(run, ending=Ending.CRASHED, failure=failure)
        self._emit(RunChanged(run=run))
        return self._drain()

    def begin_event(self, event: Event) -> list[Output]:
        """An event began.

        Raises:
            ProtocolError: `duplicate`, `run_ended`, or `invalid_message` for a custom event's type.
        """
        status = self._living(event.run)
        is_row = event.kind is EventKind.DEBUG_MESSAGE
        if event.id in status.open or event.id in status.ended:
            raise _duplicate("Event", event.id)
        if is_row and event.id in status.rows:
            raise _duplicate("Message", event.id)
        if event.kind is EventKind.CUSTOM:
            _check_type(event.name)
        parent = status.open.get(event.parent or "")
        event = replace(
            event,
            depth=parent.event.depth + 1 if parent else 0,
            seq=status.run.rows + 1 if is_row else 0,
            ended_at=event.at if is_row else None,
        )
        self._emit(EventSaved(event=event))
        return self._drain()

    def reach_breakpoint(
        self, breakpoint: Breakpoint, at: float, *, leased: bool = False
    ) -> list[Output]:
        """An event's begin or end was reached.

        Args:
            breakpoint: As the agent sent it. Number, kind, name, depth and duration are set here.
            at: Now, by the Core's clock.
            leased: Whether the agent decided by a lease whether it waits, and says which stops hit;
                otherwise that is decided here.

        Raises:
            ProtocolError: `unknown_event`, `event_not_begun`, `event_ended`, `duplicate`,
                `run_ended`, or `invalid_message`: no approval can be asked for there.
        """
        status = self._living(breakpoint.run)
        opened = self._open_event(status, breakpoint)
        _check_approval(opened.event, breakpoint)
        opened = self._with_tool(status, opened, breakpoint)
        resumed = opened.resumed_at if breakpoint.side is Side.END else None
        breakpoint = replace(
            breakpoint,
            seq=status.run.rows + 1,
            kind=opened.event.kind,
            name=opened.event.name,
            depth=opened.event.depth,
            duration=None if resumed is None else max(0.0, at - resumed),
        )
        breakpoint = self._judged(status.run, breakpoint, leased=leased)
        rule = rules(status.run)[self._signal(status.run, breakpoint)]
        answer = _answer_at_once(status.run, rule, breakpoint)
        breakpoint = replace(breakpoint, answer=answer, answered_at=at if answer else None)
        self._emit(BreakpointSaved(breakpoint=breakpoint))
        if answer and breakpoint.waits:
            self._outputs.append(Reply(breakpoint, answer))
        if breakpoint.side is Side.END or breakpoint.kind not in PAIRED:
            outcome = breakpoint.outcome or Outcome.OK
            ended = replace(opened.event, ended_at=breakpoint.at, outcome=outcome)
            self._emit(EventSaved(event=ended))
        size = breakpoint.size_bytes if breakpoint.kind is EventKind.LLM_QUERY else 0
        self._change(status, rule, self._state_past(status.run, breakpoint), at, size)
        return self._drain()

    def _with_tool(self, status: RunStatus, opened: OpenEvent, breakpoint: Breakpoint) -> OpenEvent:
        """An event that begins, with its tool's name: version 1 says it in the call only."""
        event = opened.event
        calls = event.kind is EventKind.TOOL_INVOCATION and breakpoint.side is Side.BEGIN
        name = tool_of(breakpoint.data) if calls and event.name is None else None
        if name is None:
            return opened
        self._emit(EventSaved(event=replace(event, name=name)))
        return status.open[event.id]

    def withdraw(self, run_id: str, breakpoint_id: str, at: float) -> list[Output]:
        """A breakpoint no longer waits. One that was answered meanwhile is no error: messages cross."""
        status = self._living(run_id)
        rule = rules(status.run)[Signal.WITHDRAWN]
        if rule.act is Act.WITHDRAW_ONE and breakpoint_id in status.pending:
            self._answered(status, breakpoint_id, WITHDRAWN, at)
            self._change(status, rule, AgentState.RUNNING, at)
        return self._drain()

    def await_message(self, run_id: str) -> list[Output]:
        """The agent waits for a person's next message, and does nothing until its next event.

        Raises:
            ProtocolError: `run_ended`.
        """
        status = self._living(run_id)
        if not status.pending:
            self._emit(RunChanged(run=replace(status.run, agent_state=AgentState.WAITING)))
        return self._drain()

    def add_commit(self, commit: Commit) -> list[Output]:
        """The agent committed its workspace.

        Raises:
            ProtocolError: `duplicate`, or `run_ended`.
        """
        status = self._living(commit.run)
        if commit.id in status.commits:
            raise _duplicate("Commit", commit.id)
        self._emit(CommitSaved(commit=replace(commit, seq=status.run.rows)))
        self._touch(commit)
        return self._drain()

    def finish_run(
        self,
        run_id: str,
        ending: Ending,
        at: float,
        ids: tuple[str, str],
        failure: Failure | None = None,
        exit_code: int | None = None,
    ) -> list[Output]:
        """A run ended: whatever was pending is withdrawn and a last message says so.

        Args:
            run_id: The run.
            ending: How it ended.
            at: Now, by the Core's clock.
            ids: Ids for the last event and its breakpoint.
            failure: What ended it.
            exit_code: Of its process, where its parent told it.

        Raises:
            ProtocolError: `run_ended`: it ended before.
        """
        status = self._living(run_id)
        failure = _joined(failure, status.run.failure)
        last = status.last if ending in (Ending.CRASHED, Ending.LOST) else None
        if rules(status.run)[Signal.END].act is Act.WITHDRAW_ALL:
            for breakpoint_id in list(status.pending):
                self._answered(status, breakpoint_id, WITHDRAWN, at)
        self._say_finished(status.run, ids, at, _OUTCOMES[ending], failure)
        ended = replace(
            status.run,
            state=RunState.IDLE,
            pending=(),
            agent_state=AgentState.FINISHED,
            ending=ending,
            failure=failure,
            ended_at=at,
            stopping=False,
            detached_at=None,
            exit_code=exit_code,
            last_event=last,
        )
        self._emit(RunChanged(run=with_halt_time(ended, at)))
        self._end_deciding(run_id)
        return self._drain()

    def _state_past(self, run: Run, breakpoint: Breakpoint) -> AgentState | None:
        """What the agent does past a breakpoint; None where that hasn't changed."""
        if breakpoint.answer is None:
            return None
        if run.agent_state is AgentState.HALTING and not breakpoint.waits:
            return None  # it has still to halt
        return self._state_after(breakpoint, breakpoint.answer)

    def _say_finished(
        self, run: Run, ids: tuple[str, str], at: float, outcome: Outcome, failure: Failure | None
    ) -> None:
        """Add a run's last message, which waits for nobody."""
        event_id, breakpoint_id = ids
        event = Event(id=event_id, run=run.id, kind=EventKind.PROGRAM_FINISHED, at=at, ended_at=at)
        self._emit(EventSaved(event=event))
        last = Breakpoint(
            id=breakpoint_id,
            run=run.id,
            event=event_id,
            seq=run.rows + 1,
            side=Side.BEGIN,
            kind=EventKind.PROGRAM_FINISHED,
            at=at,
            data="null",
            waits=False,
            summary="Agent execution finished.",
            failure=failure,
            outcome=outcome,
            answer=AnswerKind.RESUME,
            answered_at=at,
        )
        self._emit(BreakpointSaved(breakpoint=last))

    def _living(self, run_id: str) -> RunStatus:
        status = self._runs.status.get(run_id)
        if status is None or not status.run.live:
            raise ProtocolError("run_ended", "This run has ended: start a new one.")
        return status

    def _open_event(self, status: RunStatus, breakpoint: Breakpoint) -> OpenEvent:
        """The event of a breakpoint that may come now."""
        event_id = breakpoint.event
        opened = status.open.get(event_id)
        if opened is None:
            if event_id in status.ended:
                raise ProtocolError(
                    "event_ended", f"Event {event_id} has ended: begin an event of its own."
                )
            raise ProtocolError(
                "unknown_event",
                f"This run has no event {event_id}: send the event before its breakpoints.",
            )
        if breakpoint.id in status.rows:
            raise _duplicate("Breakpoint", breakpoint.id)
        if opened.begun and breakpoint.side is Side.BEGIN:
            raise ProtocolError(
                "event_ended", f"Event {event_id} has begun before: it can only end now."
            )
        if not opened.begun and breakpoint.side is Side.END:
            raise ProtocolError(
                "event_not_begun",
                f"Event {event_id} has not begun: send its begin breakpoint first.",
            )
        return opened


def _answer_at_once(run: Run, rule: Rule, breakpoint: Breakpoint) -> AnswerKind | None:
    """The answer to a breakpoint that doesn't halt; None where it becomes pending."""
    if not breakpoint.waits:
        return AnswerKind.RESUME
    if run.stopping:
        return AnswerKind.STOP
    return AnswerKind.RESUME if passes(rule, run.mode) else None


def _joined(failure: Failure | None, before: Failure | None) -> Failure | None:
    """What ended a run, and what had been lost of it before."""
    if failure is None or before is None:
        return failure or before
    return replace(failure, message=f"{failure.message} {before.message}")


def _check_type(name: str | None) -> None:
    if name is None or not EVENT_NAME.fullmatch(name):
        raise ProtocolError(
            "invalid_message", f"{(name or '')[:80]!r} is no type of events: {EVENT_NAME_RULE}"
        )


def _check_approval(event: Event, breakpoint: Breakpoint) -> None:
    calls = event.kind is EventKind.TOOL_INVOCATION and breakpoint.side is Side.BEGIN
    if breakpoint.approval is not None and not calls:
        raise ProtocolError(
            "invalid_message",
            "Only the begin breakpoint of a tool invocation asks for an approval.",
        )


def _duplicate(what: str, id: str) -> ProtocolError:
    return ProtocolError("duplicate", f"{what} {id} was sent before: give each an id of its own.")
