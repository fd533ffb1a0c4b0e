"""Where a run halts by itself: decided by its agent, which has a lease, or by its breakpoints here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from msgspec.structs import replace

from agentstepper_nb.core import LeaseGranted
from agentstepper_nb.errors import CommandError, ProtocolError
from agentstepper_nb.protocol.breakpoint_rules import (
    MAX_BREAKPOINTS,
    BreakpointRule,
    Price,
    Reaction,
    TokenBudget,
    Touched,
)
from agentstepper_nb.protocol.data_model import (
    AgentActivity,
    AnswerKind,
    BreakpointHits,
    ChangeKind,
    Commit,
    EventKind,
    EventSide,
    FileChange,
    Run,
    RunMode,
    RunState,
    Usage,
)
from agentstepper_nb.protocol.records import RunHistory
from tests.helpers.debugger_harness import DebuggerHarness, SentAnswer, replay_states

HALTS = BreakpointRule(id="halts")
LOGS = BreakpointRule(id="logs", reaction=Reaction.LOG)
OFF = BreakpointRule(id="off", enabled=False)
PRICE = Price(model="gpt-*", input=1.0, output=2.0)


def harness(*breakpoints: BreakpointRule, state: RunState = RunState.CONTINUE) -> DebuggerHarness:
    """A run in a state, with breakpoints that were set before it began."""
    harness = DebuggerHarness()
    for breakpoint in breakpoints:
        harness.set_breakpoint(breakpoint)
    harness.start()
    if state is RunState.HALTED:
        harness.begin_query()
    if state is RunState.CONTINUE:
        harness.resume()
    harness.answers.clear()
    harness.leases.clear()
    return harness


@dataclass
class HaltCase:
    """What a leased agent says of a halt point in a run, and what becomes of it."""

    waits: bool
    breakpoints: tuple[str, ...] = ()
    error: str | None = None
    state: RunState = RunState.CONTINUE
    pends: bool = False
    answer: AnswerKind | None = AnswerKind.RESUME
    stopping: bool = False


PASSES = HaltCase(waits=False)
CASES = {
    "nothing": PASSES,
    "logged": HaltCase(waits=False, breakpoints=("logs",)),
    # It was decided before the Step was read: nobody waits, so nothing is pending.
    "passed in step": HaltCase(waits=False, state=RunState.STEP),
    "passed by a breakpoint that came later": HaltCase(waits=False, breakpoints=("halts",)),
    "passed with an error": HaltCase(waits=False, error="no number"),
    "passed though it is to stop": HaltCase(waits=False, stopping=True),
    "waits in step": HaltCase(waits=True, state=RunState.STEP, pends=True),
    "waits in step, hit": HaltCase(
        waits=True, breakpoints=("halts",), state=RunState.STEP, pends=True
    ),
    "waits beside another": HaltCase(waits=True, state=RunState.HALTED, pends=True),
    "halts": HaltCase(waits=True, breakpoints=("halts",), pends=True),
    "halts among others": HaltCase(waits=True, breakpoints=("gone", "logs", "halts"), pends=True),
    "an error halts": HaltCase(waits=True, error="no number", pends=True),
    "crossed a continue": HaltCase(waits=True),
    "the breakpoint only logs by now": HaltCase(waits=True, breakpoints=("logs",)),
    "the breakpoint is off by now": HaltCase(waits=True, breakpoints=("off",)),
    "the breakpoint is gone by now": HaltCase(waits=True, breakpoints=("gone",)),
    "is to stop": HaltCase(waits=True, answer=AnswerKind.STOP, stopping=True),
    "is to stop, hit": HaltCase(
        waits=True, breakpoints=("halts",), answer=AnswerKind.STOP, stopping=True
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_a_leased_agent_decided(case: HaltCase) -> None:
    it = harness(HALTS, LOGS, OFF, state=case.state)
    if case.stopping:
        it.stop()
        it.leases.clear()
    before = it.run()
    event = it.begin(EventKind.TOOL_INVOCATION, name="ls")
    id = it.reach(
        event,
        leased=True,
        waits=case.waits,
        breakpoints=case.breakpoints,
        breakpoint_error=case.error,
    )
    point, run = it.find_halt_point(id), it.run()
    assert (point.breakpoints, point.breakpoint_error) == (case.breakpoints, case.error)
    assert (id in run.pending) is case.pends
    if case.pends:
        assert (run.state, run.mode, run.agent_state) == (
            RunState.HALTED,
            RunMode.STEP,
            AgentActivity.HALTED,
        )
        assert it.answers == []
    else:
        assert run.mode is before.mode
        assert point.answer is (case.answer if case.waits else AnswerKind.RESUME)
        assert it.answers == ([SentAnswer(id, case.answer or AnswerKind.RESUME)] * case.waits)
    # The rest of the agent hears of a halt.
    assert bool(it.leases) is (case.pends and before.mode is RunMode.CONTINUE)
    assert replay_states(it.records) == it.debugger._runs


def test_hits_are_counted_with_the_last_row() -> None:
    it = harness(HALTS, LOGS)
    for breakpoints in (("logs",), (), ("halts", "logs", "logs"), ("gone",)):
        it.reach(it.begin(), leased=True, waits=False, breakpoints=breakpoints)
    assert it.run().hits == (
        BreakpointHits(breakpoint="logs", count=2, last=3),
        BreakpointHits(breakpoint="halts", count=1, last=3),
        BreakpointHits(breakpoint="gone", count=1, last=4),
    )


def test_what_agents_make_up_does_not_grow_the_header() -> None:
    it = harness()
    for turn in range(12):
        names = tuple(f"s{turn}-{number}" for number in range(100))
        it.reach(
            it.begin(), leased=True, waits=False, breakpoints=names, breakpoint_error="x" * 5000
        )
    assert len(it.run().hits) == 1000
    assert {
        len(each.halt_point.breakpoint_error) for each in it.records if hasattr(each, "halt_point")
    } == {1000}


# ---- without a lease --------------------------------------------------------------------------------


def test_without_a_lease_the_breakpoints_are_asked_here() -> None:
    it = harness(
        BreakpointRule(
            id="third", kind=EventKind.TOOL_INVOCATION, side=EventSide.BEGIN, name="l*", hit_count=3
        ),
        BreakpointRule(id="says", condition='data == "stop"', reaction=Reaction.LOG),
    )
    names = ["ls", "cat", "ls", "ls", "ls"]
    points = [it.reach(it.begin(EventKind.TOOL_INVOCATION, name=name)) for name in names[:3]]
    assert it.run().state is RunState.CONTINUE
    points.append(it.reach(it.begin(EventKind.TOOL_INVOCATION, name="ls")))
    assert (it.run().pending, it.run().mode) == ((points[-1],), RunMode.STEP)
    it.resume()
    it.reach(it.begin(EventKind.TOOL_INVOCATION, name="ls"), data='"stop"', waits=False)
    assert it.run().state is RunState.CONTINUE  # it didn't wait
    assert it.run().hits == (
        BreakpointHits(breakpoint="third", count=2, last=5),
        BreakpointHits(breakpoint="says", count=1, last=5),
    )


def test_a_condition_that_fails_halts_and_says_so() -> None:
    it = harness(BreakpointRule(id="s", condition="1 / 0 == 1", reaction=Reaction.LOG))
    id = it.reach(it.begin())
    assert it.run().pending == (id,)
    assert "1 / 0" in (it.find_halt_point(id).breakpoint_error or "")
    assert it.run().hits == ()


def test_changes_of_the_workspace_are_told() -> None:
    it = harness(BreakpointRule(id="s", watch=Touched(path="tests/*")))
    it.reach(it.begin())
    for path in ("src/a.py", "tests/a.py"):
        change = FileChange(path=path, kind=ChangeKind.CHANGED)
        commit = Commit(id=path, run="run", at=1.0, title="t", changes=(change,))
        it.perform(it.debugger.add_commit(commit))
        it.reach(it.begin())
    assert it.run().hits == (BreakpointHits(breakpoint="s", count=1, last=3),)


def test_a_breakpoint_that_is_set_meanwhile_counts_from_then_on_and_usage_from_the_start() -> None:
    it = harness(BreakpointRule(id="second", hit_count=2))
    for _ in range(2):
        it.resume()
        it.reach(it.begin(), usage=Usage(input_tokens=40))
    it.set_breakpoint(BreakpointRule(id="tokens", watch=TokenBudget(limit=100)))
    it.set_breakpoint(BreakpointRule(id="first"))
    it.resume()
    it.reach(it.begin(), usage=Usage(output_tokens=40))
    assert it.run().hits == (
        BreakpointHits(breakpoint="second", count=2, last=3),
        BreakpointHits(breakpoint="tokens", count=1, last=3),
        BreakpointHits(breakpoint="first", count=1, last=3),
    )


def test_once_an_agent_has_its_lease_nothing_is_decided_here() -> None:
    it = harness(BreakpointRule(id="s", hit_count=2, reaction=Reaction.LOG))
    it.reach(it.begin())
    it.reach(it.begin(), leased=True, waits=False)
    it.reach(it.begin())  # it lost its lease: its breakpoints begin anew
    assert it.run().hits == ()
    it.reach(it.begin())
    assert it.run().hits == (BreakpointHits(breakpoint="s", count=1, last=4),)


def test_after_a_restart_breakpoints_are_told_what_came_before() -> None:
    before = harness(
        BreakpointRule(id="s", hit_count=3), BreakpointRule(id="t", watch=Touched(path="b"))
    )
    before.reach(before.begin())
    change = FileChange(path="a", previous_path="b", kind=ChangeKind.RENAMED)
    commit = Commit(id="c", run="run", at=1.0, title="t", changes=(change,))
    before.perform(before.debugger.add_commit(commit))
    before.reach(before.begin())
    assert before.run().hits == (BreakpointHits(breakpoint="t", count=1, last=2),)
    before.resume()
    after = DebuggerHarness()
    after.debugger.restore(before.records)
    assert after.debugger.halt_policy.needs_history("run")
    points = [record.halt_point for record in before.records if hasattr(record, "halt_point")]
    commits = (replace(commit, seq=1),)
    history = RunHistory(run=after.run(), halt_points=tuple(points[:2]), commits=commits)
    after.debugger.halt_policy.restore_history("run", history)
    assert not after.debugger.halt_policy.needs_history("run")
    after.debugger.halt_policy.restore_history("run", history)  # it is told once
    after.reach(after.begin(id="e9"), id="b9")
    assert after.run().hits[1] == BreakpointHits(breakpoint="s", count=1, last=3)
    assert after.run().pending == ("b9",)


def test_where_what_came_before_cannot_be_read_breakpoints_begin_anew() -> None:
    before = harness(BreakpointRule(id="s", hit_count=2))
    before.reach(before.begin())
    after = DebuggerHarness()
    after.debugger.restore(before.records)
    after.debugger.halt_policy.restore_history("run", None)
    assert not after.debugger.halt_policy.needs_history("run")
    for id in ("b8", "b9"):
        after.reach(after.begin(id=f"e-{id}"), id=id)
    assert after.run().hits == (BreakpointHits(breakpoint="s", count=1, last=3),)
    after.debugger.halt_policy.restore_history("gone", None)
    assert not after.debugger.halt_policy.needs_history("gone")


def test_a_run_that_began_here_needs_no_memory() -> None:
    it = harness()
    it.reach(it.begin())
    assert not it.debugger.halt_policy.needs_history("run")
    it.reach(it.begin(), leased=True)
    assert not it.debugger.halt_policy.needs_history("run")


# ---- breakpoints and prices --------------------------------------------------------------------------


def test_breakpoints_stay_in_the_order_in_which_they_were_made() -> None:
    it = harness(HALTS, LOGS)
    it.set_breakpoint(replace(HALTS, once=True))
    it.set_breakpoint(OFF)
    assert it.debugger.breakpoints == (replace(HALTS, once=True), LOGS, OFF)
    it.delete_breakpoint("logs")
    assert [breakpoint.id for breakpoint in it.debugger.breakpoints] == ["halts", "off"]
    it.set_prices(PRICE)
    assert it.debugger.prices == (PRICE,)
    assert replay_states(it.records) == it.debugger._runs


def test_what_cannot_be_set() -> None:
    it = harness()
    with pytest.raises(ProtocolError) as refused:
        it.set_breakpoint(BreakpointRule(id="s", condition="import os"))
    assert refused.value.code == "invalid_stop"
    with pytest.raises(CommandError) as unknown:
        it.delete_breakpoint("s")
    assert unknown.value.code == "unknown_stop"
    for number in range(MAX_BREAKPOINTS):
        it.set_breakpoint(BreakpointRule(id=f"s{number}"))
    with pytest.raises(ProtocolError, match=r"limit of 200 breakpoints is reached\. Delete one"):
        it.set_breakpoint(BreakpointRule(id="more"))
    it.set_breakpoint(BreakpointRule(id="s7", once=True))
    assert len(it.debugger.breakpoints) == MAX_BREAKPOINTS


# ---- leases -----------------------------------------------------------------------------------------


def leases(it: DebuggerHarness, does: Any, *args: Any) -> list[LeaseGranted]:
    """The leases that something brings."""
    it.leases.clear()
    does(*args)
    return it.leases


def test_a_lease_has_what_is_in_force_for_the_program() -> None:
    mine, other = BreakpointRule(id="mine", program="P*"), BreakpointRule(id="other", program="Q")
    it = harness(mine, other, OFF, HALTS, state=RunState.STEP)
    it.set_prices(PRICE)
    assert it.debugger.lease("run") == LeaseGranted("run", RunMode.STEP, (mine, HALTS), (PRICE,))


def test_a_lease_is_given_where_it_changes_and_not_else() -> None:
    it = harness(HALTS, state=RunState.STEP)
    (given,) = leases(it, it.resume)
    assert given == LeaseGranted("run", RunMode.CONTINUE, (HALTS,), ())
    assert leases(it, it.resume) == []
    assert [each.mode for each in leases(it, it.halt)] == [RunMode.STEP]
    assert leases(it, it.halt) == []
    assert leases(it, it.begin_query) == []
    assert leases(it, it.step) == []
    assert [each.breakpoints for each in leases(it, it.set_breakpoint, LOGS)] == [(HALTS, LOGS)]
    assert leases(it, it.set_breakpoint, LOGS) == []
    assert leases(it, it.set_breakpoint, OFF) == []
    assert leases(it, it.set_breakpoint, BreakpointRule(id="q", program="Q")) == []
    assert [
        each.breakpoints for each in leases(it, it.set_breakpoint, replace(LOGS, enabled=False))
    ] == [(HALTS,)]
    assert leases(it, it.delete_breakpoint, "logs") == []
    assert [each.prices for each in leases(it, it.set_prices, PRICE)] == [(PRICE,)]
    it.resume()
    assert [each.mode for each in leases(it, it.stop)] == [RunMode.STEP]
    assert leases(it, it.finish) == []
    assert leases(it, it.set_breakpoint, replace(HALTS, once=True)) == []


def test_each_live_run_gets_its_own() -> None:
    it = harness()
    it.start("second", "Q")
    it.start("third", "P")
    given = leases(it, it.set_breakpoint, BreakpointRule(id="s", program="P"))
    assert [each.run for each in given] == ["run", "third"]


def test_an_agent_that_is_away_has_a_lease_when_it_is_back() -> None:
    it = harness(state=RunState.STEP)
    it.detach()
    assert [each.mode for each in leases(it, it.resume)] == [RunMode.CONTINUE]
    assert it.debugger.lease("run").mode is RunMode.CONTINUE


def test_an_imported_run_keeps_its_hits() -> None:
    it = DebuggerHarness()
    hits = (BreakpointHits(breakpoint="s", count=2, last=7),)
    run = Run(id="r", name="I", program="P", started_at=1.0, state=RunState.IDLE, hits=hits)
    it.perform(it.debugger.commands.import_run(RunHistory(run=run)))
    assert it.run("r").hits == hits
