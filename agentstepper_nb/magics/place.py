"""Where the Core is that the magics use, and what the main thread does while a cell runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from IPython.core.error import UsageError

from ..discover import own_core
from ..widgets import kernel_core
from ..widgets.kernel_abilities import abilities
from ..widgets.kernel_core import ASKED_FOR, NO_SERVER, KernelCore
from .prompt import Prompt
from .watch import Watch
from .worker import Wait

_DEAF: Final = (
    "{kernel} doesn't hear the view while its main thread waits, so that nobody could step this cell. "
    "Leave out --main, or use ipykernel 7.1 or newer."
)
_NOBODY: Final = (
    "There is no view here, and the main thread is needed to ask what to do. Leave out --main."
)


@dataclass(frozen=True)
class How:
    """How a cell is to be run.

    Args:
        on_main: On the main thread.
        background: On a thread of its own; the main thread goes on at once.
        by_input: On a thread of its own, while the main thread asks by `input()` what to do.
    """

    on_main: bool = False
    background: bool = False
    by_input: bool = False


class Leave:
    """Doesn't wait."""

    notice = ""

    def wait(self) -> None:
        """Let the cell go on alone at once."""

    def ended(self) -> None:
        """Nobody waits for this."""


def find_core(how: How) -> KernelCore | None:
    """The Core in this process, started where it is needed; None where the server's serves.

    Raises:
        UsageError: The cell can't be stepped with that Core as it is to be run.
    """
    can = abilities()
    core = kernel_core.running()
    if core is None and not how.by_input and own_core() is not None:
        return None
    if how.on_main and can is None:
        raise UsageError(_NOBODY)
    if how.on_main and can is not None and not can.subshells:
        raise UsageError(_DEAF.format(kernel=can.name))
    return core or kernel_core.start(ASKED_FOR if how.by_input else NO_SERVER)


def wait_for(core: KernelCore | None, run: str, how: How) -> Wait | None:
    """What the main thread does during a run; None where it simply waits.

    Args:
        core: The Core in this process, where that serves.
        run: The run's id.
        how: What was asked for.
    """
    if how.background:
        return Leave()
    if core is None or how.on_main:
        return None
    can = abilities()
    if how.by_input or can is None:
        return Prompt(core, run)
    return Watch(core, run, can)
