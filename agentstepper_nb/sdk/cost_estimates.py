"""A query's cost: read from the response, or estimated from tokens by the prices of the lease."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Any, Final

from msgspec.structs import replace

from ..protocol.breakpoint_rules import Price
from ..protocol.data_model import Usage

#: Prices are for so many tokens.
_TOKENS_PER_PRICE: Final = 1_000_000
#: A cost above this limit isn't plausible, nor are infinity and NaN.
_MAX_COST_DOLLARS: Final = 1e12


def add_estimated_cost(
    usage: Usage | None, model: str | None, prices: Iterable[Price]
) -> Usage | None:
    """A query's usage; if the cost is unknown and a price fits, with an estimated cost.

    Args:
        usage: The known usage; without both token counts, no cost is estimated.
        model: The model that the query names.
        prices: Prices; the first whose pattern fits the model counts.
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


def find_usage(response: Any) -> Usage | None:
    """Read the usage from a response in the form of an LLM API."""
    match response:
        case {"usage": {"prompt_tokens": int() as asked, "completion_tokens": int() as said}}:
            pass
        case {"usage": {"input_tokens": int() as asked, "output_tokens": int() as said}}:
            pass
        case {"usage": {"inputTokens": int() as asked, "outputTokens": int() as said}}:  # Bedrock's
            pass
        case {"usageMetadata": {"promptTokenCount": int() as asked, **counts}}:  # Gemini's
            answered = counts.get("candidatesTokenCount")
            return Usage(
                input_tokens=asked, output_tokens=answered if isinstance(answered, int) else None
            )
        case _:
            return None
    return Usage(input_tokens=asked, output_tokens=said, cost=_find_cost(response["usage"]))


def _find_cost(usage: dict[str, Any]) -> float | None:
    """The cost as OpenRouter and those like it tell it, beside the tokens."""
    cost: Any = usage.get("cost")
    if type(cost) not in (int, float) or not 0 <= cost < _MAX_COST_DOLLARS:
        return None
    return float(cost)
