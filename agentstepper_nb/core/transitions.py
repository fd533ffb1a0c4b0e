"""What agents' inputs and people's commands share: the state of all runs, and its transitions.

The outputs of a transition are `Saved` records, `Reply`s to an agent and `Leased`: the hub performs
them.
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
    RunChanged,
)
from ..protocol.stops import Price, Stop
from ..protocol.values import (
    AgentState,
    AnswerKind,
    Approval,
    Breakpoint,
    Commit,
    EventKind,
    Mode,
    Run,
)
from .checks import check_edit
from .fold import Runs, RunStatus
from .rows import PLAIN, Vocabulary
from .states import Act, Rule, leased_mode, shown_state, state_after, with_halt_time


class Saved(NamedTuple):
    """A record to store and to tell the UIs, and what it is about, as it then stands."""

    record: Record
    breakpoint: Breakpoint | None = None
    commit: Commit | None = None  # of a sentence on one


class Reply(NamedTuple):
    """An answer for the agent: the breakpoint, with its edit, and how it is answered."""

    breakpoint: Breakpoint
    answer: AnswerKind


class Verdict(NamedTuple):
    """How a breakpoint is answered, and what a person said with it."""

    answer: AnswerKind
    reason: str | None = None  # of a denial
    always: bool = False  # of an approval: also from now on


RESUMED: Final = Verdict(AnswerKind.RESUME)
STOPPED: Final = Verdict(AnswerKind.STOP)
WITHDRAWN: Final = Verdict(AnswerKind.WITHDRAWN)


class Leased(NamedTuple):
    """What a run's agent may decide by itself from now on.

    It goes before the replies of the same outputs: who is answered by Continue isn't to wait once more.
    """

    run: str
    mode: Mode
    stops: tuple[Stop, ...]  # those that are on and are for the run's program
    prices: tuple[Price, ...]


Output = Saved | Reply | Leased


def needs_durable(outputs: Sequence[Output]) -> bool:
    """Whether outputs have to survive a power cut before anybody acts on them.

    By such outputs people see a halt, or what a person decided is stored or sent.
    """
    for output in outputs:
        match output:
            case Saved(record=BreakpointSaved(breakpoint=Breakpoint(answer=None))):
                return True
            case Saved(record=BreakpointEdited()) | Reply(breakpoint=Breakpoint(edit=str())):
                return True
            case Reply(breakpoint=Breakpoint(approval=Approval())) | Reply(answer=AnswerKind.DENY):
                return True
    return False


class Transitions:
    """The state of all runs, the outputs that nobody has drained, and the transitions that rules name.

    Args:
        vocabulary: What extensions add to the debugger's words.
    """

    def __init__(self, vocabulary: Vocabulary = PLAIN) -> None:
        self.runs = Runs()
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
        if not isinstance(record, RunChanged):
            breakpoint = self.runs.apply(record)
            self.outputs.append(Saved(record, breakpoint))
            return breakpoint
        run = record.run
        before = leased_mode(self.runs.status[run.id].run)
        self.outputs.append(Saved(record, self.runs.apply(record)))
        if run.live and leased_mode(run) is not before:
            self.outputs.append(self.lease(run))
        return None

    def drain(self) -> list[Output]:
        """Take the outputs."""
        outputs, self.outputs = self.outputs, []
        return outputs

    def lease(self, run: Run) -> Leased:
        """What a run's agent may decide by itself, as things stand."""
        stops = tuple(
            stop
            for stop in self.runs.stops.values()
            if stop.enabled and fnmatchcase(run.program, stop.program)
        )
        return Leased(run.id, leased_mode(run), stops, self.runs.prices)

    def follow(
        self,
        status: RunStatus,
        rule: Rule,
        at: float,
        breakpoint_id: str | None = None,
        verdict: Verdict = RESUMED,
    ) -> None:
        """Answer the breakpoints that a rule chooses, and change the run.

        Args:
            status: The run's.
            rule: Says which of the pending breakpoints are answered, and the mode afterwards.
            at: Now, by the Core's clock.
            breakpoint_id: The breakpoint that is meant, where one is.
            verdict: The answer.
        """
        state: AgentState | None = None
        for each in _chosen(status, rule.act, breakpoint_id):
            breakpoint = self.answer(status, each, verdict, at)
            self.outputs.append(Reply(breakpoint, verdict.answer))
            state = self.state_past(breakpoint, verdict.answer)
        if rule.mode is Mode.CONTINUE and status.run.agent_state is AgentState.HALTING:
            state = AgentState.RUNNING
        self.change(status, rule, state, at)

    def answer(
        self, status: RunStatus, breakpoint_id: str, verdict: Verdict, at: float
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

    def state_past(self, breakpoint: Breakpoint, answer: AnswerKind) -> AgentState:
        """What the agent does once a breakpoint was answered."""
        if breakpoint.kind is not EventKind.CUSTOM:
            return state_after(breakpoint.kind, breakpoint.side, answer)
        custom = self._vocabulary.event_type(breakpoint).state
        return state_after(breakpoint.kind, breakpoint.side, answer, custom)

    def change(
        self,
        status: RunStatus,
        rule: Rule,
        state: AgentState | None = None,
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
            state=shown_state(
                mode,
                pending=bool(pending),
                ended=False,
                away=status.run.detached_at is not None,
            ),
            agent_state=AgentState.HALTED if pending else state or status.run.agent_state,
            query_bytes=status.run.query_bytes + query_bytes,
        )
        self.emit(RunChanged(run=run if at is None else with_halt_time(run, at)))


def _chosen(status: RunStatus, act: Act, breakpoint_id: str | None) -> list[str]:
    """The pending breakpoints that a rule answers, in order."""
    unasked = [id for id, point in status.pending.items() if point.approval is None]
    match act:
        case Act.ANSWER_ONE:
            return [] if breakpoint_id is None else [breakpoint_id]
        case Act.STEP_ONE:
            return [id for id in unasked if breakpoint_id in (None, id)][:1]
        case Act.ANSWER_UNASKED:
            return unasked
        case Act.ANSWER_ALL:
            return list(status.pending)
    return []
