"""`python -m bench`: measure, print, and with `--write` keep it in docs/bench.md."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from . import (
    background,
    fleet,
    flooding_agent,
    fork_files,
    imports,
    lease,
    long_runs,
    many_agents,
    replayed_run,
    report,
    round_trip,
    seam,
    store_cost,
    wire,
    workspace_steps,
)

if TYPE_CHECKING:
    from .open_fleet import FleetOpening
    from .open_long import BrowserOpening

SIZES = (1_000, 50_000)
PAGE = Path(__file__).parents[1] / "docs" / "bench.md"


def main(arguments: list[str] | None = None) -> None:
    options = _parser().parse_args(arguments)
    effort = round_trip.Effort(options.sets, options.blocks, options.turns, options.rest)
    trips = [trip for size in SIZES for trip in round_trip.measure(size, effort)]
    store_costs = store_cost.measure(
        store_cost.StoreEffort(
            options.rounds, options.appends, 10 * options.appends, options.growth, options.runs
        )
    )
    snapshots = workspace_steps.measure(options.looks, options.files)
    page = report.make_page(
        trips,
        store_costs,
        _measure_clicks(options.clicks),
        snapshots,
        imports.measure(options.starts),
        wire.measure(options.growth),
        _measure_openings(options.opens),
        [lease.measure(size, effort) for size in SIZES],
        long_runs.measure(long_runs.LongRunEffort(options.halt_points))
        if options.halt_points
        else None,
        many_agents.measure(options.steps) if options.steps else (),
        background.measure(background.BackgroundEffort(options.actions, options.rows))
        if options.actions
        else None,
        flooding_agent.measure(options.steps) if options.steps else (),
        _measure_queries(options.queries, effort),
        _measure_fleet(options.opens),
        _measure_sessions(options.sessions),
        fork_files.measure(options.forks, options.files) if options.forks else (),
        replayed_run.measure(options.replays) if options.replays else (),
    )
    print(page)
    if options.write:
        PAGE.write_text(page, encoding="utf-8")


def _measure_queries(queries: int, effort: round_trip.Effort) -> list[seam.QueryCost]:
    if not queries:
        return []
    of_queries = replace(effort, turns=queries)
    return [each for size in SIZES for each in seam.measure(size, of_queries)]


def _measure_clicks(number: int) -> list[float]:
    if not number:
        return []
    from . import step_in_browser  # which needs a browser

    return step_in_browser.measure(number)


def _measure_openings(times: int) -> BrowserOpening | None:
    if not times:
        return None
    from . import open_long  # which needs a browser

    return open_long.measure(times)


def _measure_fleet(times: int) -> FleetOpening | None:
    if not times:
        return None
    from . import open_fleet  # which needs a browser

    return open_fleet.measure(times)


def _measure_sessions(sessions: int) -> list[fleet.FleetRun]:
    isolations: tuple[fleet.Isolation, ...] = ("process", "none") if sessions else ()
    return [
        fleet.measure(fleet.FleetEffort(sessions=sessions, isolation=each)) for each in isolations
    ]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description="What the debugger costs.")
    add = parser.add_argument
    add("--write", action="store_true", help="keep the results in docs/bench.md")
    add("--rest", type=float, default=1.0, help="seconds after a block of each arm (%(default)s)")
    add("--sets", type=int, default=6, help="how often processes are started anew (%(default)s)")
    add("--blocks", type=int, default=15, help="blocks of each arm and set (%(default)s)")
    add("--turns", type=int, default=20, help="LLM queries of each block (%(default)s)")
    add("--rounds", type=int, default=10, help="how often it is appended and opened (%(default)s)")
    add("--appends", type=int, default=50, help="halt points of each round (%(default)s)")
    add("--growth", type=int, default=500, help="turns of a growing conversation (%(default)s)")
    add(
        "--halt-points",
        type=int,
        default=100_000,
        help="of a long run; 0: none (%(default)s)",
    )
    add(
        "--steps",
        type=int,
        default=500,
        help="steps among many agents, and beside a flood; 0: none (%(default)s)",
    )
    add(
        "--queries",
        type=int,
        default=8,
        help="of each block, by the seam and beside it; 0: none (%(default)s)",
    )
    add(
        "--actions",
        type=int,
        default=300,
        help="of background agents; 0: none (%(default)s)",
    )
    add("--rows", type=int, default=100_000, help="of their queue; 0: none (%(default)s)")
    add("--sessions", type=int, default=1000, help="of a fleet; 0: none (%(default)s)")
    add("--runs", type=int, default=1000, help="runs of a folder to open (%(default)s)")
    add("--clicks", type=int, default=60, help="clicks on Step in a browser; 0: none (%(default)s)")
    add(
        "--opens",
        type=int,
        default=20,
        help="how often a long run and a fleet are opened; 0: never (%(default)s)",
    )
    add("--starts", type=int, default=15, help="how often each import is timed (%(default)s)")
    add("--looks", type=int, default=15, help="how often a workspace is looked at (%(default)s)")
    add("--replays", type=int, default=5, help="of 1,000 queries; 0: none (%(default)s)")
    add("--forks", type=int, default=5, help="of a run with many files; 0: none (%(default)s)")
    add(
        "--files",
        type=int,
        default=workspace_steps.FILES,
        help="files of these workspaces (%(default)s)",
    )
    return parser


if __name__ == "__main__":
    main()
