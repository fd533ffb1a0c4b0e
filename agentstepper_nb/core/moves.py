"""What agents' inputs and people's commands share: the state, and how it moves."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from msgspec.structs import replace

from ..errors import CommandError
from ..protocol.records import BreakpointAnswered, Record, RunChanged
from ..protocol.stops import Price, Stop
from ..protocol.values import AgentState, AnswerKind, Breakpoint, Commit, Mode, Run
from .fold import Runs, RunStatus
from .states import Act, Rule, leased_mode, shown_state, state_after, with_halt_time
from .vocabulary import PLAIN, Vocabulary


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


class Moves:
    """The state, the outputs not drained yet, and the moves that the rules name."""

    def __init__(self, vocabulary: Vocabulary = PLAIN) -> None:
        self._runs = Runs()
        self._vocabulary = vocabulary
        self._outputs: list[Output] = []

    def _emit(self, record: Record) -> Breakpoint | None:
        """Move the state by a record; the breakpoint that it is about, as it then stands."""
        if isinstance(record, RunChanged):
            self._emit_header(record)
            return None
        breakpoint = self._runs.apply(record)
        self._outputs.append(Saved(record, breakpoint))
        return breakpoint

    def _emit_header(self, record: RunChanged) -> None:
        run = record.run
        before = leased_mode(self._runs.status[run.id].run)
        self._outputs.append(Saved(record, self._runs.apply(record)))
        if run.live and leased_mode(run) is not before:
            self._outputs.append(self._lease(run))

    def _lease(self, run: Run) -> Leased:
        return Leased(run.id, leased_mode(run), tuple(self._stops_of(run)), self._runs.prices)

    def _stops_of(self, run: Run) -> Iterator[Stop]:
        """Those in force for a run."""
        for stop in self._runs.stops.values():
            if stop.enabled and fnmatchcase(run.program, stop.program):
                yield stop

    def _drain(self) -> list[Output]:
        outputs, self._outputs = self._outputs, []
        return outputs

    def _status(self, run_id: str) -> RunStatus:
        status = self._runs.status.get(run_id)
        if status is None:
            raise CommandError(
                "unknown_run",
                f"There is no run {run_id[:80]}: it may have been deleted. Choose one of the list.",
                run_id,
            )
        return status

    def _follow(
        self,
        status: RunStatus,
        rule: Rule,
        at: float,
        breakpoint_id: str | None = None,
        verdict: Verdict = RESUMED,
    ) -> None:
        """Answer what a rule says and change the run."""
        state: AgentState | None = None
        for each in _chosen(status, rule.act, breakpoint_id):
            state = self._release(status, each, verdict, at)
        if rule.mode is Mode.CONTINUE and status.run.agent_state is AgentState.HALTING:
            state = AgentState.RUNNING
        self._change(status, rule, state, at)

    def _release(
        self, status: RunStatus, breakpoint_id: str, verdict: Verdict, at: float
    ) -> AgentState:
        breakpoint = self._answered(status, breakpoint_id, verdict, at)
        self._outputs.append(Reply(breakpoint, verdict.answer))
        return self._state_after(breakpoint, verdict.answer)

    def _state_after(self, breakpoint: Breakpoint, answer: AnswerKind) -> AgentState:
        custom = self._vocabulary.event_type(breakpoint).state
        return state_after(breakpoint.kind, breakpoint.side, answer, custom)

    def _answered(
        self, status: RunStatus, breakpoint_id: str, verdict: Verdict, at: float
    ) -> Breakpoint:
        record = BreakpointAnswered(
            run=status.run.id,
            breakpoint=breakpoint_id,
            answer=verdict.answer,
            at=at,
            reason=verdict.reason,
            always=verdict.always,
        )
        answered = self._emit(record)
        assert answered is not None
        return answered

    def _change(
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
            rule: It may name another mode.
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
        self._emit(RunChanged(run=run if at is None else with_halt_time(run, at)))


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
