"""The rules of the debugger, sans I/O: no clock, no socket, no thread."""

from .debugger import Debugger
from .moves import Leased, Output, Reply, Saved, Verdict
from .rows import debug_row, row
from .vocabulary import EventType, Summarizer, Vocabulary

__all__ = [
    "Debugger",
    "EventType",
    "Leased",
    "Output",
    "Reply",
    "Saved",
    "Summarizer",
    "Verdict",
    "Vocabulary",
    "debug_row",
    "row",
]
