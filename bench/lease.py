"""What a halt point costs the agent's own thread where its run continues by a lease.

The agent is a real one, at a Core that keeps its run on disk, with one UI connected. Each halt point is
timed on the thread that reaches it. Beside it stands the same agent where the Core speaks version 1 with
it, in which each halt point is a round trip; blocks of both take turns.

A short block finds the SDK's sender idle, as an agent does that comes to a halt point now and then. One
that does nothing but reach halt points shares its interpreter with the sender: that is measured too.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count, pairwise
from unittest.mock import patch

from agentstepper_nb import AgentStepper
from agentstepper_nb.protocol.envelope import SUBPROTOCOL, VERSION
from agentstepper_nb.sdk import handshake

from .access import TOKENS
from .conversation import make_body
from .measured_server import start_process
from .round_trip import Effort, Spread

STORE = "relaxed"
#: A block in which the sender has its share, in short blocks.
LONG_BLOCKS = 10


@dataclass(frozen=True)
class LeaseCost:
    """What it costs at one size."""

    size: int  # bytes of a body
    version_1: Spread  # seconds a halt point there, of the blocks' medians
    seconds: Spread  # the same by a lease
    speedup: Spread  # how many times, of neighbouring blocks
    long_block: Spread  # seconds a halt point, of long blocks from end to end


class TimedAgent:
    """An agent whose run continues.

    Args:
        dbg: Its AgentStepper.
        size: Of each prompt and response, in bytes.
    """

    def __init__(self, dbg: AgentStepper, size: int) -> None:
        self._dbg = dbg
        self._bodies = (make_body(size, number) for number in count())

    def time_block(self, turns: int) -> list[float]:
        """Seconds a halt point, of each."""
        prepared = [(next(self._bodies), next(self._bodies)) for _ in range(turns)]
        clock = time.perf_counter
        times = [clock()]
        for prompt, response in prepared:
            self._dbg.begin_llm_query_breakpoint(prompt)
            times.append(clock())
            self._dbg.end_llm_query_breakpoint(response)
            times.append(clock())
        self._dbg.post_debug_message("")  # which waits until all is written
        return [after - before for before, after in pairwise(times)]


@contextmanager
def start_timed_agent(size: int, version: int) -> Iterator[TimedAgent]:
    """Start a server and a UI, and an agent here whose run the UI continues.

    Args:
        size: Of each body, in bytes.
        version: 2, or 1 for an SDK that asks for none above it.
    """
    subprotocol = SUBPROTOCOL if version == VERSION else "none"
    with ExitStack() as stack:
        client_port, ui_port = json.loads(stack.enter_context(start_process("server", STORE)))
        stack.enter_context(start_process("viewer", str(ui_port), SUBPROTOCOL))
        with patch.object(handshake, "SUBPROTOCOL", subprotocol):
            dbg = stack.enter_context(
                AgentStepper("bench", "127.0.0.1", client_port, token=TOKENS.agent)
            )
        yield TimedAgent(dbg, size)  # its start has been passed: the lease was there before


def measure(size: int, effort: Effort) -> LeaseCost:
    """Measure it at one size.

    Args:
        size: Of each body, in bytes.
        effort: How much.
    """
    rounds = [each for _ in range(effort.sets) for each in _measure_set(size, effort)]
    trips, halt_points, steady = zip(*rounds, strict=True)
    return LeaseCost(
        size=size,
        version_1=Spread.of(trips),
        seconds=Spread.of(halt_points),
        speedup=Spread.of([trip / own for trip, own in zip(trips, halt_points, strict=True)]),
        long_block=Spread.of(steady),
    )


def _measure_set(size: int, effort: Effort) -> list[tuple[float, float, float]]:
    """The rounds of one set: the medians of a block in each version, and a long block's mean."""
    with start_timed_agent(size, 1) as other, start_timed_agent(size, VERSION) as leased:
        for each in (other, leased):
            each.time_block(2 * effort.turns)  # to warm up
        return [_measure_round(other, leased, effort) for _ in range(effort.blocks)]


def _measure_round(
    other: TimedAgent, leased: TimedAgent, effort: Effort
) -> tuple[float, float, float]:
    time.sleep(effort.rest)
    return (
        statistics.median(other.time_block(effort.turns)),
        statistics.median(leased.time_block(effort.turns)),
        statistics.mean(leased.time_block(LONG_BLOCKS * effort.turns)),
    )
