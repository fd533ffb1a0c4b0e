"""`%%step`: a cell as one run, on a thread of its own."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.display import display

from ..errors import AgentStepperError, AgentStopped
from ..protocol.start_methods import CellStart
from ..sdk import AgentStepper, set_current_stepper
from ..sdk.frozen_values import freeze_runs, is_freezing
from ..sdk.start_methods import make_cell_start, set_next_start
from ..widgets import display_view
from .cell_mode import CellMode, choose_wait, find_core
from .cell_replay import CellReplay
from .cell_thread import CellThread
from .compiled_cell import CompiledCell, compile_cell
from .input_stepper import InputStepper
from .timeline_saver import save_timeline_at_end

#: Set by the Jupyter server in its kernels: the notebook's path.
_NOTEBOOK = "JPY_SESSION_NAME"

_NO_AWAIT = (
    "This cell uses await at its top level, which doesn't work on the kernel's main "
    "thread. Leave out --main."
)


def run_cell(
    shell: InteractiveShell,
    source: str,
    *,
    name: str,
    mode: CellMode,
    workspace: str | None,
    line: str = "",
    replay: CellReplay | None = None,
    freezes: bool = False,
) -> Any:
    """Open a run, show it, run the cell inside it, and end it.

    Args:
        shell: The shell with the cell's variables.
        source: The cell's body.
        name: The program's name; empty: the notebook's name.
        mode: The threads of the cell's run.
        workspace: The folder that the agent works on.
        line: The text after `%%step`, with which the cell can be started again.
        replay: The recording to run on; None: no recording.
        freezes: Whether the run is frozen; the replay of a frozen run always is.

    Returns:
        The value of the cell's last expression; None if the cell continues in the background.
    """
    __tracebackhide__ = True
    cell = compile_cell(shell, source)  # a cell that isn't Python opens no run
    if mode.is_on_main_thread and cell.has_top_level_await:
        raise UsageError(_NO_AWAIT)
    core = find_core(mode)
    freezes = freezes or is_freezing() or (replay is not None and replay.freezes)
    start = make_cell_start(source, line, freezes=freezes)
    with freeze_runs() if freezes else nullcontext():
        run = _open_recorded(name, workspace, start, replay)
    shell.user_ns["dbg"] = run
    try:
        with ExitStack() as ending:
            ending.enter_context(run)
            wait = choose_wait(core, run.run_id, mode)
            if not isinstance(wait, InputStepper):
                save_timeline_at_end(display_view(run.run_id), run)
            call = partial(_run_inside, run, cell, replay)
            if mode.is_on_main_thread:
                return call()
            worker = CellThread(call, partial(_end_alone, run, cell))
            value = worker.run(wait)
            if worker.is_detached:
                ending.pop_all()  # the worker ends the run, if it hasn't already
                if wait is not None and wait.detach_reason:
                    print(wait.detach_reason)
            return value
    except AgentStopped as stop:
        print(_stopped(cell, stop))
        return None


def _end_alone(
    run: AgentStepper, cell: CompiledCell, value: object, error: BaseException | None
) -> None:
    """End the run of a background cell, and show its result below the cell."""
    try:
        run.__exit__(type(error) if error else None, error, error.__traceback__ if error else None)
    finally:
        if isinstance(error, AgentStopped):
            print(_stopped(cell, error))
        elif error is not None:
            print(cell.traceback_of(error), file=sys.stderr)
        elif value is not None and not cell.is_output_silenced:
            _display(value)


def _open(name: str, workspace: str | None) -> AgentStepper:
    """Open the run; it halts at the first thing the cell does, not before the cell begins."""
    folder = None if workspace is None else str(Path(workspace).expanduser())
    try:
        return AgentStepper(name, agent_workspace_path=folder, stop_on_entry=False)
    except AgentStepperError as error:  # no Core, one that refuses, no such folder
        raise UsageError(str(error)) from None


def _open_recorded(
    name: str, workspace: str | None, start: CellStart | None, replay: CellReplay | None
) -> AgentStepper:
    """Open the run with its start method, and with its recording."""
    with ExitStack() as opening:
        opening.callback(set_next_start(start))
        if replay is not None:
            opening.enter_context(replay.open())
            name = name or replay.program
            if replay.workspace is not None:
                workspace = str(replay.workspace.path)
        return _open(name or _default_name(), workspace)


def _run_inside(run: AgentStepper, cell: CompiledCell, replay: CellReplay | None) -> Any:
    """Run the cell, in which an AgentStepper that is made without an address is this run."""
    __tracebackhide__ = True
    use_workspace = nullcontext() if replay is None else replay.use_workspace()
    with set_current_stepper(run), use_workspace:
        try:
            value = cell.run()
            if replay is not None:
                replay.check_end()
            return value
        except BaseExceptionGroup as group:
            stop = _the_stop(group)
            if stop is None:
                raise
            raise stop from None


def _the_stop(error: BaseException) -> AgentStopped | None:
    """Return the person's Stop if nothing else ended the agent: tasks group their exceptions."""
    if isinstance(error, BaseExceptionGroup):
        stops = [_the_stop(each) for each in error.exceptions]
        return stops[0] if all(stops) else None
    return error if isinstance(error, AgentStopped) else None


def _stopped(cell: CompiledCell, stop: AgentStopped) -> str:
    """Make the message under a cell whose agent was stopped, in place of a traceback."""
    line = cell.line_of(stop)
    return "Stopped by you." if line is None else f"Stopped by you at line {line} of this cell."


def _default_name() -> str:
    return Path(os.environ.get(_NOTEBOOK, "")).stem or "agent"


_display: Any = display  # IPython's has no types
