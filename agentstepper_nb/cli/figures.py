"""Tokens, costs and times as a line says them; what is estimated is marked ≈."""

from __future__ import annotations

from math import floor, log10

from ..protocol.values import Row, Usage


def row_figures(row: Row) -> str:
    """What a row took: "1,204 → 96 tokens, $0.0021, 1.84 s"; empty where nothing is known."""
    told = [*_usage(row.usage), *([] if row.duration is None else [seconds(row.duration)])]
    return ", ".join(told)


def usage_figures(usage: Usage | None) -> str:
    """What a run has used: "9,812 → 400 tokens, ≈$0.02"; empty where nothing is known."""
    return ", ".join(_usage(usage))


def _usage(usage: Usage | None) -> list[str]:
    if usage is None:
        return []
    told = [usage.input_tokens, usage.output_tokens]
    counts = " → ".join("?" if count is None else f"{count:,}" for count in told)
    tokens = [] if told == [None, None] else [f"{counts} tokens"]
    if usage.cost is None:
        return tokens
    return [*tokens, f"{'≈' if usage.estimated else ''}{dollars(usage.cost)}"]


def dollars(cost: float) -> str:
    """US dollars: "$1.24", or two digits that say something: "$0.018"."""
    if cost == 0:
        return "$0"
    if cost >= 0.995:
        return f"${cost:,.2f}"
    if cost < 1e-6:
        return "<$0.000001"
    return f"${cost:.{1 - floor(log10(cost))}f}"


def seconds(duration: float) -> str:
    """A duration: "4 ms", "1.84 s", "12.3 s", "187 s"."""
    if duration < 0.9995:
        return f"{duration * 1000:.0f} ms"
    digits = 2 if duration < 9.995 else 1 if duration < 99.95 else 0
    return f"{duration:.{digits}f} s"
