"""What a query cost, where its provider doesn't say: its tokens by the prices that a person set."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Final

from msgspec.structs import replace

from ..protocol.stops import Price
from ..protocol.values import Usage

#: Prices are for so many tokens.
_TOKENS: Final = 1_000_000


def with_cost(usage: Usage | None, model: str | None, prices: Iterable[Price]) -> Usage | None:
    """A query's usage, its cost estimated where nobody told it and a price fits.

    Args:
        usage: What is known; without both counts of tokens nothing is estimated.
        model: The model that was asked.
        prices: The first whose pattern fits the model is its price.
    """
    if usage is None or usage.cost is not None:
        return usage
    asked, said = usage.input_tokens, usage.output_tokens
    if asked is None or said is None:
        return usage
    for price in prices:
        if fnmatchcase(model or "", price.model):
            cost = (asked * price.input + said * price.output) / _TOKENS
            return replace(usage, cost=cost, estimated=True)
    return usage
