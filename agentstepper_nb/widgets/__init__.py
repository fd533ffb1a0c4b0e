"""The view in a notebook."""

from __future__ import annotations

from .debugger import DebuggerWidget
from .shown import VIEW_MIME, Shown, show

__all__ = ["VIEW_MIME", "DebuggerWidget", "Shown", "show"]
