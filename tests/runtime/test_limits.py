"""How often a step is tried, and how long is waited in between."""

from __future__ import annotations

from agentstepper_nb.errors import StepFrameError, ToolDeniedError
from agentstepper_nb.protocol.runtime import AgentLimits
from agentstepper_nb.runtime.session_limits import MAX_BACKOFF_S, RetryCounter

FAILED = OSError("no net")


def test_each_wait_is_twice_the_one_before() -> None:
    tries = RetryCounter(AgentLimits(retries=3, backoff_s=0.5))
    assert [tries.next_delay_s(FAILED) for _ in range(5)] == [0.5, 1, 2, None, None]


def test_without_retries_a_step_is_tried_once() -> None:
    assert RetryCounter(AgentLimits()).next_delay_s(FAILED) is None


def test_no_wait_is_endless() -> None:
    tries = RetryCounter(AgentLimits(retries=100, backoff_s=1))
    waits = [tries.next_delay_s(FAILED) for _ in range(100)]
    assert max(wait for wait in waits if wait is not None) == MAX_BACKOFF_S


def test_what_a_person_refused_or_spoiled_is_not_tried_again() -> None:
    tries = RetryCounter(AgentLimits(retries=3))
    assert tries.next_delay_s(ToolDeniedError("no")) is None
    assert tries.next_delay_s(StepFrameError("bad", edited=True)) is None
    assert tries.next_delay_s(StepFrameError("bad")) == 1
