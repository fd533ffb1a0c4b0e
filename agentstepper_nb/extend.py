"""To extend the debugger by commands, event types and summaries; `docs/extending.md` shows each."""

from .core import Summarizer
from .hub import Hub
from .hub.extensions import Extension
from .protocol.data_model import Actor, AgentActivity, EventKind, EventSide, HaltPoint

__all__ = [
    "Actor",
    "AgentActivity",
    "EventKind",
    "EventSide",
    "Extension",
    "HaltPoint",
    "Hub",
    "Summarizer",
]
