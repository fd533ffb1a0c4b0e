"""What the sessions of a measured fleet do: they count, and some of them harm their process."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Final

from msgspec import Struct, convert

from agentstepper_nb.runtime.frame import FrameIn, FrameOut
from agentstepper_nb.runtime.moniker import ENTRY_POINT_GROUP, Moniker

#: Seconds for which a step blocks: longer than a worker's lease lasts.
BLOCK_S: Final = 25.0
#: Bytes that a step takes before its process is killed for them.
_LEAK_BYTES: Final = 64 * 1024 * 1024


class CountConfig(Struct, frozen=True, kw_only=True):
    """What a session of the fleet is created with."""

    steps: int
    harm: str = ""  # a key of `HARMS`; "": none
    harm_at: int = -1  # the iteration that does it


def _crash() -> None:
    ctypes.string_at(0)


def _block() -> None:
    time.sleep(BLOCK_S)


def _leak() -> None:
    """Take memory, and end as the kernel ends who takes too much."""
    taken = bytearray(_LEAK_BYTES)
    taken[::4096] = b"x" * len(taken[::4096])  # so that each page is there
    os.kill(os.getpid(), signal.SIGKILL)


#: What a step does to its process.
HARMS: Final[dict[str, Callable[[], None]]] = {"crash": _crash, "block": _block, "leak": _leak}


class FleetCount(Moniker):
    """Counts to a number, and waits for nothing. Its state is how many steps have been done."""

    name: ClassVar[str] = "fleet_count"

    @classmethod
    def check(cls, config: Any) -> None:
        convert(config, CountConfig)

    async def step(self, frame: FrameIn) -> FrameOut:
        config = convert(self.task.config, CountConfig)
        number = frame.state or 0
        if number == config.harm_at:
            HARMS[config.harm]()
        return FrameOut(
            step=frame.step,
            next_step=f"at/{number + 1}",
            state=number + 1,
            text=f"Step {number} says as much as a joke has words.",
            done=number + 1 >= config.steps,
        )


def install(folder: Path) -> Path:
    """Install the moniker as a package would.

    Args:
        folder: Where; it is made.

    Returns:
        The folder, for the `PYTHONPATH` of a worker.
    """
    info = folder / "fleet_bench-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: fleet-bench\nVersion: 1\n")
    entry = f"{FleetCount.name} = {FleetCount.__module__}:{FleetCount.__name__}"
    (info / "entry_points.txt").write_text(f"[{ENTRY_POINT_GROUP}]\n{entry}\n")
    return folder
