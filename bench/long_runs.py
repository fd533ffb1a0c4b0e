"""What a run of 100,000 halt points costs: each of them, the Core's memory, and opening it in a view.

A short run gets as many halt points beside the long one, block by block, so that whatever else the
machine does meets both.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from agentstepper_nb.protocol import ui

from .leased_agent import LeasedAgent, ViewClient, open_socket
from .round_trip import Spread

#: Bytes of each content.
BODY_BYTES = 2_000
#: Halt points of a short run, and of a block.
SHORT_RUN = 1_000
BLOCK = 1_000
#: A word that few of the rows have.
_WORD = "777"


@dataclass(frozen=True)
class LongRunEffort:
    """How much is measured."""

    halt_points: int = 100_000  # of the long run
    blocks: int = 9  # of each
    openings: int = 9


@dataclass(frozen=True)
class RunOpening:
    """Opening the long run, as far as the Core has to do with it."""

    first_bytes: int  # bytes of the first message about it
    seconds: Spread  # until it came
    page: Spread  # seconds until a page out of its middle came
    find_s: float  # seconds until a filter had looked at all of it


@dataclass(frozen=True)
class LongRunCosts:
    """All that this module measures."""

    halt_points: int
    short: Spread  # seconds a halt point, at the end of a short run
    long: Spread  # the same at the end of the long one
    ratio: float  # of the medians
    memory_bytes: int  # the Core's, in bytes
    opening: RunOpening


def measure(effort: LongRunEffort) -> LongRunCosts:
    """Fill a run, then measure."""
    with start_core() as (process, agents, uis), open_socket(agents) as socket:
        agent = LeasedAgent(socket, BODY_BYTES)
        for _ in range(max(0, effort.halt_points - effort.blocks * BLOCK) // BLOCK):
            agent.send_turns(agent.prepare(BLOCK))
        pairs = [_time_pair(agents, agent) for _ in range(effort.blocks)]
        used = read_memory_bytes(process)
        with open_socket(uis) as view_socket:
            opening = _measure_opening(ViewClient(view_socket), agent.run, effort)
    short, long = zip(*pairs, strict=True)
    return LongRunCosts(
        effort.halt_points,
        Spread.of(short),
        Spread.of(long),
        statistics.median(long) / statistics.median(short),
        used,
        opening,
    )


def _time_pair(port: int, agent: LeasedAgent) -> tuple[float, float]:
    """Seconds a halt point of a block at the end of a short run, and of one of the long run."""
    with open_socket(port) as socket:
        short = LeasedAgent(socket, BODY_BYTES)
        short.send_turns(short.prepare(SHORT_RUN))
        return _time_block(short), _time_block(agent)


def _time_block(agent: LeasedAgent) -> float:
    prepared = agent.prepare(BLOCK)
    begin = time.perf_counter()
    agent.send_turns(prepared)
    return (time.perf_counter() - begin) / BLOCK


def _measure_opening(view: ViewClient, run: str, effort: LongRunEffort) -> RunOpening:
    first, seconds, pages = 0, [], []
    middle = effort.halt_points // 2
    for number in range(effort.openings):
        begin = time.perf_counter()
        first = len(view.request(f"open{number}", ui.OpenRun(run=run)).encode())
        opened = time.perf_counter()
        view.request(f"page{number}", ui.GetRows(run=run, first=middle, last=middle + 199))
        seconds.append(opened - begin)
        pages.append(time.perf_counter() - opened)
    begin = time.perf_counter()
    view.request("find", ui.FindRows(run=run, text=_WORD))
    found = time.perf_counter() - begin
    return RunOpening(first, Spread.of(seconds), Spread.of(pages), found)


@contextmanager
def start_core() -> Iterator[tuple[int, int, int]]:
    """A Core that keeps runs on disk: its process, its agents' port and its UIs'."""
    command = [sys.executable, "-m", "bench.server", "durable"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        agents, uis = json.loads(process.stdout.readline())
        yield process.pid, agents, uis


def read_memory_bytes(process: int) -> int:
    """What a process has in memory, in bytes."""
    listing = subprocess.run(
        ["ps", "-o", "rss=", "-p", str(process)], capture_output=True, text=True, check=True
    )
    return int(listing.stdout) * 1024


if __name__ == "__main__":
    print(measure(LongRunEffort()))
