"""`import agentstepper_nb.auto`: a program's LLM queries halt, without another line of it changed.

The run begins with the first query and ends with the program. A run that the program opens itself, by
an AgentStepper, takes its place. Where no Core is found, one warning says so, and the program goes on.
"""

from __future__ import annotations

from . import instrument
from .instrument import auto_run


def enable(*, discovers_tools: bool = False) -> None:
    """Let the LLM queries of this process halt, and open a run where one is asked outside of any.

    Args:
        discovers_tools: As for `instrument.enable`.
    """
    auto_run.set_enabled(True)
    instrument.enable(discovers_tools=discovers_tools)


def disable() -> None:
    """Take back what `enable` did, and end the run that was opened for the program."""
    instrument.disable()
    auto_run.set_enabled(False)


enable()
