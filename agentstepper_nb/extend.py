"""To extend the debugger by commands, event types and summaries; `docs/extending.md` shows each."""

from .core import Summarizer
from .hub import Hub
from .hub.extensions import Extension
from .protocol.values import Actor, AgentState, Breakpoint, EventKind, Side

__all__ = [
    "Actor",
    "AgentState",
    "Breakpoint",
    "EventKind",
    "Extension",
    "Hub",
    "Side",
    "Summarizer",
]
