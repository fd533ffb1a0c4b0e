"""What a query cost, where only its tokens are told: by the prices of the lease."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Final

from msgspec.structs import replace

from ..protocol.breakpoint_rules import Price
from ..protocol.data_model import Usage

#: Prices are for so many tokens.
_TOKENS_PER_PRICE: Final = 1_000_000


def add_estimated_cost(
    usage: Usage | None, model: str | None, prices: Iterable[Price]
) -> Usage | None:
    """A query's usage, its cost estimated where nobody told it and a price fits.

    Args:
        usage: What is known; without both counts of tokens nothing is estimated.
        model: The model that was asked.
        prices: The first whose pattern fits the model is its price.
    """
    if usage is None or usage.cost is not None:
        return usage
    input_tokens, output_tokens = usage.input_tokens, usage.output_tokens
    if input_tokens is None or output_tokens is None:
        return usage
    for price in prices:
        if fnmatchcase(model or "", price.model):
            cost = (input_tokens * price.input + output_tokens * price.output) / _TOKENS_PER_PRICE
            return replace(usage, cost=cost, estimated=True)
    return usage
