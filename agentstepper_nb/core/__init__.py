"""The rules of the debugger, sans I/O: no clock, no socket, no thread."""

from .commands import Commands
from .debugger import Debugger
from .rows import EventType, Vocabulary, debug_row, row
from .summaries import Summarizer
from .transitions import Leased, Output, Reply, Saved, Verdict, needs_durable

__all__ = [
    "Commands",
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
    "needs_durable",
    "row",
]
