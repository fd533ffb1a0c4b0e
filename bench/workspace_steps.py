"""What a step costs in a large workspace: to see that nothing changed, and what did."""

from __future__ import annotations

import gc
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from agentstepper_nb.sdk.workspace import Workspace

from .round_trip import Spread

FILES = 10_000
_BY_FOLDER = 20  # files of a folder; ten folders of these make a package
#: What a file's stamp takes to be trusted: `files._TICK_NS`, and a little.
STAMP_AGE_S = 2.5  # seconds


@dataclass(frozen=True)
class SnapshotCost:
    """One way to look at the workspace."""

    name: str
    seconds: Spread
    ratio: Spread  # to the floor's neighbouring look
    goal: float | None = None  # seconds


def measure(count: int, files: int = FILES) -> list[SnapshotCost]:
    """Measure, in turn: the floor, a snapshot of nothing, and one of a single changed file.

    The floor is a bare `os.walk` with an `lstat` of each file.

    Args:
        count: How often.
        files: How many the workspace has.
    """
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch, "workspace")
        fill(root, files)
        time.sleep(STAMP_AGE_S)
        workspace = Workspace(root, "bench", data_dir=Path(scratch, "data"))
        try:
            looks = [_measure_round(root, workspace, number) for number in range(count + 1)][1:]
        finally:
            workspace.close()
    floors, nothings, changes = zip(*looks, strict=True)
    return [
        SnapshotCost("`os.walk` and `lstat`, the floor", Spread.of(floors), Spread.of([1.0])),
        SnapshotCost(
            "nothing changed", Spread.of(nothings), compute_ratios(nothings, floors), goal=0.050
        ),
        SnapshotCost("one file changed", Spread.of(changes), compute_ratios(changes, floors)),
    ]


def _measure_round(root: Path, workspace: Workspace, number: int) -> tuple[float, float, float]:
    floor = measure_time(lambda: _walk(root))
    nothing = measure_time(lambda: _snapshot(workspace, changed=False))
    (root / "changing.txt").write_text(f"{number}\n")
    change = measure_time(lambda: _snapshot(workspace, changed=True))
    return floor, nothing, change


def fill(root: Path, files: int) -> None:
    """Make a workspace of many small files.

    Args:
        root: The folder.
        files: How many.
    """
    for number in range(files):
        folder = number // _BY_FOLDER
        path = root / f"package{folder // 10}" / f"module{folder % 10}" / f"file{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"number = {number}\n")


def _walk(root: Path) -> None:
    for folder, _, names in os.walk(root):
        for name in names:
            os.lstat(os.path.join(folder, name))  # noqa: PTH118 - what is bare is quickest


def _snapshot(workspace: Workspace, changed: bool) -> None:
    assert (workspace.snapshot() is not None) is changed


def measure_time(act: Callable[[], object]) -> float:
    """How long a call takes, in seconds."""
    gc.collect()  # the garbage of the one before isn't this one's
    begin = time.perf_counter()
    act()
    return time.perf_counter() - begin


def compute_ratios(seconds: tuple[float, ...], floors: tuple[float, ...]) -> Spread:
    """What each took, of the floor beside it."""
    return Spread.of([own / floor for own, floor in zip(seconds, floors, strict=True)])
