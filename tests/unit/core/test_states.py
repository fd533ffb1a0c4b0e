"""Every pair of state and signal, as `states.RULES` has it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agentstepper_nb.core.states import (
    RULES,
    Signal,
    rules,
    shown_state,
    state_after,
    with_halt_time,
)
from agentstepper_nb.errors import AgentStepperError, NeedsApprovalError
from agentstepper_nb.protocol.values import (
    AgentState,
    AnswerKind,
    EventKind,
    Mode,
    Run,
    RunState,
    Side,
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

SENT: dict[Signal, Callable[[Stage], object]] = {
    Signal.BREAKPOINT: lambda stage: stage.reach(stage.begin(id="e-new"), id="new"),
    Signal.HIT: lambda stage: stage.reach(
        stage.begin(id="e-new"), id="new", leased=True, stop_error="It can't be told."
    ),
    Signal.ASKED: lambda stage: stage.ask(id="new"),
    Signal.STEP: lambda stage: stage.step(),
    Signal.CONTINUE: lambda stage: stage.resume(),
    Signal.APPROVE: lambda stage: stage.approve("first"),
    Signal.DENY: lambda stage: stage.deny("first"),
    Signal.HALT: lambda stage: stage.halt(),
    Signal.STOP: lambda stage: stage.stop(),
    Signal.WITHDRAWN: lambda stage: stage.withdraw("first"),
    Signal.END: lambda stage: stage.finish(),
}

S, H, C, IDLE = RunState.STEP, RunState.HALTED, RunState.CONTINUE, RunState.IDLE
#: The state afterwards, what is pending, and what was answered, with how.
EXPECTED: dict[tuple[RunState, Signal], tuple[RunState, tuple[str, ...], dict[str, AnswerKind]]] = {
    (S, Signal.BREAKPOINT): (H, ("new",), {}),
    (S, Signal.HIT): (H, ("new",), {}),
    (S, Signal.ASKED): (H, ("new",), {}),
    (S, Signal.STEP): (S, (), {}),
    (S, Signal.CONTINUE): (C, (), {}),
    (S, Signal.HALT): (S, (), {}),
    (S, Signal.STOP): (S, (), {}),
    (S, Signal.WITHDRAWN): (S, (), {}),
    (S, Signal.END): (IDLE, (), {}),
    (H, Signal.BREAKPOINT): (H, ("first", "new"), {}),
    (H, Signal.HIT): (H, ("first", "new"), {}),
    (H, Signal.ASKED): (H, ("first", "new"), {}),
    (H, Signal.STEP): (S, (), {"first": AnswerKind.RESUME}),
    (H, Signal.CONTINUE): (C, (), {"first": AnswerKind.RESUME}),
    (H, Signal.DENY): (S, (), {"first": AnswerKind.DENY}),
    (H, Signal.HALT): (H, ("first",), {}),
    (H, Signal.STOP): (S, (), {"first": AnswerKind.STOP}),
    (H, Signal.WITHDRAWN): (S, (), {}),
    (H, Signal.END): (IDLE, (), {}),
    (C, Signal.BREAKPOINT): (C, (), {"new": AnswerKind.RESUME}),
    (C, Signal.HIT): (H, ("new",), {}),
    (C, Signal.ASKED): (H, ("new",), {}),
    (C, Signal.STEP): (S, (), {}),
    (C, Signal.CONTINUE): (C, (), {}),
    (C, Signal.HALT): (S, (), {}),
    (C, Signal.STOP): (C, (), {}),
    (C, Signal.WITHDRAWN): (C, (), {}),
    (C, Signal.END): (IDLE, (), {}),
}
#: The same where it is halted by an approval alone: its mode is CONTINUE.
ASKING: dict[Signal, tuple[RunState, tuple[str, ...], dict[str, AnswerKind]]] = {
    Signal.BREAKPOINT: (H, ("first",), {"new": AnswerKind.RESUME}),
    Signal.HIT: (H, ("first", "new"), {}),
    Signal.ASKED: (H, ("first", "new"), {}),
    Signal.CONTINUE: (H, ("first",), {}),
    Signal.APPROVE: (C, (), {"first": AnswerKind.RESUME}),
    Signal.DENY: (C, (), {"first": AnswerKind.DENY}),
    Signal.HALT: (H, ("first",), {}),
    Signal.STOP: (C, (), {"first": AnswerKind.STOP}),
    Signal.WITHDRAWN: (C, (), {}),
    Signal.END: (IDLE, (), {}),
}
#: The mode afterwards, where that isn't as before.
SETS: dict[Signal, Mode] = {
    Signal.HIT: Mode.STEP,
    Signal.HALT: Mode.STEP,
}
#: What a person decides of one breakpoint, where there is none that they could mean.
ABOUT_ONE = {(S, Signal.APPROVE), (S, Signal.DENY), (C, Signal.APPROVE), (C, Signal.DENY)}
#: The first breakpoint of these states asks for nothing.
UNASKED = {(H, Signal.APPROVE)}


@pytest.mark.parametrize("signal", Signal)
@pytest.mark.parametrize("state", REACHED)
def test_a_signal_in_a_state(state: RunState, signal: Signal) -> None:
    stage = REACHED[state]()
    assert stage.state() is state
    before = stage.run(), list(stage.records)

    if signal not in RULES[state]:
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
    assert {each.breakpoint: each.answer for each in stage.answers} == answered


@pytest.mark.parametrize("signal", Signal)
def test_a_signal_while_only_an_approval_is_asked(signal: Signal) -> None:
    stage = asking_state()
    assert (stage.state(), stage.run().mode) == (H, Mode.CONTINUE)
    if signal is Signal.STEP:
        before = stage.run(), list(stage.records)
        with pytest.raises(NeedsApprovalError):
            SENT[signal](stage)
        assert (stage.run(), stage.records) == before
        return
    SENT[signal](stage)
    after, pending, answered = ASKING[signal]
    assert stage.state() is after
    assert stage.run().pending == pending
    assert {each.breakpoint: each.answer for each in stage.answers} == answered
    assert stage.run().mode is SETS.get(signal, Mode.CONTINUE)


@pytest.mark.parametrize("signal", Signal)
@pytest.mark.parametrize("state", [S, H, C])
def test_a_signal_while_the_agent_is_away(state: RunState, signal: Signal) -> None:
    """What would happen if it were there happens: it hears of it when it is back."""
    stage = away(REACHED[state])()
    assert stage.state() is RunState.DETACHED
    assert rules(stage.run()) == RULES[state]
    if (state, signal) in ABOUT_ONE | UNASKED:
        return
    SENT[signal](stage)
    after, pending, answered = EXPECTED[state, signal]
    assert stage.state() is (IDLE if after is IDLE else RunState.DETACHED)
    assert stage.run().pending == pending
    assert {each.breakpoint: each.answer for each in stage.answers} == answered
    if after is not IDLE:
        stage.attach()
        assert stage.state() is after


def test_every_state_has_its_rules_and_only_idle_has_none() -> None:
    assert set(RULES) == set(RunState) - {RunState.DETACHED}
    for state, each in RULES.items():
        assert set(each) == (set() if state is RunState.IDLE else set(Signal))


@pytest.mark.parametrize(
    ("mode", "pending", "ended", "shown"),
    [
        (Mode.STEP, False, False, RunState.STEP),
        (Mode.STEP, True, False, RunState.HALTED),
        (Mode.CONTINUE, False, False, RunState.CONTINUE),
        (Mode.CONTINUE, True, False, RunState.HALTED),
        (Mode.STEP, False, True, RunState.IDLE),
        (Mode.CONTINUE, True, True, RunState.IDLE),
    ],
)
def test_what_is_shown(mode: Mode, pending: bool, ended: bool, shown: RunState) -> None:
    assert shown_state(mode, pending=pending, ended=ended) is shown
    away = shown_state(mode, pending=pending, ended=ended, away=True)
    assert away is (RunState.IDLE if ended else RunState.DETACHED)


@pytest.mark.parametrize(
    ("kind", "side", "answer", "state"),
    [
        (EventKind.LLM_QUERY, Side.BEGIN, AnswerKind.RESUME, AgentState.LLM_THINKING),
        (EventKind.TOOL_INVOCATION, Side.BEGIN, AnswerKind.RESUME, AgentState.TOOL_EXECUTING),
        (EventKind.CUSTOM, Side.BEGIN, AnswerKind.RESUME, AgentState.TOOL_EXECUTING),
        (EventKind.PROGRAM_STARTED, Side.BEGIN, AnswerKind.RESUME, AgentState.RUNNING),
        (EventKind.CUSTOM, Side.END, AnswerKind.RESUME, AgentState.RUNNING),
        (EventKind.LLM_QUERY, Side.END, AnswerKind.RESUME, AgentState.RUNNING),
        (EventKind.TOOL_INVOCATION, Side.END, AnswerKind.RESUME, AgentState.RUNNING),
        # The call isn't made.
        (EventKind.LLM_QUERY, Side.BEGIN, AnswerKind.STOP, AgentState.RUNNING),
        (EventKind.TOOL_INVOCATION, Side.BEGIN, AnswerKind.SKIP, AgentState.RUNNING),
    ],
)
def test_what_the_agent_does_then(
    kind: EventKind, side: Side, answer: AnswerKind, state: AgentState
) -> None:
    assert state_after(kind, side, answer) is state


def test_a_clock_that_was_set_back_takes_nothing_from_the_time_halted() -> None:
    run = Run(id="r", name="", program="P", started_at=0.0, halted_at=50.0, halted_s=3.0)
    assert with_halt_time(run, 40.0).halted_s == 3.0
    assert with_halt_time(run, 52.0).halted_s == 5.0
