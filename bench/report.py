"""The results as a page of Markdown, which also reads well in a terminal."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from .background import FEW, Background
from .imports import Start
from .lease import Leased
from .long_runs import Long
from .round_trip import RoundTrip, Spread
from .seam import PLAIN, RATE, Attached
from .store_cost import Opening, Rate, Room, Storing
from .wire import Travelled
from .workspace_steps import Look

if TYPE_CHECKING:
    from .open_long import Opened

#: What a round trip may cost, against the floor, and in which arms.
GOAL = 1.3
_HELD_TO_IT = ("version 1, memory", "version 1, relaxed")
#: What a conversation may take on disk, and on the wire, against what is new in it.
ROOM = 3
#: Seconds that a halt point may take on the agent's thread by a lease, and what each KB adds.
HALT_POINT, KILOBYTE = 25e-6, 1e-6
#: How many times cheaper than in version 1 it is to be, with bodies up to so many bytes: of larger ones
#: encoding them, which both do, is most of it.
CHEAPER, SMALL = 20, 1_000
#: Milliseconds from a click on Step until the agent goes on.
STEP = 10

#: What a halt point may cost in a long run, against a short one; what the Core may have in memory then;
#: bytes of the first message about it; and milliseconds of a Step among many agents, or beside a flood.
LONG = 1.2
MEMORY = 300_000_000
FIRST = 256 * 1024
STEP_AMONG = 50
#: What a claim may cost at many rows, against few.
AT_MANY = 1.5

_HEAD = """\
# What it costs

<!-- Made by `python -m bench --write`. -->

A *round trip* is one halt point: the agent sends it, the Core hands it to its store, answers, and tells
one connected UI. It is measured with the raw `websockets` client and messages encoded beforehand, so
that it is the Core that is measured. What is timed is an LLM query, an event and its two halt points,
and the time is halved.

The *floor* is what a debugger on WebSockets can hardly avoid: a bare echo of the same bytes, on the same
server library with the same options and reads of the same size (`READ` in `hub/sockets.py`), that also
sends the message and a small state frame to one connected UI.

Agent, server and UI are processes of their own. Blocks of all arms take turns within one run, with a
rest after each round, in which the stores index and tidy up. A ratio is that of two neighbouring blocks;
shown are medians, and in brackets the middle half.

Each halt point has contents that the store hasn't seen. It keeps runs in memory or on disk
(docs/design/0008-store.md): `relaxed` answers once the halt point is handed to the writer, `durable`
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

Halt points of 2 KB, durable each by itself and many at one go. The floor writes the same records as
JSON Lines and calls `fdatasync`; it can't find, edit or delete anything again. The search index is made
meanwhile.
"""

_LEASE = """
## Continuing by a lease

What one halt point costs the agent's own thread, in a real agent whose run continues: encoded, masked,
decided and queued (docs/design/0011-breakpoints-and-lease.md). Version 1 is the same agent, which waits
for an answer there. A *long block* shares its interpreter with the thread that sends, and where
contents are large it waits for the Core to keep them.
"""

_WIRE = """
## What a turn costs on the wire

Each prompt is the one before and 2 KB more; an answer is a message of the next prompt. Counted is all
that the SDK sends, and what a view gets that looks at each prompt, one after the other
(docs/design/0012-pieces.md). The other conversations are as long.
"""

_SEAM = """
## A query that isn't halted

