"""To extend the debugger by commands, event types and summaries; `docs/extending.md` shows each."""

from .core import Summarizer
from .core.effects import EffectCheck, EffectInput
from .hub import Hub
from .hub.extensions import Extension
from .protocol.data_model import Actor, AgentActivity, EventKind, EventSide, HaltPoint
from .protocol.effects import EffectMark, MarkSeverity

__all__ = [
    "Actor",
    "AgentActivity",
    "EffectCheck",
    "EffectInput",
    "EffectMark",
    "EventKind",
    "EventSide",
    "Extension",
    "HaltPoint",
    "Hub",
    "MarkSeverity",
    "Summarizer",
]
