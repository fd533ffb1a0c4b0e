"""Monikers that harm their process, as a package brings them, and how a test installs them."""

from __future__ import annotations

import asyncio
import ctypes
import logging
import os
import random
import signal
import sys
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from agentstepper_nb import AgentStepper
from agentstepper_nb.protocol.data_model import Usage
from agentstepper_nb.runtime.frame import FrameIn, FrameOut
from agentstepper_nb.runtime.moniker import Moniker
from agentstepper_nb.sdk.run_events import make_id

MODULE = "tests.runtime.isolated_monikers"


def count(frame: FrameIn, **given: Any) -> FrameOut:
    """A step that counts, and says in which process."""
    number = (frame.state or {}).get("count", 0) + 1
    told = frame.guidance if isinstance(frame.guidance, str) else None
    fields = {
        "step": frame.step,
        "next_step": f"n/{number}",
        "state": {"count": number},
        "data": {"pid": os.getpid()},
        "text": told,
        "done": False,
    }
    return FrameOut(**fields | given)


class CountMoniker(Moniker):
    """Counts, with a wait between two steps."""

    name: ClassVar[str] = "count"
    stop_on_done: ClassVar[bool] = True

    async def step(self, frame: FrameIn) -> FrameOut:
        config = self.task.config or {}
        number = (frame.state or {}).get("count", 0) + 1
        return count(frame, done=number >= config.get("steps", sys.maxsize))

    def step_interval_s(self) -> float:
        return float((self.task.config or {}).get("interval_s", 0.0))


class CooperativeMoniker(CountMoniker):
    """The same, beside others on the loop."""

    name: ClassVar[str] = "cooperative"
    cooperative: ClassVar[bool] = True


def _block() -> None:
    time.sleep(25)


def _crash() -> None:
    ctypes.string_at(0)


#: What a step does to its process.
HARMS: dict[str, Callable[[], object]] = {
    "exit": lambda: os._exit(3),
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "crash": _crash,
    "block": _block,
}


def _count_line(tally: Path) -> int:
    """Add a line to a file; gives how many it has."""
    with tally.open("a+") as file:
        file.write(f"{os.getpid()}\n")
        file.seek(0)
        return len(file.readlines())


class HarmMoniker(Moniker):
    """Counts until its step `at`, which harms its process, the first `times` times.

    How often that was is counted by lines of the file `tally`.
    """

    name: ClassVar[str] = "harm"

    async def step(self, frame: FrameIn) -> FrameOut:
        config = self.task.config
        number = (frame.state or {}).get("count", 0)
        tally = Path(config["tally"])
        is_harmful = number == config.get("at", 1)
        if is_harmful and _count_line(tally) <= config.get("times", sys.maxsize):
            HARMS[config["harm"]]()
        return count(frame, done=number >= config.get("steps", 3))


class CooperativeHarmMoniker(HarmMoniker):
    """The same, beside others on the loop, where it says so wrongly."""

    name: ClassVar[str] = "cooperative_harm"
    cooperative: ClassVar[bool] = True


class SleepMoniker(Moniker):
    """Awaits for long in its second step."""

    name: ClassVar[str] = "sleep"

    async def step(self, frame: FrameIn) -> FrameOut:
        if (frame.state or {}).get("count", 0) == 1:
            Path(self.task.config["begun"]).touch()
            await asyncio.sleep(3600)
        return count(frame)


class CooperativeSleepMoniker(SleepMoniker):
    """The same, on the loop."""

    name: ClassVar[str] = "cooperative_sleep"
    cooperative: ClassVar[bool] = True


class LoggingMoniker(Moniker):
    """Says how its process logs."""

    name: ClassVar[str] = "logging"

    async def step(self, frame: FrameIn) -> FrameOut:
        given = ("tea", logging.WARNING, "", 0, "the state is %s", (str(frame.state),), None)
        return count(frame, text=logging.root.handlers[0].format(logging.LogRecord(*given)))


class BrokenMoniker(Moniker):
    """Can't be made."""

    name: ClassVar[str] = "broken"

    def __init__(self, task: Any) -> None:
        raise ValueError("It is broken.")


