"""What was sent and isn't acknowledged: each message comes to be kept once, and in order."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from agentstepper_nb.sdk.connection_state import DEFAULT_LINK_LIMITS
from agentstepper_nb.sdk.send_queue import ResendBuffer


def text(number: int) -> bytes:
    return b"message %d" % number


class RandomRun(RuleBasedStateMachine):
    """An agent, its buffer, and a Core that dies and comes back, in any order of what can happen."""

    def __init__(self) -> None:
        super().__init__()
        self.buffer = ResendBuffer()
        self.connected = True
        self.written = 1
        self.taken = [text(1)]  # what the Core was sent, hello first
        self.acknowledged_texts = 1  # how many of them it would still have after it was killed
        self.promised = 1  # how many it said that it keeps
        self.underway: list[int] = []  # acknowledgements

    @precondition(lambda self: len(self.buffer) < 8)
    @rule()
    def send(self) -> None:
        self.buffer.add(text(self.buffer.last + 1))

    @precondition(lambda self: self.connected)
    @rule()
    def write(self) -> None:
        found = self.buffer.next_after(self.written, DEFAULT_LINK_LIMITS.window_bytes)
        if found is not None:
            self.written, data = found
            self.taken.append(data)

    @rule()
    def sync(self) -> None:
        self.acknowledged_texts = len(self.taken)
        if self.connected:
            self.underway.append(self.acknowledged_texts)

    @precondition(lambda self: self.underway)
    @rule()
    def acknowledge(self) -> None:
        self.promised = self.underway.pop(0)
        self.buffer.acknowledge(self.promised)

    @rule()
    def lose_the_connection(self) -> None:
        self.connected = False
        self.underway.clear()

    @rule()
    def kill_the_core(self) -> None:
        self.lose_the_connection()
        del self.taken[self.acknowledged_texts :]

    @precondition(lambda self: not self.connected)
    @rule()
    def find_back(self) -> None:
        self.connected = True
        self.acknowledged_texts = len(self.taken)  # welcome is said once that is on its disk
        self.buffer.acknowledge(self.acknowledged_texts)
        self.written = self.buffer.last - len(self.buffer)

    @invariant()
    def nothing_is_lost_or_doubled_or_out_of_order(self) -> None:
        assert self.taken == [text(number) for number in range(1, len(self.taken) + 1)]
        assert self.buffer.acknowledged <= self.acknowledged_texts
        assert self.buffer.last - len(self.buffer) <= self.acknowledged_texts, (
            "what isn't here is there"
        )
        assert (self.buffer.size == 0) == (len(self.buffer) == 0)

    def teardown(self) -> None:
        """At last the Core stays, and has all."""
        if not self.connected:
            self.find_back()
        while self.buffer.next_after(self.written, DEFAULT_LINK_LIMITS.window_bytes) is not None:
            self.write()
        self.sync()
        self.buffer.acknowledge(self.acknowledged_texts)
        assert len(self.taken) == self.buffer.last
        assert len(self.buffer) == 0


TestRun = RandomRun.TestCase


@given(st.lists(st.integers(1, 50), max_size=30))
def test_its_size_is_what_it_holds(sizes: list[int]) -> None:
    buffer = ResendBuffer()
    before = 0
    for size in sizes:
        buffer.add(b"x" * size)
        assert size < buffer.size - before < size + 100
        before = buffer.size
    buffer.acknowledge(buffer.last)
    assert buffer.size == 0
    assert buffer.next_after(0, DEFAULT_LINK_LIMITS.window_bytes) is None


def test_numbers_that_can_t_be() -> None:
    buffer = ResendBuffer()
    buffer.add(b"a")
    buffer.acknowledge(100)
    assert (buffer.acknowledged, buffer.last) == (2, 2)
    buffer.acknowledge(1)
    assert (buffer.acknowledged, buffer.last) == (2, 2)


def test_what_nobody_will_take_is_cleared_and_numbers_go_on() -> None:
    buffer = ResendBuffer()
    buffer.add(b"a")
    buffer.clear()
    buffer.add(b"b")
    assert (buffer.last, buffer.next_after(0, DEFAULT_LINK_LIMITS.window_bytes)) == (3, (3, b"b"))
