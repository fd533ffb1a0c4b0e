"""What always holds of runs, whatever agents and people do; and that a restart is a replay."""

from __future__ import annotations

from collections import Counter

from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
)
from msgspec import UNSET

from agentstepper_nb.core.state_table import compute_shown_state
from agentstepper_nb.protocol.data_model import (
    AgentActivity,
    AnswerKind,
    BreakpointHits,
    EventKind,
    RunMode,
)
from agentstepper_nb.protocol.records import (
    BreakpointDeleted,
    BreakpointSaved,
    CommitSaved,
    EditRuleDeleted,
    EditRuleSaved,
    EventSaved,
    HaltPointAnswered,
    HaltPointSaved,
    ImportedRunSaved,
    NoteSaved,
    PricesSet,
    Record,
    RunHeaderSaved,
    RunRenamed,
    RunStarted,
    RunTagged,
)
from tests.helpers.debugger_harness import (
    DebuggerHarness,
    replay_states,
    round_trip,
)

Named = tuple[str, str]  # a run, and an event or a halt point of it


class DebuggingInvariants(RuleBasedStateMachine):
    """Checks a debugger after each step of a machine that is derived from this one."""

    def __init__(self) -> None:
        super().__init__()
        self.harness = DebuggerHarness()
        #: Calls that somebody has approved, here or at the agent.
        self.approved: set[Named] = set()

    def live(self) -> list[str]:
        return [run.id for run in self.harness.debugger.runs if run.live]

    @invariant()
    def what_is_shown_follows_from_mode_and_pending(self) -> None:
        for run in self.harness.debugger.runs:
            pending = self.harness.debugger.pending(run.id)
            assert run.pending == tuple(point.id for point in pending)
            ended = run.ending is not None or run.id.startswith("i")
            away = run.detached_at is not None
            assert run.state is compute_shown_state(
                run.mode, pending=bool(pending), ended=ended, detached=away
            )
            assert (run.agent_state is AgentActivity.HALTED) == bool(pending)
            assert all(point.waits and point.answer is None for point in pending)
            asks = all(point.approval is not None for point in pending)
            assert run.mode is RunMode.STEP or asks

    @invariant()
    def each_agent_has_the_lease_that_holds(self) -> None:
        """As it would: it gets one when it connects, and each change."""
        told = {each.run: each for each in self.harness.leases}
        started = (each.run for each in self.harness.records if isinstance(each, RunStarted))
        began = {run.id: run.mode for run in started}
        for run in self.harness.debugger.runs:
            if run.live and run.id in told:
                assert told[run.id] == self.harness.debugger.lease(run.id)
            elif run.live:
                assert self.harness.debugger.lease(run.id).mode is began[run.id]

    @invariant()
    def only_a_run_that_steps_has_a_target(self) -> None:
        for run in self.harness.debugger.runs:
            assert run.step is UNSET or (run.live and run.mode is RunMode.STEP)

    @invariant()
    def hits_are_those_of_the_rows(self) -> None:
        hits: dict[str, dict[str, BreakpointHits]] = {
            run.id: {} for run in self.harness.debugger.runs
        }
        for record in self.harness.records:
            if isinstance(record, HaltPointSaved):
                point = record.halt_point
                for breakpoint in set(point.breakpoints):
                    before = hits[point.run].get(breakpoint)
                    count = 1 + (before.count if before else 0)
                    hits[point.run][breakpoint] = BreakpointHits(
                        breakpoint=breakpoint, count=count, last=point.seq
                    )
        for run in self.harness.debugger.runs:
            assert {each.breakpoint: each for each in run.hits} == hits[run.id]

    @invariant()
    def every_breakpoint_that_waits_is_answered_once_or_pending(self) -> None:
        waiting, ends = set(), []
        for record in self.harness.records:
            match record:
                case HaltPointSaved(halt_point=point) if point.answer is None:
                    waiting.add((point.run, point.id))
                case HaltPointSaved(halt_point=point) if point.waits:
                    ends.append((point.run, point.id))
                case HaltPointAnswered(run=run, halt_point=id):
                    ends.append((run, id))
        assert len(ends) == len(set(ends))
        pending = {(run.id, id) for run in self.harness.debugger.runs for id in run.pending}
        assert waiting - set(ends) == pending
        assert pending.isdisjoint(ends)

    @invariant()
    def what_asks_for_an_approval_is_not_passed(self) -> None:
        for record in self.harness.records:
            if isinstance(record, HaltPointSaved) and record.halt_point.approval is not None:
                asks = record.halt_point.waits
                assert not asks or record.halt_point.answer in (None, AnswerKind.STOP)

    @invariant()
    def only_an_approval_approves(self) -> None:
        asks = set()
        for record in self.harness.records:
            match record:
                case HaltPointSaved(halt_point=point) if point.approval and not point.answer:
                    asks.add((point.run, point.id))
                case HaltPointAnswered(run=run, halt_point=id, answer=AnswerKind.RESUME):
                    assert (run, id) not in asks or (run, id) in self.approved

    @invariant()
    def only_denials_have_reasons(self) -> None:
        for record in self.harness.records:
            if isinstance(record, HaltPointAnswered):
                assert (record.reason is not None) == (record.answer is AnswerKind.DENY)
                assert not record.always or record.answer is AnswerKind.RESUME

    @invariant()
    def agents_hear_what_was_answered_and_nothing_else(self) -> None:
        recorded: Counter[tuple[str, AnswerKind]] = Counter()
        for record in self.harness.records:
            match record:
                case HaltPointSaved(halt_point=point) if point.waits and point.answer:
                    recorded[point.id, point.answer] += 1
                case HaltPointAnswered(halt_point=id, answer=answer):
                    recorded[id, answer] += answer is not AnswerKind.WITHDRAWN
        assert Counter((each.halt_point, each.answer) for each in self.harness.answers) == recorded

    @invariant()
    def rows_are_numbered_without_gaps(self) -> None:
        rows: dict[str, list[int]] = {run.id: [] for run in self.harness.debugger.runs}
        for record in self.harness.records:
            match record:
                case HaltPointSaved(halt_point=point):
                    rows[point.run].append(point.seq)
                case EventSaved(event=event) if event.kind is EventKind.DEBUG_MESSAGE:
                    rows[event.run].append(event.seq)
        for run in self.harness.debugger.runs:
            assert rows[run.id] == list(range(1, run.rows + 1))

    @invariant()
    def the_active_run_is_live(self) -> None:
        active = self.harness.debugger.active
        live = [run for run in self.harness.debugger.runs if run.live]
        assert active in live if live else active is None

    @invariant()
    def the_live_runs_are_those_whose_headers_say_so(self) -> None:
        assert set(self.harness.debugger._runs.live) == set(self.live())

    @invariant()
    def a_restart_is_a_replay(self) -> None:
        state = self.harness.debugger._runs
        for records in (self.harness.records, round_trip(self.harness.records)):
            again = replay_states(records)
            assert again == state
            assert list(again.status) == list(state.status)
            assert list(again.live) == list(state.live)


def is_rule(record: Record) -> bool:
    """Whether a record belongs to no run."""
    kinds = (BreakpointSaved, BreakpointDeleted, EditRuleSaved, EditRuleDeleted, PricesSet)
    return isinstance(record, kinds)


def run_of(record: Record) -> str:
    """The run that a record is about."""
    match record:
        case (
            RunStarted(run=run) | RunHeaderSaved(run=run) | RunRenamed(run=run) | RunTagged(run=run)
        ):
            return run.id
        case NoteSaved(note=note):
            return note.run
        case ImportedRunSaved(history=history):
            return history.run.id
        case EventSaved(event=event):
            return event.run
        case HaltPointSaved(halt_point=point):
            return point.run
        case CommitSaved(commit=commit):
            return commit.run
        case _:
            return record.run
