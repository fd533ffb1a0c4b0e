"""`%load_ext agentstepper_nb`: `%agentstepper` and `%%step`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Register the magics; what they need is imported when they are used."""
    from .commands import AgentStepperMagics

    shell.register_magics(AgentStepperMagics)


__all__ = ["load_ipython_extension"]
