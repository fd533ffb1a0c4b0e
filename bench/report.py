"""The results as a page of Markdown, which also reads well in a terminal."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Iterable, Sequence
from datetime import date
from importlib.metadata import version
from pathlib import Path

from .imports import Start
from .looks import Look
from .round_trip import RoundTrip, Spread
from .storing import Opening, Rate, Room, Storing

#: What a round trip may cost, against the floor, and in which arms.
GOAL = 1.3
_HELD_TO_IT = ("version 1, memory", "version 1, relaxed")
#: What a conversation may take on disk, against what is new in it.
ROOM = 3
#: Milliseconds from a click on Step until the agent goes on.
STEP = 10

_HEAD = """\
# What it costs

<!-- Made by `python -m bench --write`. -->

A *round trip* is one breakpoint: the agent sends it, the Core hands it to its store, answers, and tells
one connected UI. It is measured with the raw `websockets` client and messages encoded beforehand, so
that it is the Core that is measured. What is timed is an LLM query, an event and its two breakpoints,
and the time is halved.

The *floor* is what a debugger on WebSockets can hardly avoid: a bare echo of the same bytes, on the same
server library with the same options and reads of the same size (`READ` in `hub/sockets.py`), that also
sends the message and a small state frame to one connected UI.

Agent, server and UI are processes of their own. Blocks of all arms take turns within one run, with a
rest after each round, in which the stores index and tidy up. A ratio is that of two neighbouring blocks;
shown are medians, and in brackets the middle half.

Each breakpoint has contents that the store hasn't seen. It keeps runs in memory or on disk
(docs/design/0008-store.md): `relaxed` answers once the breakpoint is handed to the writer, `durable`
once it is recorded, which adds a transaction.

"""


_LOOKS = """
## Looking at a workspace of many files

At each end of a tool the workspace is looked at, in the agent's process. The floor here is a bare walk
over the same 10,000 files in the same run. What is read was written long enough ago for its stamp to be
trusted; where a file changed, git stores it and compares.
"""


_STORING = """
## Keeping runs on disk

Breakpoints of 2 KB, durable each by itself and many at one go. The floor writes the same records as
JSON Lines and calls `fdatasync`; it can't find, edit or delete anything again. The search index is made
meanwhile.
"""


def page(
    trips: Sequence[RoundTrip],
    storing: Storing,
    clicks: Sequence[float],
    looks: Sequence[Look],
    starts: Sequence[Start],
) -> str:
    """The whole page.

    Args:
        trips: Round trips.
        storing: What keeping runs costs.
        clicks: Milliseconds from clicks on Step until the agent went on; none leaves them out.
        looks: Looks at a workspace.
        starts: Imports.
    """
    return "\n".join(
        [
            _HEAD + "## Round trips\n",
            *_table(("", "body", "time", "of the floor", "goal"), map(_trip, trips)),
            _STORING,
            *_table(("", "a breakpoint", "of the floor"), map(_rate, storing.rates)),
            "",
            *_table(("", "measured", "goal"), [_room(storing.room), _opening(storing.opening)]),
            *([_clicks(clicks)] if clicks else []),
            _LOOKS,
            *_table(("", "time", "of the floor", "goal"), map(_look, looks)),
            "\n## Starting\n",
            *_table(("", "time", "goal"), map(_start, starts)),
            f"\nMeasured {date.today()} on {machine()}.\n",
        ]
    )


def machine() -> str:
    """The machine and what runs on it, in a line."""
    busy = os.getloadavg()[0]
    return (
        f"{_processor()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}, websockets {version('websockets')}, "
        f"msgspec {version('msgspec')}; load {busy:.1f} at the end"
    )


def _processor() -> str:
    """The processor's name, where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _trip(trip: RoundTrip) -> tuple[str, ...]:
    goal = _verdict(trip.ratio.middle, GOAL, f"≤ {GOAL} ×") if trip.arm in _HELD_TO_IT else ""
    body = f"{trip.size // 1000} KB"
    ratio = "1" if trip.arm == "floor" else _ratio(trip.ratio)
    return trip.arm, body, _spread(trip.seconds, 1e6, "µs"), ratio, goal


def _rate(rate: Rate) -> tuple[str, ...]:
    return rate.name, _spread(rate.seconds, 1e6, "µs"), _own(rate.ratio)


def _room(room: Room) -> tuple[str, ...]:
    ratio = room.idle / room.new
    return (
        f"{room.turns} turns of a conversation that grows by 2 KB each, on disk when idle",
        f"{_bytes(room.idle)}, {ratio:.2f} × the {_bytes(room.new)} that are new in it",
        _verdict(ratio, ROOM, f"≤ {ROOM} ×"),
    )


def _opening(opening: Opening) -> tuple[str, ...]:
    what = f"opening a folder of {opening.runs:,} runs, until the Core knows them all"
    return what, _spread(opening.seconds, 1e3, "ms"), ""


def _bytes(number: int) -> str:
    return f"{number / 1e6:.2f} MB"


def _clicks(milliseconds: Sequence[float]) -> str:
    """The section about Step in a browser."""
    middle = statistics.median(milliseconds)
    return (
        "\n## Step in the browser\n\n"
        "From a click on Step in JupyterLab until the agent, a process of its own, goes on; the run is\n"
        "kept on disk, `durable`. (`python -m bench.step_in_browser`)\n\n"
        f"{len(milliseconds)} clicks: median {middle:.1f} ms, at most {max(milliseconds):.1f} ms; "
        f"goal {_verdict(middle, STEP, f'≤ {STEP} ms')}."
    )


def _look(look: Look) -> tuple[str, ...]:
    words = _within(look.seconds, look.goal)
    return look.name, _spread(look.seconds, 1e3, "ms"), _own(look.ratio), words


def _own(ratio: Spread) -> str:
    return "1" if ratio.low == ratio.high == 1 else _ratio(ratio)


def _ratio(ratio: Spread) -> str:
    return f"{ratio.middle:.2f} × [{ratio.low:.2f} – {ratio.high:.2f}]"


def _start(start: Start) -> tuple[str, ...]:
    words = _within(start.seconds, start.snippet.goal)
    return f"`{start.snippet.name}`", _spread(start.seconds, 1e3, "ms"), words


def _within(seconds: Spread, goal: float | None) -> str:
    return "" if goal is None else _verdict(seconds.middle, goal, f"≤ {goal * 1e3:.0f} ms")


def _spread(spread: Spread, factor: float, unit: str) -> str:
    low, middle, high = (value * factor for value in (spread.low, spread.middle, spread.high))
    return f"{middle:.0f} {unit} [{low:.0f} – {high:.0f}]"


def _verdict(value: float, goal: float, words: str) -> str:
    return f"{words}: {'held' if value <= goal else 'MISSED'}"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    lines = [head, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    rule = tuple("-" * width for width in widths)
    return [
        "| "
        + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        + " |"
        for line in (head, rule, *lines[1:])
    ]
