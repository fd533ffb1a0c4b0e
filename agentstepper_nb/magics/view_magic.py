"""`%agentstepper`: the view, or in its place `input()`."""

from __future__ import annotations

from typing import Any

from IPython.core.error import UsageError
from IPython.display import display

from ..sdk import find_newest_run
from ..widgets import display_view, kernel_core
from .cell_mode import CellMode, find_core
from .input_stepper import InputStepper
from .timeline_saver import save_newest_timeline_at_end

_NO_CORE = (
    "This kernel has no Core, so no agent can be stepped here. Run a cell with `%%step "
    "--input`, or start a Core with `%agentstepper --kernel`."
)


def show_newest_run(*, in_kernel: bool) -> None:
    """Show the view with this kernel's newest run, or else the newest of all.

    After that run's end, the view shows the next run that begins, for example of another process.

    Args:
        in_kernel: Whether to start a Core in the kernel even if the server has one.
    """
    if in_kernel:
        kernel_core.start_kernel_core()
    else:
        find_core(CellMode())
    save_newest_timeline_at_end(display_view(find_newest_run(), follow=True))


def show_sessions() -> None:
    """Show the background agents."""
    from ..widgets.sessions_widget import SessionsWidget

    _display(SessionsWidget())


def show_fleet() -> None:
    """Show all agents of the Core at once."""
    from ..widgets.fleet_widget import FleetWidget

    _display(FleetWidget())


def step_by_input() -> None:
    """Step the agents of the Core in this kernel, as long as one is live.

    Raises:
        UsageError: There is no such Core.
    """
    core = kernel_core.get_kernel_core()
    if core is None:
        raise UsageError(_NO_CORE)
    if any(run.live for run in core.runs()):
        InputStepper(core).wait()
    else:
        print("No agent is running.")


# IPython's has no types.
_display: Any = display
