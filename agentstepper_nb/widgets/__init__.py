"""The view in a notebook."""

from __future__ import annotations

from .debugger_widget import DebuggerWidget
from .displayed_view import VIEW_MIME, DisplayedView, display_view

__all__ = ["VIEW_MIME", "DebuggerWidget", "DisplayedView", "display_view"]
