"""The view in a notebook."""

from __future__ import annotations

from .debugger import VIEW_MIME, DebuggerWidget, Shown, show

__all__ = ["VIEW_MIME", "DebuggerWidget", "Shown", "show"]
