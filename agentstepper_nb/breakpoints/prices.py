"""The prices of models, from which costs are estimated.

The package has no prices of its own: prices change, and differ by contract.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import UNSET

from ..protocol.breakpoint_rules import Price, SetPrices
from ..protocol.program_requests import DebuggerConfig, GetDebuggerConfig
from .core_request import send_request
from .text_tables import format_html_table, format_text_table

_HEAD = ("model", "input", "output")


class PriceList(list[Price]):
    """Prices of models in US dollars per million tokens; the first pattern that fits counts."""

    def __repr__(self) -> str:
        return format_text_table(_HEAD, self._rows()) if self else "No prices are set."

    def _repr_html_(self) -> str:
        return format_html_table(_HEAD, self._rows()) if self else "<p>No prices are set.</p>"

    def _rows(self) -> list[tuple[str, ...]]:
        return [(price.model, f"${price.input:.15g}", f"${price.output:.15g}") for price in self]


def list_prices() -> PriceList:
    """Return all prices that are set, in the order in which a model is looked up.

    Raises:
        ConnectionError: No Core can be reached.
    """
    return PriceList(send_request(GetDebuggerConfig(), DebuggerConfig).prices)


def set_price(
    model: str, input: float, output: float, context_window: int | None = None
) -> PriceList:
    """Set a model's price, by which costs are estimated that the provider doesn't report.

    Args:
        model: The model's name, or a pattern: `gpt-*`. Full names are looked up before patterns,
            longer patterns before shorter ones.
        input: US dollars per million tokens of the prompts.
        output: US dollars per million tokens of the answers.
        context_window: The most tokens that a prompt and its answer may have together; None: not
            known.

    Returns:
        All prices that are set now.

    Raises:
        ProtocolError: A value is invalid, as a negative price.
        CommandError: The price can't be stored now; `watch_only`: the Core asks for its control
            token.
        ConnectionError: No Core can be reached.
    """
    kept = [price for price in list_prices() if price.model != model]
    window = UNSET if context_window is None else context_window
    return _set([*kept, Price(model=model, input=input, output=output, context_window=window)])


def delete_price(model: str) -> PriceList:
    """Delete a model's price. Does nothing if the model has none.

    Args:
        model: The name or the pattern, as it was set.

    Returns:
        All prices that are still set.

    Raises:
        CommandError: The change can't be stored now; `watch_only`: the Core asks for its control
            token.
        ConnectionError: No Core can be reached.
    """
    return _set(price for price in list_prices() if price.model != model)


def _set(wanted: Iterable[Price]) -> PriceList:
    ordered = sorted(wanted, key=lambda price: (_is_pattern(price.model), -len(price.model)))
    return PriceList(send_request(SetPrices(prices=tuple(ordered)), DebuggerConfig).prices)


def _is_pattern(model: str) -> bool:
    return any(sign in model for sign in "*?[")
