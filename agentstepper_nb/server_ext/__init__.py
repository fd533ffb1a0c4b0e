"""The Core inside the Jupyter server: one Hub with its sockets, REST handlers and page.

Imports `protocol`, `hub`, `store`, `discover`, `static_files`.
Begin reading in `app`: the extension that `jpserver_extensions` names; the package's installation
enables it.
"""

from __future__ import annotations

from .app import AgentStepperExtension

__all__ = ["AgentStepperExtension"]


def _jupyter_server_extension_points() -> list[dict[str, object]]:
    """Name the extension for the Jupyter server."""
    return [{"module": __name__, "app": AgentStepperExtension}]
