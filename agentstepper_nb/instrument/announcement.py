"""The line that says where a run halts: in its timeline, and wherever its program's person reads.

It is said with the first call that passes a seam, when the program has imported what it asks models by;
what is found later is said then.
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
    """Say where a person reads the line.

    Args:
        write_notice: Shows the line; None where nobody reads.
    """
    _announcer.write_notice = write_notice


def has_announced() -> bool:
    """Whether any call of this process has passed a seam, inside a run."""
    return _announcer.has_announced


def announce(stepper: BaseStepper, discovered: Sequence[str] = ()) -> str:
    """Say to the program's person what they weren't told yet of where a run halts.

    Args:
        stepper: The run's.
        discovered: The names of functions that were discovered now.

    Returns:
        What was said, for the run's timeline; "" where there is nothing new.
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
