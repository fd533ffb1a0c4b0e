"""What a query cost, by its tokens and the prices that a person set."""

from __future__ import annotations

import pytest

from agentstepper_nb.protocol.breakpoint_rules import Price
from agentstepper_nb.protocol.data_model import Usage
from agentstepper_nb.sdk.cost_estimates import add_estimated_cost

PRICES = (
    Price(model="gpt-mini", input=1.0, output=2.0),
    Price(model="gpt-*", input=10.0, output=20.0),
)
TOLD = Usage(input_tokens=1000, output_tokens=500)


@pytest.mark.parametrize(
    ("model", "cost"),
    [("gpt-mini", 0.002), ("gpt-large", 0.02), ("GPT-mini", None), ("other", None), (None, None)],
)
def test_the_first_price_that_fits(model: str | None, cost: float | None) -> None:
    expected = Usage(input_tokens=1000, output_tokens=500, cost=cost, estimated=cost is not None)
    assert add_estimated_cost(TOLD, model, PRICES) == expected


def test_a_price_for_whatever_is_asked() -> None:
    everything = [Price(model="*", input=0.0, output=1e6)]
    assert add_estimated_cost(TOLD, None, everything) == Usage(
        input_tokens=1000, output_tokens=500, cost=500.0, estimated=True
    )


@pytest.mark.parametrize(
    "usage",
    [
        None,
        Usage(input_tokens=1, output_tokens=1, cost=0.0),
        Usage(input_tokens=1),
        Usage(output_tokens=1),
        Usage(),
    ],
)
def test_what_is_told_or_unknown_is_not_estimated(usage: Usage | None) -> None:
    assert add_estimated_cost(usage, "gpt-mini", PRICES) is usage
