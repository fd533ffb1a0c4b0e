"""Where the Core is that the magics use, and what the main thread does while a cell runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from IPython.core.error import UsageError

from ..discover import find_own_core
from ..widgets import kernel_core
from ..widgets.kernel_capabilities import find_capabilities
from ..widgets.kernel_core import ASKED_FOR, NO_SERVER, KernelCore
from .cell_thread import CellWait
from .input_stepper import InputStepper
from .view_wait import ViewWait

_DEAF: Final = (
    "{kernel} doesn't hear the view while its main thread waits, so that nobody could step this cell. "
    "Leave out --main, or use ipykernel 7.1 or newer."
)
_NOBODY: Final = (
    "There is no view here, and the main thread is needed to ask what to do. Leave out --main."
)


@dataclass(frozen=True)
class CellMode:
    """How a cell is to be run.

    Args:
        on_main: On the main thread.
        background: On a thread of its own; the main thread goes on at once.
        by_input: On a thread of its own, while the main thread asks by `input()` what to do.
    """

    on_main: bool = False
    background: bool = False
    by_input: bool = False


class NoWait:
    """Doesn't wait."""

    notice = ""

    def wait(self) -> None:
        """Let the cell go on alone at once."""

    def ended(self) -> None:
        """Nobody waits for this."""


def find_core(how: CellMode) -> KernelCore | None:
    """The Core in this process, started where it is needed; None where the server's serves.

    Raises:
        UsageError: The cell can't be stepped with that Core as it is to be run.
    """
    can = find_capabilities()
    core = kernel_core.get_kernel_core()
    if core is None and not how.by_input and find_own_core() is not None:
        return None
    if how.on_main and can is None:
        raise UsageError(_NOBODY)
    if how.on_main and can is not None and not can.subshells:
        raise UsageError(_DEAF.format(kernel=can.name))
    return core or kernel_core.start_kernel_core(ASKED_FOR if how.by_input else NO_SERVER)


def choose_wait(core: KernelCore | None, run: str, how: CellMode) -> CellWait | None:
    """What the main thread does during a run; None where it simply waits.

    Args:
        core: The Core in this process, where that serves.
        run: The run's id.
        how: What was asked for.
    """
    if how.background:
        return NoWait()
    if core is None or how.on_main:
        return None
    can = find_capabilities()
    if how.by_input or can is None:
        return InputStepper(core, run)
    return ViewWait(core, run, can)
