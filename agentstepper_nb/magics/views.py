"""`%agentstepper`: the view, or in its place `input()`."""

from __future__ import annotations

from typing import Any

from IPython.core.error import UsageError
from IPython.display import display

from ..sdk import newest_run
from ..widgets import kernel_core, show
from .keep import keep_following
from .place import How, find_core
from .prompt import Prompt

_NO_CORE = (
    "No agent of this kernel can be stepped here: `%%step --input` runs a cell that can, and "
    "`%agentstepper --kernel` prepares the kernel for agents of every kind."
)


def show_newest(*, in_kernel: bool) -> None:
    """Show the view with this kernel's newest run, or else the newest of all.

    Once that has ended it goes on to a run that begins: an agent in a process of its own, say.

    Args:
        in_kernel: Whether to have a Core in the kernel even where the server has one.
    """
    if in_kernel:
        kernel_core.start()
    else:
        find_core(How())
    keep_following(show(newest_run(), follow=True))


def show_sessions() -> None:
    """Show the agents that run on their own."""
    from ..widgets.sessions import SessionsWidget

    _display(SessionsWidget())


def step_by_input() -> None:
    """Step the agents of the Core in this kernel, as long as one is live.

    Raises:
        UsageError: There is no such Core.
    """
    core = kernel_core.running()
    if core is None:
        raise UsageError(_NO_CORE)
    if any(run.live for run in core.runs()):
        Prompt(core).wait()
    else:
        print("No agent is running.")


# IPython's has no types.
_display: Any = display
