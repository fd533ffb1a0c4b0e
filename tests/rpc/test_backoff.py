"""The waits between attempts."""

import random

from agentstepper_nb.rpc.backoff import Backoff


def waits(backoff: Backoff, count: int) -> list[float]:
    return [backoff.next_delay_s() for _ in range(count)]


def test_each_wait_doubles_the_one_before_up_to_the_longest() -> None:
    assert waits(Backoff(0.5, 3, chance=lambda: 1), 5) == [0.5, 1, 2, 3, 3]


def test_the_first_attempt_may_come_at_once() -> None:
    assert waits(Backoff(0.5, 3, is_immediate=True, chance=lambda: 1), 4) == [0, 0.5, 1, 2]


def test_chance_cuts_a_wait_by_half_at_most() -> None:
    assert waits(Backoff(0.5, 3, chance=lambda: 0), 3) == [0.25, 0.5, 1]


def test_after_a_success_the_waits_begin_anew() -> None:
    for is_immediate in (False, True):
        backoff = Backoff(0.5, 3, is_immediate=is_immediate, chance=lambda: 1)
        before = waits(backoff, 3)
        backoff.reset()
        assert waits(backoff, 3) == before


def test_an_agent_that_seeds_chance_draws_what_it_would_without_a_debugger() -> None:
    random.seed(7)
    alone = random.random()
    random.seed(7)
    Backoff().next_delay_s()
    assert random.random() == alone
