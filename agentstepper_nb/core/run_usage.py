"""The total usage of a run's queries, with resampled queries included. Pure."""

from __future__ import annotations

from typing import TypeVar

from msgspec import UNSET
from msgspec.structs import replace

from ..protocol.data_model import Run, SampleTotals, Usage

Number = TypeVar("Number", int, float)


def add_usage(so_far: Usage | None, more: Usage) -> Usage:
    """Tokens and costs of two together; what neither tells stays untold, what one estimates is so."""
    if so_far is None:
        return more
    return Usage(
        input_tokens=_add_numbers(so_far.input_tokens, more.input_tokens),
        output_tokens=_add_numbers(so_far.output_tokens, more.output_tokens),
        cost=_add_numbers(so_far.cost, more.cost),
        estimated=so_far.estimated or more.estimated,
    )


def add_sample(run: Run, usage: Usage | None) -> Run:
    """A run's header, with the usage of one more resample added.

    Args:
        run: The header.
        usage: The answer's usage; None: unknown.
    """
    samples = SampleTotals(count=0) if run.samples is UNSET else run.samples
    if usage is None:
        return replace(run, samples=replace(samples, count=samples.count + 1))
    totals = SampleTotals(count=samples.count + 1, usage=add_usage(samples.usage, usage))
    return replace(run, usage=add_usage(run.usage, usage), samples=totals)


def find_sample_usage(run: Run) -> Usage | None:
    """The usage of resampled queries, which a run's rows don't have."""
    return None if run.samples is UNSET else run.samples.usage


def _add_numbers(one: Number | None, other: Number | None) -> Number | None:
    if one is None or other is None:
        return other if one is None else one
    return one + other
