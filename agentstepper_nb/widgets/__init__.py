"""The view in a notebook."""

from __future__ import annotations

from .debugger import DebuggerWidget, Shown, show

__all__ = ["DebuggerWidget", "Shown", "show"]
