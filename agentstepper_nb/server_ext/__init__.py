"""The Core inside the Jupyter server: one Hub, its sockets, its REST face, its page.

The Jupyter server loads this when `jpserver_extensions` names it; the package's installation does.
"""

from __future__ import annotations

from .app import AgentStepperExtension

__all__ = ["AgentStepperExtension"]


def _jupyter_server_extension_points() -> list[dict[str, object]]:
    """Tell the Jupyter server what to load."""
    return [{"module": __name__, "app": AgentStepperExtension}]
