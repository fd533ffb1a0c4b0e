"""`python -m bench.open_fleet`: from the drawing of the fleet's view until its first sessions are seen.

A Jupyter server whose store has many sessions, and the view on a page of it in Chromium, which talks to
the Core by itself. What is timed ends when the frame that shows sessions is over; the page knows nothing
of the sessions before.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.conftest import launched
from tests.e2e.planted_fleet import draw_fleet, open_fleet_page, running_planted_server

from .report import describe_machine

SESSIONS = 10_000
#: Milliseconds and elements.
MAX_PAINT_MS, MAX_ROWS = 500.0, 200


@dataclass(frozen=True)
class FleetOpening:
    """What it took to see a large fleet."""

    sessions: int
    milliseconds: Sequence[float]
    rows: int  # the most in the document

    def describe(self) -> str:
        """A section on what was measured, against its bounds."""
        middle = statistics.median(self.milliseconds)
        is_held = middle <= MAX_PAINT_MS and self.rows <= MAX_ROWS
        return (
            "\n## A fleet in the browser\n\n"
            "From the drawing of the fleet's view until the frame that shows its first sessions is\n"
            "over, on a page of its own in Chromium. (`python -m bench.open_fleet`)\n\n"
            f"{self.sessions:,} sessions, drawn {len(self.milliseconds)} times: median {middle:.0f} ms,"
            f" at most {max(self.milliseconds):.0f} ms, and\n{self.rows} rows in the document; goal "
            f"≤ {MAX_PAINT_MS:.0f} ms and ≤ {MAX_ROWS} rows: {'held' if is_held else 'MISSED'}."
        )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.open_fleet", description=__doc__)
    parser.add_argument("--times", type=int, default=20, help="how often (%(default)s)")
    parser.add_argument("--sessions", type=int, default=SESSIONS, help="(%(default)s)")
    options = parser.parse_args(arguments)
    print(measure(options.times, options.sessions).describe(), describe_machine())


def measure(times: int, sessions: int = SESSIONS) -> FleetOpening:
    """Draw the view.

    Args:
        times: How often.
        sessions: How many sessions there are.
    """
    with (
        tempfile.TemporaryDirectory() as home,
        running_planted_server(Path(home), sessions) as jupyter,
        launched() as browser,
    ):
        page = open_fleet_page(browser, jupyter)
        drawn = [draw_fleet(page, jupyter) for _ in range(times)]
    return FleetOpening(
        sessions, [milliseconds for milliseconds, _ in drawn], max(rows for _, rows in drawn)
    )


if __name__ == "__main__":
    main()
