"""`import agentstepper_nb.auto`: makes a program's LLM queries halt, without another changed line.

The run begins with the first query and ends with the program. A run that the program opens itself, by
an AgentStepper, replaces it. If no Core is found, one warning says so, and the program continues.
"""

from __future__ import annotations

from . import instrument
from .instrument import auto_run


def enable(*, discovers_tools: bool = False) -> None:
    """Make the LLM queries of this process halt, and open a run for queries outside of any run.

    Args:
        discovers_tools: As for `instrument.enable`.
    """
    auto_run.set_enabled(True)
    instrument.enable(discovers_tools=discovers_tools)


def disable() -> None:
    """Undo `enable`, and end the run that was opened for the program."""
    instrument.disable()
    auto_run.set_enabled(False)


enable()
