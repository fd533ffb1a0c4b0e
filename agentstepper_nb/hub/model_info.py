"""Prices and context windows of models, from the package genai-prices where it is installed.

The Core never uses a price that no person has set: prices differ by contract. These are suggestions.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from types import ModuleType

from ..protocol.run_profile import ModelInfoList, ModelPricing

#: So few tokens that no tier for long prompts applies.
_TOKENS = 1000
_TOKENS_PER_PRICE = 1_000_000


def find_model_info(models: Iterable[str]) -> ModelInfoList:
    """Look models up in genai-prices, which is imported by the first call and uses no network.

    Args:
        models: The models' names as agents send them.
    """
    try:
        import genai_prices
    except ImportError:
        return ModelInfoList(source=None, models=())
    found = (_find(genai_prices, model) for model in dict.fromkeys(models))
    return ModelInfoList(
        source=f"genai-prices {genai_prices.__version__}",
        models=tuple(info for info in found if info is not None),
    )


def _find(genai_prices: ModuleType, model: str) -> ModelPricing | None:
    usage = genai_prices.Usage(input_tokens=_TOKENS, output_tokens=_TOKENS)
    try:
        price = genai_prices.calc_price(usage, model)
    except LookupError:
        return None
    return ModelPricing(
        model=model,
        input=_per_million(price.input_price),
        output=_per_million(price.output_price),
        context_window=price.model.context_window,
    )


def _per_million(cost: Decimal) -> float:
    return float(cost * _TOKENS_PER_PRICE / _TOKENS)
