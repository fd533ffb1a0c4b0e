"""How often a step is tried, and how long is waited in between."""

from __future__ import annotations

from msgspec.structs import replace

from agentstepper_nb.errors import StepFrameError, ToolDeniedError
from agentstepper_nb.protocol.runtime import AgentLimits, AgentState, StepLoss
from agentstepper_nb.runtime.session_limits import MAX_BACKOFF_S, compute_retry_delay_s

FAILED = OSError("no net")


def make_state(attempt: int = 0, **limits: float) -> AgentState:
    return AgentState(
        agent_id="a",
        session_id="s",
        moniker="joke",
        limits=AgentLimits(**limits),  # type: ignore[arg-type]
        attempt=attempt,
        created_at=0,
        updated_at=0,
    )


def list_delays(tries: int, **limits: float) -> list[float | None]:
    return [compute_retry_delay_s(make_state(number, **limits), FAILED) for number in range(tries)]


def test_each_wait_is_twice_the_one_before() -> None:
    assert list_delays(5, retries=3, backoff_s=0.5) == [0.5, 1, 2, None, None]


def test_without_retries_a_step_is_tried_once() -> None:
    assert list_delays(1) == [None]


def test_no_wait_is_endless() -> None:
    waits = list_delays(100, retries=100, backoff_s=1)
    assert max(wait for wait in waits if wait is not None) == MAX_BACKOFF_S


def test_try_that_ended_its_worker_is_no_retry() -> None:
    lost = replace(make_state(1, retries=1), losses=(StepLoss(worker="w", at=0),))
    assert compute_retry_delay_s(lost, FAILED) == 1
    assert compute_retry_delay_s(replace(lost, attempt=2), FAILED) is None


def test_what_a_person_refused_or_spoiled_is_not_tried_again() -> None:
    state = make_state(retries=3)
    assert compute_retry_delay_s(state, ToolDeniedError("no")) is None
    assert compute_retry_delay_s(state, StepFrameError("bad", edited=True)) is None
    assert compute_retry_delay_s(state, StepFrameError("bad")) == 1
