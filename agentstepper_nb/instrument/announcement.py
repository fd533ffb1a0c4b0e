"""The line that names where a run halts: in the run's timeline, and where the program's user reads.

The line comes with the first call that passes a seam, when the program has imported its LLM client;
seams and tools that are found later are announced later.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..sdk.base_stepper import BaseStepper

log = logging.getLogger("agentstepper_nb.instrument")

WriteNotice = Callable[[str], None]


class _Announcer:
    def __init__(self) -> None:
        self.write_notice: WriteNotice | None = None
        self.has_announced = False


_announcer = _Announcer()


def set_output(write_notice: WriteNotice | None) -> None:
    """Set the output of the line for a person.

    Args:
        write_notice: Shows the line; None: no person reads it.
    """
    _announcer.write_notice = write_notice


def has_announced() -> bool:
    """Whether any call of this process has passed a seam, inside a run."""
    return _announcer.has_announced


def announce(stepper: BaseStepper, discovered: Sequence[str] = ()) -> str:
    """Show the program's user the new part of the line that names where a run halts.

    Args:
        stepper: The stepper of the run.
        discovered: The names of functions that were discovered now.

    Returns:
        The new text, for the run's timeline; "" where nothing is new.
    """
    line = stepper._current_session().events.seams.pop_announcement(discovered)
    if line:
        _announcer.has_announced = True
        _write_notice(line)
    return line


def _write_notice(line: str) -> None:
    if _announcer.write_notice is None:
        return
    try:
        _announcer.write_notice(line)
    except Exception:  # a closed terminal: the agent's call mustn't fail by it
        log.warning("Where this run halts can't be shown: %s", line, exc_info=True)
