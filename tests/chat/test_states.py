"""The states of a session, and AutoChat's bound, whatever is done in whatever order."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from agentstepper_nb.chat.session_states import AutoChat, SessionStates
from agentstepper_nb.errors import CommandError
from agentstepper_nb.protocol.chat import AUTO_CHAT_MAX, State, TurnEnding
from tests.chat.harness import expect_refusal

NEXT = {
    State.STATE_INIT: {State.STATE_RUNNING},
    State.STATE_RUNNING: {State.STATE_STOP},
    State.STATE_STOP: {State.STATE_RUNNING},
}


class RandomSessions(RuleBasedStateMachine):
    """Users, AutoChat and endings come as they like."""

    def __init__(self) -> None:
        super().__init__()
        self.machine = SessionStates()
        self.auto = AutoChat()
        self.seen = [self.machine.state]
        self.asked = False  # a confirmation in the turn
        self.alone = 0  # turns since a user said something

    def see(self) -> None:
        if self.machine.state is not self.seen[-1]:
            self.seen.append(self.machine.state)

    @rule()
    def user(self) -> None:
        if self.machine.is_running:
            with expect_refusal("session_busy"):
                self.machine.begin()
        else:
            self.machine.begin()
            self.auto.reset()
            self.asked, self.alone = False, 0
        self.see()

    @rule()
    def auto_chat(self) -> None:
        machine = self.machine
        why = self.auto.may_continue(machine.state, machine.ending, self.asked)
        if why is None:
            assert machine.state is State.STATE_STOP
            assert machine.ending is TurnEnding.DONE
            assert not self.asked
            machine.begin()
            self.auto.count_turn()
            self.alone += 1
        self.see()

    @precondition(lambda self: self.machine.is_running)
    @rule()
    def ask(self) -> None:
        self.asked = True

    @rule(ending=st.sampled_from(TurnEnding))
    def end(self, ending: TurnEnding) -> None:
        if self.machine.is_running:
            self.machine.end(ending)
            assert self.machine.ending is ending
        else:
            before = (self.machine.state, self.machine.ending)
            with pytest.raises(AssertionError):
                self.machine.end(ending)
            assert (self.machine.state, self.machine.ending) == before
        self.see()

    @invariant()
    def monotonic(self) -> None:
        assert self.seen[0] is State.STATE_INIT
        for before, after in zip(self.seen, self.seen[1:], strict=False):
            assert after in NEXT[before]

    @invariant()
    def bounded(self) -> None:
        assert self.alone == self.auto.turns <= AUTO_CHAT_MAX

    @invariant()
    def ended(self) -> None:
        assert (self.machine.ending is None) is (self.machine.state is not State.STATE_STOP)


RandomSessions.TestCase.settings = settings(stateful_step_count=30)
test_inv_state_001_whatever_comes = RandomSessions.TestCase


def test_inv_state_001_transitions_are_monotonic() -> None:
    """A session goes INIT → RUNNING → STOP → RUNNING …, each turn once, and never back."""
    machine = SessionStates()
    assert (machine.state, machine.ending) == (State.STATE_INIT, None)
    for _ in range(3):
        machine.begin()
        assert (machine.state, machine.ending) == (State.STATE_RUNNING, None)
        with pytest.raises(CommandError, match="wait until it has ended"):
            machine.begin()
        machine.end(TurnEnding.DONE)
        assert (machine.state, machine.ending) == (State.STATE_STOP, TurnEnding.DONE)
        with pytest.raises(AssertionError, match="STATE_STOP"):
            machine.end(TurnEnding.ERROR)


def test_what_is_created_cannot_end() -> None:
    with pytest.raises(AssertionError, match="STATE_INIT"):
        SessionStates().end(TurnEnding.STOPPED)


@given(
    state=st.sampled_from(State),
    ending=st.sampled_from([None, *TurnEnding]),
    asked=st.booleans(),
    most=st.integers(0, 4),
    taken=st.integers(0, 5),
)
def test_inv_auto_001_only_in_stop_and_bounded(
    state: State, ending: TurnEnding | None, asked: bool, most: int, taken: int
) -> None:
    """AutoChat goes on in STATE_STOP only, after a turn that went well and asked nothing, bounded."""
    auto = AutoChat(most)
    for _ in range(taken):
        auto.count_turn()
    may = auto.may_continue(state, ending, asked) is None
    done = state is State.STATE_STOP and ending not in (TurnEnding.ERROR, TurnEnding.STOPPED)
    assert may is (done and not asked and taken < most)


def test_a_user_starts_the_count_anew() -> None:
    auto = AutoChat(1)
    auto.count_turn()
    assert auto.may_continue(State.STATE_STOP, TurnEnding.DONE) == (
        "AutoChat took 1 of 1 turns: write a message yourself"
    )
    auto.reset()
    assert auto.turns == 0
    assert auto.may_continue(State.STATE_STOP, TurnEnding.DONE) is None


def test_the_bound_may_be_moved_while_it_goes_on() -> None:
    auto = AutoChat(1)
    auto.count_turn()
    auto.max = 2
    assert auto.may_continue(State.STATE_STOP, TurnEnding.DONE) is None
    auto.max = 0
    assert auto.may_continue(State.STATE_STOP, TurnEnding.DONE) is not None
