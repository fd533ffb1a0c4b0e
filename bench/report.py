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

from . import report_texts
from .background import FEW_ROWS, BackgroundCosts
from .imports import ImportTime
from .lease import LeaseCost
from .long_runs import LongRunCosts
from .report_fleet import make_fleet_section
from .report_texts import make_table
from .round_trip import RoundTrip, Spread
from .seam import PLAIN, TOKENS_PER_S, QueryCost
from .store_cost import AppendCost, DiskUsage, FolderOpening, StoreCosts
from .wire import WireCost
from .workspace_steps import SnapshotCost

if TYPE_CHECKING:
    from .fleet import FleetRun
    from .open_fleet import FleetOpening
    from .open_long import BrowserOpening

#: What a round trip may cost, against the floor, and in which setups.
MAX_ROUND_TRIP_RATIO = 1.3
_SETUPS_WITH_GOAL = ("version 1, memory", "version 1, relaxed")
#: What a conversation may take on disk, and on the wire, against what is new in it.
MAX_GROWTH_RATIO = 3
#: Seconds that a halt point may take on the agent's thread by a lease, and what each KB adds.
MAX_HALT_POINT_S, MAX_S_PER_KILOBYTE = 25e-6, 1e-6
#: How many times cheaper than in version 1 it is to be, with bodies up to so many bytes: of larger ones
#: encoding them, which both do, is most of it.
MIN_LEASE_SPEEDUP, SMALL_BODY_BYTES = 20, 1_000
#: Milliseconds from a click on Step until the agent goes on.
MAX_STEP_MS = 10

#: What a halt point may cost in a long run, against a short one; what the Core may have in memory then;
#: bytes of the first message about it; and milliseconds of a Step among many agents, or beside a flood.
MAX_LONG_RUN_RATIO = 1.2
MAX_MEMORY_BYTES = 300_000_000
MAX_FIRST_MESSAGE_BYTES = 256 * 1024
MAX_BUSY_STEP_MS = 50
#: What a claim may cost at many rows, against few.
MAX_MANY_ROWS_RATIO = 1.5


def make_page(
    trips: Sequence[RoundTrip],
    store_costs: StoreCosts,
    click_ms: Sequence[float],
    snapshots: Sequence[SnapshotCost],
    imports: Sequence[ImportTime],
    wire_costs: Sequence[WireCost] = (),
    browser_opening: BrowserOpening | None = None,
    lease_costs: Sequence[LeaseCost] = (),
    long_run: LongRunCosts | None = None,
    step_s: Sequence[float] = (),
    background_costs: BackgroundCosts | None = None,
    flooded_step_s: Sequence[float] = (),
    query_costs: Sequence[QueryCost] = (),
    fleet_opening: FleetOpening | None = None,
    fleet_runs: Sequence[FleetRun] = (),
    fork_costs: Sequence[SnapshotCost] = (),
    replay_costs: Sequence[SnapshotCost] = (),
) -> str:
    """The whole page.

    Args:
        trips: Round trips.
        store_costs: What keeping runs costs.
        click_ms: Milliseconds from clicks on Step until the agent went on; none leaves them out.
        snapshots: Snapshots of a workspace.
        imports: Imports.
        wire_costs: What conversations took on the wire.
        browser_opening: What opening a long run took in a browser.
        lease_costs: What a halt point costs by a lease.
        long_run: What a long run costs the Core.
        step_s: Seconds from a Step until its agent goes on, while many others do.
        background_costs: What background agents cost the queue.
        flooded_step_s: As `step_s`, while another agent sends as fast as it can.
        query_costs: What a query costs that isn't halted.
        fleet_opening: What it took to see a large fleet in a browser.
        fleet_runs: What fleets took, of one size and several isolations.
        fork_costs: What the files of a fork take.
        replay_costs: What a strict replay takes.
    """
    return "\n".join(
        [
            report_texts.INTRODUCTION + "## Round trips\n",
            *make_table(("", "body", "time", "of the floor", "goal"), map(_trip_row, trips)),
            *(
                [
                    report_texts.LEASE_TEXT,
                    *make_table(("", "body", "time", "goal"), _lease_rows(lease_costs)),
                ]
                if lease_costs
                else []
            ),
            *make_query_section(query_costs),
            report_texts.STORE_TEXT,
            *make_table(
                ("", "a halt point", "of the floor"), map(_append_row, store_costs.appends)
            ),
            "",
            *make_table(
                ("", "measured", "goal"),
                [_disk_usage_row(store_costs.disk_usage), _opening_row(store_costs.opening)],
            ),
            *(
                [
                    report_texts.WIRE_TEXT,
                    *make_table(("", "bytes", "goal"), _wire_rows(wire_costs)),
                ]
                if wire_costs
                else []
            ),
            *([_step_section(click_ms)] if click_ms else []),
            *(
                [
                    report_texts.LONG_RUN_TEXT,
                    *make_table(
                        ("", "measured", "goal"), _long_rows(long_run, step_s, flooded_step_s)
                    ),
                ]
                if long_run
                else []
            ),
            *(
                [
                    report_texts.BACKGROUND_TEXT,
                    *make_table(("", "measured", "goal"), _background_rows(background_costs)),
                ]
                if background_costs
                else []
            ),
            *make_fleet_section(fleet_runs),
            *(
                [
                    report_texts.BROWSER_TEXT,
                    *make_table(("", "measured", "goal"), _browser_opening_rows(browser_opening)),
                ]
                if browser_opening
                else []
            ),
            *([fleet_opening.describe()] if fleet_opening else []),
            *_make_costs_section(report_texts.WORKSPACE_TEXT, snapshots),
            *_make_costs_section(report_texts.FORK_TEXT, fork_costs),
            *_make_costs_section(report_texts.REPLAY_TEXT, replay_costs),
            "\n## Starting\n",
            *make_table(("", "time", "goal"), map(_import_row, imports)),
            f"\nMeasured {date.today()} on {describe_machine()}.\n",
        ]
    )


