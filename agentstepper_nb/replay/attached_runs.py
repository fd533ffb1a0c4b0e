"""Agents of tests: replayed without a Core, or run at one and recorded anew, attached to either way."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

from ..discover import list_announced_cores
from ..errors import StoreError
from ..sdk import AgentStepper, set_current_stepper
from ..sdk.frozen_values import freeze_runs
from .agent_runs import load_recording, replay_run
from .event_matcher import ReplayDepth
from .recording_files import write_recording
from .recordings import Recording


def replay_offline(
    recording: Recording,
    function: Callable[..., Any],
    *args: Any,
    depth: ReplayDepth = ReplayDepth.WHOLE,
    freeze: bool = False,
) -> Any:
    """Replay an agent strictly, where neither a Core nor a network is needed.

    The agent is attached to: LLM queries and tool calls of its libraries are served without a line of it
    changed.

    Args:
        recording: The recording.
        function: The agent, synchronous or `async`. It is called with `args`.
        args: The function's arguments.
        depth: As for `replay_run`.
        freeze: As for `replay_run`.

    Returns:
        What the function returns.

    Raises:
        Divergence: The agent does something else than was recorded, or ends before its recording does.
    """
    with _attach(recording.discovers_tools):
        call = partial(_call, function)
        return replay_run(recording, call, *args, depth=depth, offline=True, freeze=freeze)


def record_run(
    path: str | PathLike[str],
    function: Callable[..., Any],
    *args: Any,
    name: str = "",
    discovers_tools: bool = True,
    freeze: bool = False,
) -> Any:
    """Run an agent at the Core of this machine, and write a recording of its run.

    Args:
        path: The recording's file; one that is there is replaced, once the agent has returned.
        function: The agent, synchronous or `async`. It is called with `args`.
        args: The function's arguments.
        name: What the run is called; the function's name where none is given.
        discovers_tools: Whether plain functions are found to be tools, as for `instrument.enable`.
        freeze: Whether the run can be replayed with its time and random numbers (`freeze_runs`).

    Returns:
        What the function returns.

    Raises:
        DiscoveryError: No Core is running, or several are.
        StoreError: The Core stores its runs in no folder of this machine.
        OSError: The file can't be written.
    """
    name = name or getattr(function, "__name__", type(function).__name__)
    with ExitStack() as stack:
        stack.enter_context(_attach(discovers_tools))
        with freeze_runs() if freeze else nullcontext():
            dbg = AgentStepper(name, stop_on_entry=False, mode="continue")
        stack.enter_context(dbg)
        run, folder = dbg.run_id, _find_folder(dbg._current_session().endpoint.url)
        with set_current_stepper(dbg):
            result = _call(function, *args)
    write_recording(load_recording(run, folder), path)
    return result


def _find_folder(url: str) -> Path:
    """The folder in which the Core at a URL stores its runs."""
    for core in list_announced_cores():
        if core.url == url and core.data_dir:
            return Path(core.data_dir)
    raise StoreError(
        f"The Core at {url} is none of this machine that stores its runs, so that no recording can be "
        "read from it. Start one here by `agentstepper serve`, or use that of a Jupyter server."
    )


@contextmanager
def _attach(discovers_tools: bool) -> Iterator[None]:
    """Inside, libraries of the agent are attached to, as they may be already."""
    from .. import instrument

    if instrument.is_enabled():
        yield
        return
    instrument.enable(discovers_tools=discovers_tools)
    try:
        yield
    finally:
        instrument.disable()


def _call(function: Callable[..., Any], *args: Any) -> Any:
    """Call an agent's function, and wait for what it awaits."""
    result = function(*args)
    if not inspect.isawaitable(result):
        return result

    async def wait() -> Any:
        return await result

    return asyncio.run(wait())
