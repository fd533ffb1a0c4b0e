"""Every pair of state and signal, as `states.RULES` has it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agentstepper_nb.core.state_table import (
    TRANSITION_RULES,
    RunSignal,
    compute_shown_state,
    find_next_activity,
    list_transition_rules,
)
from agentstepper_nb.core.timeline_rows import EMPTY_REGISTRY
from agentstepper_nb.core.transitions import add_halt_time
from agentstepper_nb.errors import AgentStepperError, NeedsApprovalError
from agentstepper_nb.protocol.data_model import (
    AgentActivity,
    AnswerKind,
    EventKind,
    EventSide,
    HaltPoint,
    Run,
    RunMode,
    RunState,
)
from tests.helpers.debugger_harness import DebuggerHarness


def step_state() -> DebuggerHarness:
    harness = DebuggerHarness()
    harness.start()
    return harness


def halted_state() -> DebuggerHarness:
    harness = step_state()
    harness.reach(harness.begin(id="e-first"), id="first")
    return harness


def asking_state() -> DebuggerHarness:
    """Halted as `halted_state`, but only by what asks for an approval, in CONTINUE."""
    harness = continue_state()
    harness.request_approval(id="first")
    return harness


def continue_state() -> DebuggerHarness:
    harness = step_state()
    harness.resume()
    return harness


def idle_state() -> DebuggerHarness:
    harness = step_state()
    harness.finish()
    return harness


def away(reach: Callable[[], DebuggerHarness]) -> Callable[[], DebuggerHarness]:
    """A state, whose agent is away."""

    def reached() -> DebuggerHarness:
        harness = reach()
        harness.detach()
        return harness

    return reached


REACHED: dict[RunState, Callable[[], DebuggerHarness]] = {
    RunState.STEP: step_state,
    RunState.HALTED: halted_state,
    RunState.CONTINUE: continue_state,
    RunState.IDLE: idle_state,
}

SENT: dict[RunSignal, Callable[[DebuggerHarness], object]] = {
    RunSignal.HALT_POINT: lambda harness: harness.reach(harness.begin(id="e-new"), id="new"),
    RunSignal.BREAKPOINT_HIT: lambda harness: harness.reach(
        harness.begin(id="e-new"), id="new", leased=True, breakpoint_error="It can't be told."
    ),
    RunSignal.APPROVAL_REQUESTED: lambda harness: harness.request_approval(id="new"),
    RunSignal.STEP: lambda harness: harness.step(),
    RunSignal.CONTINUE: lambda harness: harness.resume(),
    RunSignal.APPROVE: lambda harness: harness.approve("first"),
    RunSignal.DENY: lambda harness: harness.deny("first"),
    RunSignal.HALT: lambda harness: harness.halt(),
    RunSignal.STOP: lambda harness: harness.stop(),
    RunSignal.WITHDRAWN: lambda harness: harness.withdraw("first"),
    RunSignal.END: lambda harness: harness.finish(),
}

S, H, C, IDLE = RunState.STEP, RunState.HALTED, RunState.CONTINUE, RunState.IDLE
#: The state afterwards, what is pending, and what was answered, with how.
EXPECTED: dict[
    tuple[RunState, RunSignal], tuple[RunState, tuple[str, ...], dict[str, AnswerKind]]
] = {
    (S, RunSignal.HALT_POINT): (H, ("new",), {}),
    (S, RunSignal.BREAKPOINT_HIT): (H, ("new",), {}),
    (S, RunSignal.APPROVAL_REQUESTED): (H, ("new",), {}),
    (S, RunSignal.STEP): (S, (), {}),
    (S, RunSignal.CONTINUE): (C, (), {}),
    (S, RunSignal.HALT): (S, (), {}),
    (S, RunSignal.STOP): (S, (), {}),
    (S, RunSignal.WITHDRAWN): (S, (), {}),
    (S, RunSignal.END): (IDLE, (), {}),
    (H, RunSignal.HALT_POINT): (H, ("first", "new"), {}),
    (H, RunSignal.BREAKPOINT_HIT): (H, ("first", "new"), {}),
    (H, RunSignal.APPROVAL_REQUESTED): (H, ("first", "new"), {}),
    (H, RunSignal.STEP): (S, (), {"first": AnswerKind.RESUME}),
    (H, RunSignal.CONTINUE): (C, (), {"first": AnswerKind.RESUME}),
    (H, RunSignal.DENY): (S, (), {"first": AnswerKind.DENY}),
    (H, RunSignal.HALT): (H, ("first",), {}),
    (H, RunSignal.STOP): (S, (), {"first": AnswerKind.STOP}),
    (H, RunSignal.WITHDRAWN): (S, (), {}),
    (H, RunSignal.END): (IDLE, (), {}),
    (C, RunSignal.HALT_POINT): (C, (), {"new": AnswerKind.RESUME}),
    (C, RunSignal.BREAKPOINT_HIT): (H, ("new",), {}),
    (C, RunSignal.APPROVAL_REQUESTED): (H, ("new",), {}),
    (C, RunSignal.STEP): (S, (), {}),
    (C, RunSignal.CONTINUE): (C, (), {}),
    (C, RunSignal.HALT): (S, (), {}),
    (C, RunSignal.STOP): (C, (), {}),
    (C, RunSignal.WITHDRAWN): (C, (), {}),
    (C, RunSignal.END): (IDLE, (), {}),
}
#: The same where it is halted by an approval alone: its mode is CONTINUE.
ASKING: dict[RunSignal, tuple[RunState, tuple[str, ...], dict[str, AnswerKind]]] = {
    RunSignal.HALT_POINT: (H, ("first",), {"new": AnswerKind.RESUME}),
    RunSignal.BREAKPOINT_HIT: (H, ("first", "new"), {}),
    RunSignal.APPROVAL_REQUESTED: (H, ("first", "new"), {}),
    RunSignal.CONTINUE: (H, ("first",), {}),
    RunSignal.APPROVE: (C, (), {"first": AnswerKind.RESUME}),
    RunSignal.DENY: (C, (), {"first": AnswerKind.DENY}),
    RunSignal.HALT: (H, ("first",), {}),
    RunSignal.STOP: (C, (), {"first": AnswerKind.STOP}),
    RunSignal.WITHDRAWN: (C, (), {}),
    RunSignal.END: (IDLE, (), {}),
}
#: The mode afterwards, where that isn't as before.
SETS: dict[RunSignal, RunMode] = {
    RunSignal.BREAKPOINT_HIT: RunMode.STEP,
    RunSignal.HALT: RunMode.STEP,
}
#: What a person decides of one halt point, where there is none that they could mean.
ABOUT_ONE = {
    (S, RunSignal.APPROVE),
    (S, RunSignal.DENY),
    (C, RunSignal.APPROVE),
    (C, RunSignal.DENY),
}
#: The first halt point of these states asks for nothing.
UNASKED = {(H, RunSignal.APPROVE)}


@pytest.mark.parametrize("signal", RunSignal)
@pytest.mark.parametrize("state", REACHED)
def test_a_signal_in_a_state(state: RunState, signal: RunSignal) -> None:
    harness = REACHED[state]()
    assert harness.state() is state
    before = harness.run(), list(harness.records)

    if signal not in TRANSITION_RULES[state]:
        with pytest.raises(AgentStepperError) as refused:
            SENT[signal](harness)
        assert refused.value.code in ("run_is_over", "run_ended")
        assert (harness.run(), harness.records) == before
        assert (state, signal) not in EXPECTED
        return

    if (state, signal) in ABOUT_ONE | UNASKED:
        with pytest.raises(AgentStepperError) as refused:
            SENT[signal](harness)
        assert refused.value.code == ("stale" if state is not H else "cannot_approve")
        assert (harness.run(), harness.records) == before
        return

    SENT[signal](harness)
    after, pending, answered = EXPECTED[state, signal]
    assert harness.state() is after
    assert harness.run().pending == pending
    assert {each.halt_point: each.answer for each in harness.answers} == answered


@pytest.mark.parametrize("signal", RunSignal)
def test_a_signal_while_only_an_approval_is_asked(signal: RunSignal) -> None:
    harness = asking_state()
    assert (harness.state(), harness.run().mode) == (H, RunMode.CONTINUE)
    if signal is RunSignal.STEP:
        before = harness.run(), list(harness.records)
        with pytest.raises(NeedsApprovalError):
            SENT[signal](harness)
        assert (harness.run(), harness.records) == before
        return
    SENT[signal](harness)
    after, pending, answered = ASKING[signal]
    assert harness.state() is after
    assert harness.run().pending == pending
    assert {each.halt_point: each.answer for each in harness.answers} == answered
    assert harness.run().mode is SETS.get(signal, RunMode.CONTINUE)


@pytest.mark.parametrize("signal", RunSignal)
@pytest.mark.parametrize("state", [S, H, C])
def test_a_signal_while_the_agent_is_away(state: RunState, signal: RunSignal) -> None:
    """What would happen if it were there happens: it hears of it when it is back."""
    harness = away(REACHED[state])()
    assert harness.state() is RunState.DETACHED
    assert list_transition_rules(harness.run()) == TRANSITION_RULES[state]
    if (state, signal) in ABOUT_ONE | UNASKED:
        return
    SENT[signal](harness)
    after, pending, answered = EXPECTED[state, signal]
    assert harness.state() is (IDLE if after is IDLE else RunState.DETACHED)
    assert harness.run().pending == pending
    assert {each.halt_point: each.answer for each in harness.answers} == answered
    if after is not IDLE:
        harness.attach()
        assert harness.state() is after


def test_every_state_has_its_rules_and_only_idle_has_none() -> None:
    assert set(TRANSITION_RULES) == set(RunState) - {RunState.DETACHED}
    for state, each in TRANSITION_RULES.items():
        assert set(each) == (set() if state is RunState.IDLE else set(RunSignal))


@pytest.mark.parametrize(
    ("mode", "pending", "ended", "shown"),
    [
        (RunMode.STEP, False, False, RunState.STEP),
        (RunMode.STEP, True, False, RunState.HALTED),
        (RunMode.CONTINUE, False, False, RunState.CONTINUE),
        (RunMode.CONTINUE, True, False, RunState.HALTED),
        (RunMode.STEP, False, True, RunState.IDLE),
        (RunMode.CONTINUE, True, True, RunState.IDLE),
    ],
)
def test_what_is_shown(mode: RunMode, pending: bool, ended: bool, shown: RunState) -> None:
    assert compute_shown_state(mode, pending=pending, ended=ended) is shown
    away = compute_shown_state(mode, pending=pending, ended=ended, detached=True)
    assert away is (RunState.IDLE if ended else RunState.DETACHED)


@pytest.mark.parametrize(
    ("kind", "side", "answer", "state"),
    [
        (EventKind.LLM_QUERY, EventSide.BEGIN, AnswerKind.RESUME, AgentActivity.LLM_THINKING),
        (
            EventKind.TOOL_INVOCATION,
            EventSide.BEGIN,
            AnswerKind.RESUME,
            AgentActivity.TOOL_EXECUTING,
        ),
        (EventKind.CUSTOM, EventSide.BEGIN, AnswerKind.RESUME, AgentActivity.TOOL_EXECUTING),
        (EventKind.PROGRAM_STARTED, EventSide.BEGIN, AnswerKind.RESUME, AgentActivity.RUNNING),
        (EventKind.CUSTOM, EventSide.END, AnswerKind.RESUME, AgentActivity.RUNNING),
        (EventKind.LLM_QUERY, EventSide.END, AnswerKind.RESUME, AgentActivity.RUNNING),
        (EventKind.TOOL_INVOCATION, EventSide.END, AnswerKind.RESUME, AgentActivity.RUNNING),
        # The call isn't made.
        (EventKind.LLM_QUERY, EventSide.BEGIN, AnswerKind.STOP, AgentActivity.RUNNING),
        (EventKind.TOOL_INVOCATION, EventSide.BEGIN, AnswerKind.SKIP, AgentActivity.RUNNING),
    ],
)
def test_what_the_agent_does_then(
    kind: EventKind, side: EventSide, answer: AnswerKind, state: AgentActivity
) -> None:
    point = HaltPoint(id="h", run="r", event="e", seq=1, side=side, kind=kind, at=0.0, data="null")
    assert find_next_activity(point, answer, EMPTY_REGISTRY) is state


def test_a_clock_that_was_set_back_takes_nothing_from_the_time_halted() -> None:
    run = Run(id="r", name="", program="P", started_at=0.0, halted_at=50.0, halted_s=3.0)
    assert add_halt_time(run, 40.0).halted_s == 3.0
    assert add_halt_time(run, 52.0).halted_s == 5.0
