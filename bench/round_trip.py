"""What one round trip costs, against the floor.

Blocks of all setups alternate, so that whatever else the machine does meets all of them; each block is
compared with the floor's block beside it. Then comes a rest, in which stores index what they got and
tidy up: else that would fall on others. Processes are started anew several times, since where the system
puts them decides more than what they do.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from .measured_server import FLOOR, VERSION_1, VERSION_2, MeasuredAgent, start_agent

SETUPS = (FLOOR, *VERSION_1, *VERSION_2)


@dataclass(frozen=True)
class Effort:
    """How much is measured."""

    sets: int  # of processes
    blocks: int  # of each arm and set
    turns: int  # of each block
    rest: float = 0  # seconds after a block of each arm


@dataclass(frozen=True)
class Spread:
    """A median and the middle half around it."""

    low: float
    middle: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """The spread of measured values."""
        if len(values) < 2:
            return cls(values[0], values[0], values[0])
        return cls(*statistics.quantiles(values, n=4, method="inclusive"))


@dataclass(frozen=True)
class RoundTrip:
    """One arm's result at one size."""

    setup: str
    size: int  # bytes of a body
    seconds: Spread  # of the blocks' medians
    ratio: Spread  # to the floor's block beside it


def measure(size: int, effort: Effort) -> list[RoundTrip]:
    """Measure all setups at one size.

    Args:
        size: Of each body, in bytes.
        effort: How much.
    """
    rounds = [each for _ in range(effort.sets) for each in _measure_set(size, effort)]
    return [_summarize(index, size, rounds) for index in range(len(SETUPS))]


def _measure_set(size: int, effort: Effort) -> list[list[float]]:
    """The rounds of one set of processes."""
    with ExitStack() as stack:
        agents = [stack.enter_context(start_agent(kind, size)) for kind in SETUPS]
        for each in agents:
            each.measure_block(2 * effort.turns)  # to warm up
        return [_measure_round(agents, index, effort) for index in range(effort.blocks)]


def _measure_round(agents: list[MeasuredAgent], index: int, effort: Effort) -> list[float]:
    """One block of each arm, another one first each time; each block's median."""
    time.sleep(effort.rest)
    medians = [0.0] * len(agents)
    for shift in range(len(agents)):
        which = (index + shift) % len(agents)
        medians[which] = statistics.median(agents[which].measure_block(effort.turns))
    return medians


def _summarize(index: int, size: int, rounds: list[list[float]]) -> RoundTrip:
    return RoundTrip(
        setup=SETUPS[index].name,
        size=size,
        seconds=Spread.of([medians[index] for medians in rounds]),
        ratio=Spread.of([medians[index] / medians[0] for medians in rounds]),
    )
