"""`python -m bench`: measure, print, and with `--write` keep it in docs/bench.md."""

from __future__ import annotations

import argparse
from pathlib import Path

from . import imports, looks, report, round_trip

SIZES = (1_000, 50_000)
PAGE = Path(__file__).parents[1] / "docs" / "bench.md"


def main(arguments: list[str] | None = None) -> None:
    options = _parser().parse_args(arguments)
    effort = round_trip.Effort(options.sets, options.blocks, options.turns)
    trips = [trip for size in SIZES for trip in round_trip.measure(size, effort)]
    seen = looks.measure(options.looks, options.files)
    page = report.page(trips, seen, imports.measure(options.starts))
    print(page)
    if options.write:
        PAGE.write_text(page, encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description="What the debugger costs.")
    add = parser.add_argument
    add("--write", action="store_true", help="keep the results in docs/bench.md")
    add("--sets", type=int, default=8, help="how often processes are started anew (%(default)s)")
    add("--blocks", type=int, default=20, help="blocks of each arm and set (%(default)s)")
    add("--turns", type=int, default=20, help="LLM queries of each block (%(default)s)")
    add("--starts", type=int, default=15, help="how often each import is timed (%(default)s)")
    add("--looks", type=int, default=15, help="how often a workspace is looked at (%(default)s)")
    add("--files", type=int, default=looks.FILES, help="files of that workspace (%(default)s)")
    return parser


if __name__ == "__main__":
    main()
