"""Monikers as a package of a stranger's brings them, for workers in processes of their own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import pytest

#: Its session's config says at which iterations a step ends its process, and how.
FRAGILE: Final = """
import os, signal
from agentstepper_nb.runtime.frame import FrameIn, FrameOut
from agentstepper_nb.runtime.moniker import Moniker

class Fragile(Moniker):
    name = "fragile"
    stop_on_done = False

    async def step(self, frame: FrameIn) -> FrameOut:
        count = (frame.state or 0) + 1
        end = self.task.config.get(str(count))
        if end == "exit":
            os._exit(7)
        if end == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        return FrameOut(step=frame.step, next_step=frame.step, state=count, done=False)

    def step_interval_s(self) -> float:
        return 0.02
"""


def install_moniker(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str = "fragile", source: str = FRAGILE
) -> None:
    """Let processes that start from now on find a moniker by its entry point.

    Args:
        folder: Where its package lies.
        monkeypatch: The test's.
        name: The moniker's name; its class is called so, too.
        source: The text of its module.
    """
    folder.mkdir(exist_ok=True)
    (folder / f"{name}_moniker.py").write_text(source)
    info = folder / f"{name}_moniker-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-moniker\nVersion: 1\n")
    entry = f"{name} = {name}_moniker:{name.capitalize()}"
    (info / "entry_points.txt").write_text(f"[agentstepper_nb.monikers]\n{entry}\n")
    paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
