"""The view in a notebook."""

from __future__ import annotations

from .debugger import DebuggerWidget, show

__all__ = ["DebuggerWidget", "show"]