class RaisingMoniker(Moniker):
    """Raises what its config names."""

    name: ClassVar[str] = "raising"

    async def step(self, frame: FrameIn) -> FrameOut:
        errors: dict[str, BaseException] = {
            "value": ValueError("no"),
            "exit": SystemExit(4),
            "cancelled": asyncio.CancelledError(),
        }
        raise errors[self.task.config]


class LargeMoniker(Moniker):
    """Gives much."""

    name: ClassVar[str] = "large"

    async def step(self, frame: FrameIn) -> FrameOut:
        chars = self.task.config["chars"]
        return count(frame, data={"text": "y" * chars}, text="x" * min(chars, 1_000_000))


class IdsMoniker(Moniker):
    """Makes ids, as runs and rows have them."""

    name: ClassVar[str] = "ids"

    async def step(self, frame: FrameIn) -> FrameOut:
        return count(frame, data=[make_id(), str(uuid.uuid4()), random.random()])


class ParentMoniker(Moniker):
    """Counts the threads of the process that its own was forked from, and looks what that imported."""

    name: ClassVar[str] = "parent"

    async def step(self, frame: FrameIn) -> FrameOut:
        tasks = Path(f"/proc/{os.getppid()}/task")
        data = {"threads": len(list(tasks.iterdir())), "has_client": "openai" in sys.modules}
        return count(frame, data=data)


class BlockingHaltMoniker(Moniker):
    """Blocks its loop until a thread has called a tool, at which a person may halt."""

    name: ClassVar[str] = "blocking_halt"

    async def step(self, frame: FrameIn) -> FrameOut:
        said: list[Any] = []
        thread = threading.Thread(target=self._call_tool, args=(said,))
        thread.start()
        thread.join()
        return count(frame, text=str(said[0]), done=True)

    def _call_tool(self, said: list[Any]) -> None:
        own = self.task.dbg
        assert own is not None
        where = own._location
        dbg = AgentStepper(own.program_name, url=where.url, token=where.token)
        with dbg, dbg.tool("inner", {}) as call:
            call.result = "seen"
        said.append(call.result)


class AdmittedMoniker(Moniker):
    """Asks for a call of a model in each step, and says how long it waited."""

    name: ClassVar[str] = "admitted"

    async def step(self, frame: FrameIn) -> FrameOut:
        gate = self.task.model_gate
        assert gate is not None
        waits = [wait_s async for wait_s in gate.admit("m")]
        gate.settle("m", Usage(input_tokens=7))
        return count(frame, text=str(len(waits)))


class ListenMoniker(Moniker):
    """Reads its conversation in each step. Where its config names a file `hold`, the first step that
    read something makes it, and never ends.
    """

    name: ClassVar[str] = "listen"

    async def step(self, frame: FrameIn) -> FrameOut:
        heard = await self.task.read_messages(limit=2)
        if heard and "hold" in self.task.config:
            hold = Path(self.task.config["hold"])
            if not hold.exists():
                hold.touch()
                await asyncio.sleep(3600)
        return count(frame, data=[message.text for message in heard])

    def step_interval_s(self) -> float:
        return 0.02


class CooperativeListenMoniker(ListenMoniker):
    """The same, on the loop."""

    name: ClassVar[str] = "cooperative_listen"
    cooperative: ClassVar[bool] = True


MONIKERS = (
    AdmittedMoniker,
    ListenMoniker,
    CooperativeListenMoniker,
    CountMoniker,
    CooperativeMoniker,
    HarmMoniker,
    CooperativeHarmMoniker,
    SleepMoniker,
    CooperativeSleepMoniker,
    LoggingMoniker,
    BrokenMoniker,
    RaisingMoniker,
    LargeMoniker,
    IdsMoniker,
    ParentMoniker,
    BlockingHaltMoniker,
)


def install(folder: Path) -> Path:
    """Install these monikers as a package would: the folder is to be on the path of a process."""
    info = folder / "isolated_monikers-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: isolated-monikers\nVersion: 1\n")
    lines = [f"{each.name} = {MODULE}:{each.__name__}" for each in MONIKERS]
    (info / "entry_points.txt").write_text("\n".join(["[agentstepper_nb.monikers]", *lines, ""]))
    return folder
