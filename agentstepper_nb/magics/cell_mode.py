"""Finds the magics' Core, and chooses what the main thread does while a cell runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from IPython.core.error import UsageError

from ..discover import find_own_core
from ..widgets import kernel_core
from ..widgets.kernel_capabilities import find_capabilities
from ..widgets.kernel_core import REASON_NO_SERVER, REASON_REQUESTED, KernelCore
from .cell_thread import CellWait
from .input_stepper import InputStepper
from .view_wait import ViewWait

_NO_VIEW_ON_MAIN: Final = (
    "{kernel} can't receive messages of the view while its main thread waits, so this "
    "cell couldn't be stepped. Leave out --main, or use ipykernel 7.1 or newer."
)
_NO_FRONT_END: Final = (
    "This front end has no view, and input() needs the main thread. Leave out --main."
)


@dataclass(frozen=True)
class CellMode:
    """The threads of a cell's run. By default, the cell runs on a thread of its own.

    Args:
        is_on_main_thread: Whether the cell runs on the main thread.
        is_background: Whether the main thread continues at once.
        is_stepped_by_input: Whether the main thread steps the cell by `input()`.
    """

    is_on_main_thread: bool = False
    is_background: bool = False
    is_stepped_by_input: bool = False


class NoWait:
    """Doesn't wait."""

    detach_reason = ""

    def wait(self) -> None:
        """Return at once, so that the cell continues in the background."""

    def notify_ended(self) -> None:
        """Do nothing: the main thread doesn't wait."""


def find_core(mode: CellMode) -> KernelCore | None:
    """Find the Core in this process, and start one if needed; None if the server's Core is used.

    Raises:
        UsageError: The cell can't be stepped with that Core in the requested mode.
    """
    capabilities = find_capabilities()
    core = kernel_core.get_kernel_core()
    if core is None and not mode.is_stepped_by_input and find_own_core() is not None:
        return None
    if mode.is_on_main_thread and capabilities is None:
        raise UsageError(_NO_FRONT_END)
    if mode.is_on_main_thread and capabilities is not None and not capabilities.subshells:
        raise UsageError(_NO_VIEW_ON_MAIN.format(kernel=capabilities.name))
    return core or kernel_core.start_kernel_core(
        REASON_REQUESTED if mode.is_stepped_by_input else REASON_NO_SERVER
    )


def choose_wait(core: KernelCore | None, run: str, mode: CellMode) -> CellWait | None:
    """Choose what the main thread does during a run; None: it only waits.

    Args:
        core: The Core in this process, if it serves the run.
        run: The run's id.
        mode: The requested mode.
    """
    if mode.is_background:
        return NoWait()
    if core is None or mode.is_on_main_thread:
        return None
    capabilities = find_capabilities()
    if mode.is_stepped_by_input or capabilities is None:
        return InputStepper(core, run)
    return ViewWait(core, run, capabilities)
