"""What the files of a fork cost: a run with many files, in a fresh folder and in place."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path

from agentstepper_nb.replay import put_back
from agentstepper_nb.replay.content_hashes import ContentHasher
from agentstepper_nb.replay.recordings import RecordedFiles, Recording
from agentstepper_nb.replay.workspace import PreparedWorkspace, prepare_workspace
from agentstepper_nb.replay.workspace_report import WorkspaceMode
from agentstepper_nb.sdk.workspace import Workspace

from .round_trip import Spread
from .workspace_steps import FILES, STAMP_AGE_S, SnapshotCost, compute_ratios, fill, measure_time


def measure(count: int, files: int = FILES) -> list[SnapshotCost]:
    """Measure, in turn: the floor, a fork in a fresh folder, its first look, and a fork in place.

    The floor is `shutil.copytree` of the same files.

    Args:
        count: How often.
        files: How many the workspace has.
    """
    with tempfile.TemporaryDirectory() as scratch:
        bench = _ForkBench(Path(scratch).resolve(), files)
        rounds = [bench.measure_round() for _ in range(count + 1)][1:]
    copies, forks, watched, in_place = zip(*rounds, strict=True)
    return [
        SnapshotCost("`shutil.copytree`, the floor", Spread.of(copies), Spread.of([1.0])),
        SnapshotCost("a fresh folder", Spread.of(forks), compute_ratios(forks, copies)),
        SnapshotCost(
            "and its first look, which stores the files again",
            Spread.of(watched),
            compute_ratios(watched, copies),
        ),
        SnapshotCost(
            "in place, where one file differs",
            Spread.of(in_place),
            compute_ratios(in_place, copies),
        ),
    ]


class _ForkBench:
    """A run with many files, forked again and again.

    Args:
        scratch: An empty folder.
        files: How many files the run has.
    """

    def __init__(self, scratch: Path, files: int) -> None:
        self._folder, self._data = scratch / "workspace", scratch / "data"
        self._copy = scratch / "copy"
        fill(self._folder, files)
        time.sleep(STAMP_AGE_S)
        workspace = Workspace(self._folder, "bench", data_dir=self._data)
        snapshots = ((0, workspace.initial_commit().id),)
        workspace.close()
        recorded = RecordedFiles("run", "bench", str(self._folder), snapshots)
        self._recording = Recording("run", "bench", (), ContentHasher(None), files=recorded)

    def measure_round(self) -> tuple[float, float, float, float]:
        """Seconds of a copy, a fork, a fork with its first look, and a fork in place."""
        copied = measure_time(lambda: shutil.copytree(self._folder, self._copy))
        shutil.rmtree(self._copy)
        made: list[PreparedWorkspace] = []
        forked = measure_time(lambda: made.append(self._fork(WorkspaceMode.FRESH)))
        (prepared,) = made
        looked = measure_time(
            lambda: Workspace(prepared.path, "bench", data_dir=self._data).close()
        )
        shutil.rmtree(prepared.path.parent)
        (self._folder / "changed.txt").write_text("changed\n")
        in_place = measure_time(lambda: self._fork(WorkspaceMode.IN_PLACE))
        put_back(self._folder, data_dir=self._data)
        return copied, forked, forked + looked, in_place

    def _fork(self, mode: WorkspaceMode) -> PreparedWorkspace:
        prepared = prepare_workspace(self._recording, 1, mode, data_dir=self._data)
        assert prepared is not None
        return prepared
