"""`%load_ext agentstepper_nb`: the magics `%agentstepper` and `%%step`.

Imports anything.
Begin reading in `agentstepper_magics`, then in `step_magic` and `cell_mode`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Register the magics, and make LLM queries halt; other modules are imported on use."""
    from .. import instrument
    from ..instrument.announcement import set_output
    from .agentstepper_magics import AgentStepperMagics
    from .completion import complete

    instrument.enable(discovers_tools=True)
    set_output(partial(_show_line, shell))
    shell.register_magics(AgentStepperMagics)
    _typed(shell).input_transformers_cleanup.append(_fill_recorded_cell)
    _typed(shell).set_hook("complete_command", complete, str_key="%agentstepper")


def _fill_recorded_cell(lines: list[str]) -> list[str]:
    """Add a body to `%%step --fork RUN@ROW` alone in its cell: IPython requires one."""
    words = lines[0].split() if lines else []
    is_replay = words[:1] == ["%%step"] and any(
        word.partition("=")[0] in ("--fork", "--replay") for word in words
    )
    if not is_replay or any(line.strip() for line in lines[1:]):
        return lines
    return [lines[0].rstrip("\n") + "\n", "\n"]


def _show_line(shell: InteractiveShell, line: str) -> None:
    """Show a line under the running cell; not by `print`, whose output an agent may redirect."""
    _typed(shell).display_pub.publish({"text/plain": line})


def _typed(shell: InteractiveShell) -> Any:
    """Return the shell, whose hooks have no types."""
    return shell


__all__ = ["load_ipython_extension"]
