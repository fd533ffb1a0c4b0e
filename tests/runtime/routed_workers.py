"""Workers in processes of their own, each with monikers, labels and limits of its own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from agentstepper_nb.protocol.runtime import ActionKind, AgentState
from agentstepper_nb.protocol.runtime_requests import GetRuntimeStatus, RuntimeStatus
from tests.runtime import processes
from tests.runtime.processes import CoreProcesses, RuntimeClient

#: Counts its steps. Each notes that it has begun, and ends once a file of its session's name is there,
#: where the session's config asks for that.
SOURCE: Final = """
import asyncio
from pathlib import Path
from agentstepper_nb.runtime.frame import FrameIn, FrameOut
from agentstepper_nb.runtime.moniker import Moniker

class Counter(Moniker):
    name = "{name}"
    version = "{version}"
    stop_on_done = False

    async def step(self, frame: FrameIn) -> FrameOut:
        count = (frame.state or 0) + 1
        folder = (self.task.config or {{}}).get("folder")
        if folder is not None:
            with Path(folder, f"{{self.task.session_id}}.begun").open("a") as begun:
                begun.write(f"{{count}}\\n")
            while not Path(folder, f"{{self.task.session_id}}.go").exists():
                await asyncio.sleep(0.01)
        return FrameOut(step=frame.step, next_step=frame.step, state=count, done=False)

    def step_interval_s(self) -> float:
        return (self.task.config or {{}}).get("interval_s", 0.1)
"""


class Fleet:
    """A Core, and workers that differ.

    Args:
        folder: For all of it.
        monkeypatch: The test's.
    """

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.place = CoreProcesses(folder)
        self._folder = folder
        self._monkeypatch = monkeypatch
        self._number = 0

    @contextmanager
    def worker(
        self, *options: str, monikers: Sequence[str] = ()
    ) -> Iterator[subprocess.Popen[str]]:
        """Start a worker, whose steps run in it; at the end it is killed.

        Args:
            options: What the command is told besides. `--isolation process`: its steps run in processes.
            monikers: The monikers that it has beside those of the package: NAME, or NAME VERSION.
        """
        paths = [str(self._install(monikers)), *filter(None, [os.environ.get("PYTHONPATH")])]
        command = "agentstepper_nb", "worker", "--log-level", "warning", "--isolation", "none"
        with self._monkeypatch.context() as environment:
            environment.setenv("PYTHONPATH", os.pathsep.join(paths))
            # On a machine that is busy, one of a second is over before it is renewed.
            environment.setattr(processes, "LEASE", "10")
            started = self.place.worker(*command, "--data", str(self.place.data), *options)
            process = started.__enter__()
        try:
            yield process
        finally:
            started.__exit__(None, None, None)

    def _install(self, monikers: Sequence[str]) -> Path:
        """A folder with a package for each moniker."""
        self._number += 1
        folder = self._folder / f"packages{self._number}"
        folder.mkdir()
        for moniker in monikers:
            name, _, version = moniker.partition(" ")
            (folder / f"{name}_package.py").write_text(SOURCE.format(name=name, version=version))
            info = folder / f"{name}_package-1.dist-info"
            info.mkdir()
            (info / "METADATA").write_text(
                f"Metadata-Version: 2.1\nName: {name}-package\nVersion: 1\n"
            )
            (info / "entry_points.txt").write_text(
                f"[agentstepper_nb.monikers]\n{name} = {name}_package:Counter\n"
            )
        return folder


async def create(client: RuntimeClient, session_id: str, moniker: str, **payload: object) -> None:
    """Create a session."""
    await client.enqueue(
        ActionKind.CREATE, session_id, agent_id="a", payload={"moniker": moniker} | payload
    )


async def read_status(client: RuntimeClient) -> RuntimeStatus:
    """How it stands with all of them."""
    return await client.request("status", GetRuntimeStatus(), RuntimeStatus)


def find_pid(state: AgentState) -> int | None:
    """The process that has a session."""
    return None if state.owner is None else int(state.owner.split(":")[1])
