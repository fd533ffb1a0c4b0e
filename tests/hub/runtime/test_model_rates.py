"""Budgets of model calls: what is granted, and how long a worker waits."""

from __future__ import annotations

import pytest

from agentstepper_nb.hub.runtime.model_rates import ModelRate, ModelRates, parse_model_rate
from agentstepper_nb.protocol.runtime_requests import ModelCredit, TakeModelCredit


class Budget:
    """The budget of the model `m`, and a clock."""

    def __init__(self, **rate: int) -> None:
        self.now = 1000.0
        self.rates = ModelRates({"m": ModelRate(**rate)}, lambda: self.now)

    async def take(self, wanted: int = 1, **used: int) -> ModelCredit:
        request = TakeModelCredit(model="m", wanted=wanted, **used)
        return await self.rates.take_model_credit(request)

    async def take_all(self) -> int:
        """Calls that are granted at this moment."""
        calls = 0
        while granted := (await self.take(1000)).calls:
            calls += granted
        return calls


@pytest.mark.parametrize(
    ("text", "model", "rate"),
    [
        ("gpt-5=60/min", "gpt-5", ModelRate(60)),
        ("vendor/a=b=90000tokens/min", "vendor/a=b", ModelRate(None, 90000)),
        ("m=60/min, 90000 tokens/min", "m", ModelRate(60, 90000)),
    ],
)
def test_rate_is_parsed(text: str, model: str, rate: ModelRate) -> None:
    assert parse_model_rate(text) == (model, rate)


@pytest.mark.parametrize("text", ["m", "m=", "m=60", "m=0/min", "=60/min", "m=60/s", "m=60/min,"])
def test_what_is_no_rate_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="Use MODEL=60/min"):
        parse_model_rate(text)


async def test_model_without_a_limit_is_not_limited() -> None:
    rates = ModelRates({}, lambda: 1000.0)
    assert await rates.take_model_credit(TakeModelCredit(model="m")) == ModelCredit()


async def test_requests_flow_as_the_rate_says() -> None:
    budget = Budget(requests=60)
    assert await budget.take_all() == 10  # ten seconds' worth
    refused = await budget.take()
    assert (refused.is_limited, refused.calls, refused.wait_s) == (True, 0, pytest.approx(1))
    granted = 0
    for _ in range(120):
        budget.now += 0.5
        granted += await budget.take_all()
    assert granted == 60


async def test_one_worker_is_given_no_more_than_a_seconds_worth_at_once() -> None:
    budget = Budget(requests=600)
    assert (await budget.take(1000)).calls == 10
    assert (await budget.take(3)).calls == 3


async def test_rate_below_one_a_second_grants_one_by_one() -> None:
    budget = Budget(requests=2)
    assert await budget.take_all() == 1
    assert (await budget.take()).wait_s == pytest.approx(30)
    budget.now += 30
    assert await budget.take_all() == 1


async def test_tokens_are_counted_once_they_are_known() -> None:
    budget = Budget(tokens=60_000)  # 1,000 a second, 10,000 at once
    first = await budget.take(2)
    assert first.calls == 2
    assert (await budget.take(0, settled=2, used_tokens=25_000)).calls == 0
    # 15,000 below nothing.
    assert (await budget.take()).wait_s == pytest.approx(15, abs=0.1)
    budget.now += 14.9
    assert (await budget.take()).calls == 0
    budget.now += 0.2
    assert (await budget.take()).calls == 1


async def test_calls_that_took_less_give_back_what_was_reserved() -> None:
    budget = Budget(tokens=60_000)
    assert await budget.take_all() == 10  # of 1,000 each, as is guessed at first
    assert (await budget.take(0, settled=10, used_tokens=100)).calls == 0
    assert await budget.take_all() >= 10


async def test_long_run_takes_no_more_tokens_than_the_rate() -> None:
    budget, used = Budget(tokens=60_000, requests=6000), 0
    for _ in range(600):
        budget.now += 0.1
        if calls := (await budget.take(50)).calls:
            used += calls * 2500
            await budget.take(0, settled=calls, used_tokens=calls * 2500)
    assert used <= 60_000 + 10_000 + 10 * 2500
    assert used >= 55_000


async def test_clock_that_is_set_back_grants_nothing() -> None:
    budget = Budget(requests=60)
    await budget.take_all()
    budget.now -= 100
    assert (await budget.take()).calls == 0
    budget.now += 1
    assert (await budget.take()).calls == 1
