"""Every pair of state and signal, as `states.RULES` has it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agentstepper_nb.core.state_table import (
    TRANSITION_RULES,
    RunSignal,
    add_halt_time,
    compute_shown_state,
    find_next_activity,
    list_transition_rules,
)
from agentstepper_nb.errors import AgentStepperError, NeedsApprovalError
from agentstepper_nb.protocol.data_model import (
    AgentActivity,
    AnswerKind,
    EventKind,
    EventSide,
    Run,
    RunMode,
    RunState,
)
from tests.helpers.stage import Stage


def step_state() -> Stage:
    stage = Stage()
    stage.start()
    return stage


def halted_state() -> Stage:
    stage = step_state()
    stage.reach(stage.begin(id="e-first"), id="first")
    return stage


def asking_state() -> Stage:
    """Halted as `halted_state`, but only by what asks for an approval, in CONTINUE."""
    stage = continue_state()
    stage.ask(id="first")
    return stage


def continue_state() -> Stage:
    stage = step_state()
    stage.resume()
    return stage


def idle_state() -> Stage:
    stage = step_state()
    stage.finish()
    return stage


def away(reach: Callable[[], Stage]) -> Callable[[], Stage]:
    """A state, whose agent is away."""

    def reached() -> Stage:
        stage = reach()
        stage.detach()
        return stage

    return reached


REACHED: dict[RunState, Callable[[], Stage]] = {
    RunState.STEP: step_state,
    RunState.HALTED: halted_state,
    RunState.CONTINUE: continue_state,
    RunState.IDLE: idle_state,
}

SENT: dict[RunSignal, Callable[[Stage], object]] = {
    RunSignal.HALT_POINT: lambda stage: stage.reach(stage.begin(id="e-new"), id="new"),
    RunSignal.BREAKPOINT_HIT: lambda stage: stage.reach(
        stage.begin(id="e-new"), id="new", leased=True, breakpoint_error="It can't be told."
    ),
    RunSignal.APPROVAL_REQUESTED: lambda stage: stage.ask(id="new"),
    RunSignal.STEP: lambda stage: stage.step(),
    RunSignal.CONTINUE: lambda stage: stage.resume(),
    RunSignal.APPROVE: lambda stage: stage.approve("first"),
    RunSignal.DENY: lambda stage: stage.deny("first"),
    RunSignal.HALT: lambda stage: stage.halt(),
    RunSignal.STOP: lambda stage: stage.stop(),
    RunSignal.WITHDRAWN: lambda stage: stage.withdraw("first"),
    RunSignal.END: lambda stage: stage.finish(),
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
    stage = REACHED[state]()
    assert stage.state() is state
    before = stage.run(), list(stage.records)

    if signal not in TRANSITION_RULES[state]:
        with pytest.raises(AgentStepperError) as refused:
            SENT[signal](stage)
        assert refused.value.code in ("run_is_over", "run_ended")
        assert (stage.run(), stage.records) == before
        assert (state, signal) not in EXPECTED
        return

    if (state, signal) in ABOUT_ONE | UNASKED:
        with pytest.raises(AgentStepperError) as refused:
            SENT[signal](stage)
        assert refused.value.code == ("stale" if state is not H else "cannot_approve")
        assert (stage.run(), stage.records) == before
        return

    SENT[signal](stage)
    after, pending, answered = EXPECTED[state, signal]
    assert stage.state() is after
    assert stage.run().pending == pending
    assert {each.halt_point: each.answer for each in stage.answers} == answered


@pytest.mark.parametrize("signal", RunSignal)
def test_a_signal_while_only_an_approval_is_asked(signal: RunSignal) -> None:
    stage = asking_state()
    assert (stage.state(), stage.run().mode) == (H, RunMode.CONTINUE)
    if signal is RunSignal.STEP:
        before = stage.run(), list(stage.records)
        with pytest.raises(NeedsApprovalError):
            SENT[signal](stage)
        assert (stage.run(), stage.records) == before
        return
    SENT[signal](stage)
    after, pending, answered = ASKING[signal]
    assert stage.state() is after
    assert stage.run().pending == pending
    assert {each.halt_point: each.answer for each in stage.answers} == answered
    assert stage.run().mode is SETS.get(signal, RunMode.CONTINUE)


@pytest.mark.parametrize("signal", RunSignal)
@pytest.mark.parametrize("state", [S, H, C])
def test_a_signal_while_the_agent_is_away(state: RunState, signal: RunSignal) -> None:
    """What would happen if it were there happens: it hears of it when it is back."""
    stage = away(REACHED[state])()
    assert stage.state() is RunState.DETACHED
    assert list_transition_rules(stage.run()) == TRANSITION_RULES[state]
    if (state, signal) in ABOUT_ONE | UNASKED:
        return
    SENT[signal](stage)
    after, pending, answered = EXPECTED[state, signal]
    assert stage.state() is (IDLE if after is IDLE else RunState.DETACHED)
    assert stage.run().pending == pending
    assert {each.halt_point: each.answer for each in stage.answers} == answered
    if after is not IDLE:
        stage.attach()
        assert stage.state() is after


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
    assert find_next_activity(kind, side, answer) is state


def test_a_clock_that_was_set_back_takes_nothing_from_the_time_halted() -> None:
    run = Run(id="r", name="", program="P", started_at=0.0, halted_at=50.0, halted_s=3.0)
    assert add_halt_time(run, 40.0).halted_s == 3.0
    assert add_halt_time(run, 52.0).halted_s == 5.0