def _long_rows(
    long: LongRunCosts, steps: Sequence[float], flooded: Sequence[float]
) -> Iterator[tuple[str, ...]]:
    number, opening = f"{long.halt_points:,}", long.opening
    each = _format_spread(long.long, 1e6, "µs")
    yield (
        f"a halt point at {number}, against one at 1,000",
        f"{each}, {long.ratio:.2f} × the {_format_spread(long.short, 1e6, 'µs')}",
        _verdict(long.ratio, MAX_LONG_RUN_RATIO, f"≤ {MAX_LONG_RUN_RATIO} ×"),
    )
    yield (
        "the Core's memory then",
        f"{long.memory_bytes / 1e6:.0f} MB",
        _verdict(long.memory_bytes, MAX_MEMORY_BYTES, f"≤ {MAX_MEMORY_BYTES // 1_000_000} MB"),
    )
    yield (
        "opening that run: the first message, and until it came",
        f"{opening.first_bytes / 1000:.0f} KB, {_format_spread(opening.seconds, 1e3, 'ms')}",
        _verdict(
            opening.first_bytes, MAX_FIRST_MESSAGE_BYTES, f"≤ {MAX_FIRST_MESSAGE_BYTES // 1024} KB"
        ),
    )
    yield "a page out of its middle", _format_spread(opening.page, 1e3, "ms"), ""
    yield "the rows of it that a filter shows", f"{opening.find_s:.1f} s", ""
    if steps:
        yield _step_row("50 others reach 20 halt points a second each", steps)
    if flooded:
        yield _step_row("another sends messages as fast as it can", flooded)