What the seam at the HTTP client (docs/design/0022-zero-lines.md) costs OpenAI's client in a run that
continues, beside OpenInference's passive instrumentor, which records the same and can neither halt nor
edit. The model answers at once, with 200 tokens: of a real one's seconds these are thousandths. Each
query is followed by a rest of 10 ms. (`python -m bench.seam` is the agent's process.)
"""

_OPENED = """
## A long run in the browser

From a click on it in the list of runs until the frame that shows its last rows is over, on a page of its
own in Chromium; what the Core sends for it; and what is in the document then. (`python -m
bench.open_long`)
"""


_LONG = """
## Long runs, and many agents

Agents whose halt points don't wait, 2 KB each, with a Core that keeps runs on disk. A halt point's time
is that of a block until the Core says that all of it is kept; blocks of a short and of the long run take
turns. (`python -m bench.long_runs`)
"""

_BACKGROUND = """
## Agents that run on their own

From asking for an action until its handler begins: the Core is a process of its own and keeps agents on
disk, `durable`; a client and a worker's dispatcher share another one, each with its own connection. A
claim and the end of what was claimed are two transactions of the store itself; its rows were loaded
1,000 at one go, and blocks of both stores take turns. (`python -m bench.background`)
"""


def page(
    trips: Sequence[RoundTrip],
    storing: Storing,
    clicks: Sequence[float],
    looks: Sequence[Look],
    starts: Sequence[Start],
    travelled: Sequence[Travelled] = (),
    opened: Opened | None = None,
    leased: Sequence[Leased] = (),
    long: Long | None = None,
    steps: Sequence[float] = (),
    background: Background | None = None,
    flooded: Sequence[float] = (),
    attached: Sequence[Attached] = (),
) -> str:
    """The whole page.

    Args:
        trips: Round trips.
        storing: What keeping runs costs.
        clicks: Milliseconds from clicks on Step until the agent went on; none leaves them out.
        looks: Looks at a workspace.
        starts: Imports.
        travelled: What conversations took on the wire.
        opened: What opening a long run took in a browser.
        leased: What a halt point costs by a lease.
        long: What a long run costs the Core.
        steps: Seconds from a Step until its agent goes on, while many others do.
        background: What agents that run on their own cost the queue.
        flooded: As `steps`, while another agent sends as fast as it can.
        attached: What a query costs that isn't halted.
    """
    return "\n".join(
        [
            _HEAD + "## Round trips\n",
            *_table(("", "body", "time", "of the floor", "goal"), map(_trip, trips)),
            *([_LEASE, *_table(("", "body", "time", "goal"), _leased(leased))] if leased else []),
            *attached_section(attached),
            _STORING,
            *_table(("", "a halt point", "of the floor"), map(_rate, storing.rates)),
            "",
            *_table(("", "measured", "goal"), [_room(storing.room), _opening(storing.opening)]),
            *([_WIRE, *_table(("", "bytes", "goal"), _travelled(travelled))] if travelled else []),
            *([_clicks(clicks)] if clicks else []),
            *(
                [_LONG, *_table(("", "measured", "goal"), _long(long, steps, flooded))]
                if long
                else []
            ),
            *(
                [_BACKGROUND, *_table(("", "measured", "goal"), _background(background))]
                if background
                else []
            ),
            *([_OPENED, *_table(("", "measured", "goal"), _opened(opened))] if opened else []),
            _LOOKS,
            *_table(("", "time", "of the floor", "goal"), map(_look, looks)),
            "\n## Starting\n",
            *_table(("", "time", "goal"), map(_start, starts)),
            f"\nMeasured {date.today()} on {machine()}.\n",
        ]
    )


def _long(
    long: Long, steps: Sequence[float], flooded: Sequence[float]
) -> Iterator[tuple[str, ...]]:
    number, opening = f"{long.halt_points:,}", long.opening
    each = _spread(long.long, 1e6, "µs")
    yield (
        f"a halt point at {number}, against one at 1,000",
        f"{each}, {long.ratio:.2f} × the {_spread(long.short, 1e6, 'µs')}",
        _verdict(long.ratio, LONG, f"≤ {LONG} ×"),
    )
    yield (
        "the Core's memory then",
        f"{long.memory / 1e6:.0f} MB",
        _verdict(long.memory, MEMORY, f"≤ {MEMORY // 1_000_000} MB"),
    )
    yield (
        "opening that run: the first message, and until it came",
        f"{opening.first / 1000:.0f} KB, {_spread(opening.seconds, 1e3, 'ms')}",
        _verdict(opening.first, FIRST, f"≤ {FIRST // 1024} KB"),
    )
    yield "a page out of its middle", _spread(opening.page, 1e3, "ms"), ""
    yield "the rows of it that a filter shows", f"{opening.find:.1f} s", ""
    if steps:
        yield _step_among("50 others reach 20 halt points a second each", steps)
    if flooded:
        yield _step_among("another sends messages as fast as it can", flooded)


def _step_among(others: str, steps: Sequence[float]) -> tuple[str, ...]:
    slow = sorted(steps)[(len(steps) * 99) // 100] * 1e3
    return (
        f"Step on a halted agent while {others}",
        f"median {statistics.median(steps) * 1e3:.1f} ms, p99 {slow:.0f} ms",
        _verdict(slow, STEP_AMONG, f"p99 ≤ {STEP_AMONG} ms"),
    )


def _background(background: Background) -> Iterator[tuple[str, ...]]:
    waking = background.waking
    yield "from asking until the handler begins", _spread(waking.seconds, 1e6, "µs"), ""
    yield f"{waking.number} actions asked for at one go", f"{waking.rate:,.0f} a second", ""
    for each in background.claiming:
        many = f"{_spread(each.many, 1e6, 'µs')}, {each.ratio.middle:.2f} ×"
        yield (
            f"{each.store}: a claim with its end at {each.rows:,} rows, against {FEW:,}",
            f"{many} the {_spread(each.few, 1e6, 'µs')}",
            _verdict(each.ratio.middle, AT_MANY, f"≤ {AT_MANY} ×"),
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


def _leased(leased: Iterable[Leased]) -> Iterator[tuple[str, ...]]:
    for each in leased:
        body = f"{each.size // 1000} KB"
        goal = HALT_POINT + KILOBYTE * each.size / 1000
        verdicts = [_verdict(each.seconds.middle, goal, f"≤ {goal * 1e6:.0f} µs")]
        if each.size <= SMALL:
            cheaper = each.cheaper.middle
            times = f"≥ {CHEAPER} × cheaper than version 1, it is {cheaper:.1f} ×"
            verdicts.append(_verdict(-cheaper, -CHEAPER, times))
        yield "version 1", body, _spread(each.version_1, 1e6, "µs"), ""
        yield "version 2, by a lease", body, _spread(each.seconds, 1e6, "µs"), "; ".join(verdicts)
        yield "the same, in a long block", body, _spread(each.steady, 1e6, "µs"), ""


def attached_section(attached: Sequence[Attached]) -> list[str]:
    """The section about queries that aren't halted; empty where none was measured."""
    if not attached:
        return []
    return [
        _SEAM,
        *_table(("", "", "prompt", "measured", "of the plain client"), map(_query, attached)),
    ]


def _query(each: Attached) -> tuple[str, ...]:
    measured = _spread(each.values, *((1, "a second") if each.measure == RATE else (1e6, "µs")))
    ratio = "1" if each.arm == PLAIN else _ratio(each.ratio)
    return each.measure, each.arm, f"{each.size // 1000} KB", measured, ratio


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


def _travelled(travelled: Sequence[Travelled]) -> Iterator[tuple[str, ...]]:
    """Two lines for each conversation; the first one is held to the goal."""
    for one in travelled:
        name = one.name or f"{one.turns} turns of a conversation that grows by 2 KB each"
        for way, number in (("agent to Core", one.told), ("Core to view", one.shown)):
            ratio = number / one.new
            took = f"{_bytes(number)}, {ratio:.2f} × the {_bytes(one.new)} that are new in it"
            goal = "" if one.name else _verdict(ratio, ROOM, f"≤ {ROOM} ×")
            yield f"{name}: {way}", took, goal


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


def _opened(opened: Opened) -> Iterator[tuple[str, ...]]:
    from .open_long import MESSAGE, PAINT, ROWS  # which needs a browser

    middle, most = statistics.median(opened.milliseconds), max(opened.milliseconds)
    what = f"a run of {opened.length:,} events, opened {len(opened.milliseconds)} times: "
    yield (
        what + "until it is drawn",
        f"{middle:.0f} ms, at most {most:.0f} ms",
        _verdict(middle, PAINT, f"≤ {PAINT:.0f} ms"),
    )
    kilobytes = f"{opened.message / 1024:.0f} KB"
    yield "the message that brings it", kilobytes, _verdict(opened.message, MESSAGE, "≤ 256 KB")
    yield "rows in the document", f"{opened.rows}", _verdict(opened.rows, ROWS, f"≤ {ROWS}")


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
