"""What a command costs to start in each sandbox, beside a bare process: `python -m bench.sandboxes`."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from agentstepper_nb.coding.sandbox import ResourceLimits, SandboxAccess, SandboxChoice
from agentstepper_nb.coding.sandbox.backend_selection import choose_sandbox
from agentstepper_nb.coding.sandbox.launch import Sandbox
from agentstepper_nb.coding.tools.command_process import prepare_command, run_process
from agentstepper_nb.errors import SandboxError

REPETITIONS = 60
NAMES: tuple[SandboxChoice, ...] = ("none", "landlock", "bubblewrap", "seatbelt")


async def run_bare() -> None:
    await (await asyncio.create_subprocess_exec("true")).wait()


async def run_confined(sandbox: Sandbox, access: SandboxAccess) -> None:
    async with prepare_command(sandbox, ["true"], access.workspace, access) as launch:
        assert (await run_process(launch, access.workspace, 60, asyncio.Event())).exit_code == 0


async def time_and_print(name: str, start: Callable[[], Awaitable[None]]) -> None:
    times = []
    for _ in range(REPETITIONS):
        begin = time.perf_counter()
        await start()
        times.append(time.perf_counter() - begin)
    print(
        f"{name:12} {min(times) * 1e3:6.1f} ms at least, {statistics.median(times) * 1e3:6.1f} median"
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        workspace, home, temporary = (Path(folder).resolve() / name for name in "wht")
        for each in (workspace, home, temporary):
            each.mkdir()
        access = SandboxAccess(workspace=workspace, home=home, temporary_folder=temporary)
        asyncio.run(time_and_print("bare", run_bare))
        for name in NAMES:
            try:
                sandbox = choose_sandbox(name, ResourceLimits()).sandbox
            except SandboxError as error:
                print(f"{name:12} {error}")
                continue
            asyncio.run(time_and_print(name, partial(run_confined, sandbox, access)))


if __name__ == "__main__":
    main()