def _step_row(others: str, steps: Sequence[float]) -> tuple[str, ...]:
    slow = sorted(steps)[(len(steps) * 99) // 100] * 1e3
    return (
        f"Step on a halted agent while {others}",
        f"median {statistics.median(steps) * 1e3:.1f} ms, p99 {slow:.0f} ms",
        _verdict(slow, MAX_BUSY_STEP_MS, f"p99 ≤ {MAX_BUSY_STEP_MS} ms"),
    )


def _background_rows(background: BackgroundCosts) -> Iterator[tuple[str, ...]]:
    waking = background.wake_up
    yield "from asking until the handler begins", _format_spread(waking.seconds, 1e6, "µs"), ""
    yield (
        f"{waking.action_count} actions asked for at one go",
        f"{waking.actions_per_s:,.0f} a second",
        "",
    )
    for each in background.claims:
        many = f"{_format_spread(each.many, 1e6, 'µs')}, {each.ratio.middle:.2f} ×"
        yield (
            f"{each.store}: a claim with its end at {each.rows:,} rows, against {FEW_ROWS:,}",
            f"{many} the {_format_spread(each.few, 1e6, 'µs')}",
            _verdict(each.ratio.middle, MAX_MANY_ROWS_RATIO, f"≤ {MAX_MANY_ROWS_RATIO} ×"),
        )
    for rate in background.steps:
        yield (
            f"{rate.store}: steps of {rate.sessions} sessions at once",
            f"{rate.steps_per_s:,.0f} a second",
            "",
        )


def describe_machine() -> str:
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


def _trip_row(trip: RoundTrip) -> tuple[str, ...]:
    goal = (
        _verdict(trip.ratio.middle, MAX_ROUND_TRIP_RATIO, f"≤ {MAX_ROUND_TRIP_RATIO} ×")
        if trip.setup in _SETUPS_WITH_GOAL
        else ""
    )
    body = f"{trip.size // 1000} KB"
    ratio = "1" if trip.setup == "floor" else _format_ratio(trip.ratio)
    return trip.setup, body, _format_spread(trip.seconds, 1e6, "µs"), ratio, goal


def _lease_rows(leased: Iterable[LeaseCost]) -> Iterator[tuple[str, ...]]:
    for each in leased:
        body = f"{each.size // 1000} KB"
        goal = MAX_HALT_POINT_S + MAX_S_PER_KILOBYTE * each.size / 1000
        verdicts = [_verdict(each.seconds.middle, goal, f"≤ {goal * 1e6:.0f} µs")]
        if each.size <= SMALL_BODY_BYTES:
            cheaper = each.speedup.middle
            times = f"≥ {MIN_LEASE_SPEEDUP} × cheaper than version 1, it is {cheaper:.1f} ×"
            verdicts.append(_verdict(-cheaper, -MIN_LEASE_SPEEDUP, times))
        yield "version 1", body, _format_spread(each.version_1, 1e6, "µs"), ""
        yield (
            "version 2, by a lease",
            body,
            _format_spread(each.seconds, 1e6, "µs"),
            "; ".join(verdicts),
        )
        yield "the same, in a long block", body, _format_spread(each.long_block, 1e6, "µs"), ""


def make_query_section(query_costs: Sequence[QueryCost]) -> list[str]:
    """The section about queries that aren't halted; empty where none was measured."""
    if not query_costs:
        return []
    return [
        report_texts.SEAM_TEXT,
        *make_table(
            ("", "", "prompt", "measured", "of the plain client"), map(_query_row, query_costs)
        ),
    ]


def _query_row(each: QueryCost) -> tuple[str, ...]:
    measured = _format_spread(
        each.values, *((1, "a second") if each.measure == TOKENS_PER_S else (1e6, "µs"))
    )
    ratio = "1" if each.variant == PLAIN else _format_ratio(each.ratio)
    return each.measure, each.variant, f"{each.size // 1000} KB", measured, ratio


def _append_row(rate: AppendCost) -> tuple[str, ...]:
    return rate.name, _format_spread(rate.seconds, 1e6, "µs"), _format_own_ratio(rate.ratio)


def _disk_usage_row(usage: DiskUsage) -> tuple[str, ...]:
    ratio = usage.idle_bytes / usage.new_bytes
    return (
        f"{usage.turns} turns of a conversation that grows by 2 KB each, on disk when idle",
        f"{_format_bytes(usage.idle_bytes)}, {_format_growth(ratio, usage.new_bytes)}",
        _verdict(ratio, MAX_GROWTH_RATIO, f"≤ {MAX_GROWTH_RATIO} ×"),
    )


def _opening_row(opening: FolderOpening) -> tuple[str, ...]:
    what = f"opening a folder of {opening.runs:,} runs, until the Core knows them all"
    return what, _format_spread(opening.seconds, 1e3, "ms"), ""


def _wire_rows(travelled: Sequence[WireCost]) -> Iterator[tuple[str, ...]]:
    """Two lines for each conversation; the first one is held to the goal."""
    for one in travelled:
        name = one.name or f"{one.turns} turns of a conversation that grows by 2 KB each"
        for way, number in (("agent to Core", one.agent_bytes), ("Core to view", one.view_bytes)):
            ratio = number / one.new_bytes
            took = f"{_format_bytes(number)}, {_format_growth(ratio, one.new_bytes)}"
            goal = "" if one.name else _verdict(ratio, MAX_GROWTH_RATIO, f"≤ {MAX_GROWTH_RATIO} ×")
            yield f"{name}: {way}", took, goal


def _format_growth(ratio: float, new_bytes: int) -> str:
    return f"{ratio:.2f} × the {_format_bytes(new_bytes)} that are new in it"


def _format_bytes(number: int) -> str:
    return f"{number / 1e6:.2f} MB"


def _step_section(milliseconds: Sequence[float]) -> str:
    """The section about Step in a browser."""
    middle = statistics.median(milliseconds)
    return (
        "\n## Step in the browser\n\n"
        "From a click on Step in JupyterLab until the agent, a process of its own, goes on; the run is\n"
        "kept on disk, `durable`. (`python -m bench.step_in_browser`)\n\n"
        f"{len(milliseconds)} clicks: median {middle:.1f} ms, at most {max(milliseconds):.1f} ms; "
        f"goal {_verdict(middle, MAX_STEP_MS, f'≤ {MAX_STEP_MS} ms')}."
    )


def _browser_opening_rows(opened: BrowserOpening) -> Iterator[tuple[str, ...]]:
    from .open_long import MAX_OPENING_BYTES, MAX_PAINT_MS, MAX_ROWS  # which needs a browser

    middle, most = statistics.median(opened.milliseconds), max(opened.milliseconds)
    what = f"a run of {opened.length:,} events, opened {len(opened.milliseconds)} times: "
    yield (
        what + "until it is drawn",
        f"{middle:.0f} ms, at most {most:.0f} ms",
        _verdict(middle, MAX_PAINT_MS, f"≤ {MAX_PAINT_MS:.0f} ms"),
    )
    kilobytes = f"{opened.message_bytes / 1024:.0f} KB"
    yield (
        "the message that brings it",
        kilobytes,
        _verdict(opened.message_bytes, MAX_OPENING_BYTES, "≤ 256 KB"),
    )
    yield "rows in the document", f"{opened.rows}", _verdict(opened.rows, MAX_ROWS, f"≤ {MAX_ROWS}")


def _make_costs_section(text: str, costs: Sequence[SnapshotCost]) -> list[str]:
    head = ("", "time", "of the floor", "goal")
    return [text, *make_table(head, map(_snapshot_row, costs))] if costs else []


def _snapshot_row(snapshot: SnapshotCost) -> tuple[str, ...]:
    words = _goal_verdict(snapshot.seconds, snapshot.goal)
    return (
        snapshot.name,
        _format_spread(snapshot.seconds, 1e3, "ms"),
        _format_own_ratio(snapshot.ratio),
        words,
    )


def _format_own_ratio(ratio: Spread) -> str:
    return "1" if ratio.low == ratio.high == 1 else _format_ratio(ratio)


def _format_ratio(ratio: Spread) -> str:
    return f"{ratio.middle:.2f} × [{ratio.low:.2f} – {ratio.high:.2f}]"


def _import_row(start: ImportTime) -> tuple[str, ...]:
    words = _goal_verdict(start.seconds, start.snippet.goal)
    return f"`{start.snippet.name}`", _format_spread(start.seconds, 1e3, "ms"), words


def _goal_verdict(seconds: Spread, goal: float | None) -> str:
    return "" if goal is None else _verdict(seconds.middle, goal, f"≤ {goal * 1e3:.0f} ms")


def _format_spread(spread: Spread, factor: float, unit: str) -> str:
    low, middle, high = (value * factor for value in (spread.low, spread.middle, spread.high))
    return f"{middle:.0f} {unit} [{low:.0f} – {high:.0f}]"


def _verdict(value: float, goal: float, words: str) -> str:
    return f"{words}: {'held' if value <= goal else 'MISSED'}"
