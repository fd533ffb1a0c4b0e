"""What models cost. None is shipped: prices change, and differ by contract; who pays knows them."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import UNSET

from ..protocol.breakpoint_rules import Price, SetPrices
from ..protocol.program_requests import DebuggerConfig, GetDebuggerConfig
from .core_request import send_request
from .text_tables import format_html_table, format_text_table

_HEAD = ("model", "input", "output")


class PriceList(list[Price]):
    """Prices in US dollars for a million tokens; the first whose pattern fits a model is its price."""

    def __repr__(self) -> str:
        return format_text_table(_HEAD, self._rows()) if self else "No prices are set."

    def _repr_html_(self) -> str:
        return format_html_table(_HEAD, self._rows()) if self else "<p>No prices are set.</p>"

    def _rows(self) -> list[tuple[str, ...]]:
        return [(price.model, f"${price.input:.15g}", f"${price.output:.15g}") for price in self]


def list_prices() -> PriceList:
    """All prices that are set, in the order in which they are looked through.

    Raises:
        ConnectionError: No Core can be reached.
    """
    return PriceList(send_request(GetDebuggerConfig(), DebuggerConfig).prices)


def set_price(
    model: str, input: float, output: float, context_window: int | None = None
) -> PriceList:
    """Say what a model costs: what its provider doesn't tell of a query is estimated by it.

    Args:
        model: The model, or a pattern: `gpt-*`. Whole names come before patterns, longer patterns
            before shorter ones.
        input: US dollars for a million tokens that are sent to it.
        output: US dollars for a million tokens of its answers.
        context_window: Tokens that a prompt and its answer may have together; None: not known.

    Returns:
        All prices.

    Raises:
        ProtocolError: A price is negative, say.
        CommandError: It can't be kept now; `watch_only`: the Core asks for its control token.
        ConnectionError: No Core can be reached.
    """
    kept = [price for price in list_prices() if price.model != model]
    window = UNSET if context_window is None else context_window
    return _set([*kept, Price(model=model, input=input, output=output, context_window=window)])


def delete_price(model: str) -> PriceList:
    """Forget a price; nothing happens where there is none.

    Args:
        model: The model or pattern as it was set.

    Returns:
        All that are left.

    Raises:
        CommandError: It can't be kept now; `watch_only`: the Core asks for its control token.
        ConnectionError: No Core can be reached.
    """
    return _set(price for price in list_prices() if price.model != model)


def _set(wanted: Iterable[Price]) -> PriceList:
    ordered = sorted(wanted, key=lambda price: (_is_pattern(price.model), -len(price.model)))
    return PriceList(send_request(SetPrices(prices=tuple(ordered)), DebuggerConfig).prices)


def _is_pattern(model: str) -> bool:
    return any(sign in model for sign in "*?[")
