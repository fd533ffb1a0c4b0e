"""The views in a notebook, and a Core inside the kernel.

Imports `protocol`, `discover`, `static_files`, `hub`, `rpc`, `runtime.client`, `chat`.
Begin reading in `debugger_widget`, then in `kernel_core` and `core_relay`.
"""

from __future__ import annotations

from .debugger_widget import DebuggerWidget
from .displayed_view import VIEW_MIME, DisplayedView, display_view

__all__ = ["VIEW_MIME", "DebuggerWidget", "DisplayedView", "display_view"]
