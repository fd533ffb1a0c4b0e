"""Print lines and branches that the tests run, by package, beside those of the baseline.

`make coverage` measures, and calls this with coverage.py's JSON report. What is measured is the
Python of the package in every process that tests start with this environment's interpreter, killed
ones left out: a killed process writes nothing. `make test-e2e` and the notebooks aren't measured.

With `--write` the report becomes the baseline, `tests/coverage.json`.
"""

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

ROOT = Path(__file__).resolve().parent.parent
BASELINE = ROOT / "tests" / "coverage.json"
PACKAGE = "agentstepper_nb"
#: Points that a package may lose between two measurements: races decide some branches.
TOLERANCE = 1.0


class Counts(NamedTuple):
    """How much there is of a package, and how much of it is run."""

    files: int = 0
    lines: int = 0
    lines_run: int = 0
    branches: int = 0
    branches_run: int = 0

    def plus(self, other: Self) -> "Counts":
        return Counts(*(one + another for one, another in zip(self, other, strict=True)))

    @property
    def line_rate(self) -> float:
        return 100 * self.lines_run / self.lines if self.lines else 100.0

    @property
    def branch_rate(self) -> float:
        return 100 * self.branches_run / self.branches if self.branches else 100.0


def by_package(report: Mapping[str, Any]) -> dict[str, Counts]:
    """Sum up a report's files by the first folder below the package, and in all."""
    found: dict[str, Counts] = {}
    for path, file in report["files"].items():
        parts = Path(path).parts
        inside = parts[parts.index(PACKAGE) + 1 :]
        name = inside[0] if len(inside) > 1 else "(top)"
        summary = file["summary"]
        counts = Counts(
            1,
            summary["num_statements"],
            summary["covered_lines"],
            summary["num_branches"],
            summary["covered_branches"],
        )
        for each in (name, "total"):
            found[each] = found.get(each, Counts()).plus(counts)
    return found


def table(before: Mapping[str, Counts], now: Mapping[str, Counts]) -> str:
    """Make a table of each package's counts, then and now."""
    rows = [f"{'':12} {'files':>11} {'lines':>15} {'run, %':>14} {'branches run, %':>16}"]
    names = sorted((before.keys() | now.keys()) - {"total"})
    for name in [*names, "total"]:
        old, new = before.get(name), now.get(name)
        cells = (
            (11, "files", "d"),
            (15, "lines", "d"),
            (14, "line_rate", ".1f"),
            (16, "branch_rate", ".1f"),
        )
        row = f"{name:12}"
        for width, field, form in cells:
            then, here = (format(getattr(x, field), form) if x else "–" for x in (old, new))
            row += f" {then + ' → ' + here:>{width}}"
        rows.append(row + ("  LESS" if name in lost(before, now) else ""))
    return "\n".join(rows)


def lost(before: Mapping[str, Counts], now: Mapping[str, Counts]) -> list[str]:
    """Name the packages of which less is run than before."""
    return [
        name
        for name, old in before.items()
        if (new := now.get(name))
        and (
            new.line_rate < old.line_rate - TOLERANCE
            or new.branch_rate < old.branch_rate - TOLERANCE
        )
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("report", type=Path, help="What `coverage json` wrote")
    parser.add_argument("--write", action="store_true", help="Make it the baseline")
    options = parser.parse_args()
    now = by_package(json.loads(options.report.read_text()))
    before: dict[str, Counts] = {}
    if BASELINE.exists():
        stored = json.loads(BASELINE.read_text())
        before = {name: Counts(**counts) for name, counts in stored.items()}
    print(table(before, now))
    if options.write:
        stored = {name: counts._asdict() for name, counts in sorted(now.items())}
        BASELINE.write_text(json.dumps(stored, indent=2) + "\n")
    elif less := lost(before, now):
        sys.exit(f"Less is run than before by over {TOLERANCE} points: {', '.join(less)}")


if __name__ == "__main__":
    main()
