"""The rules of the debugger, sans I/O: no clock, no socket, no thread."""

from .commands import DebuggerCommands
from .debugger import Debugger
from .summaries import Summarizer
from .timeline_rows import EventTypeInfo, EventTypeRegistry, make_debug_row, make_row
from .transitions import (
    AnswerDecision,
    AnswerOutput,
    LeaseGranted,
    Output,
    RecordOutput,
    needs_durability,
)

__all__ = [
    "AnswerDecision",
    "AnswerOutput",
    "Debugger",
    "DebuggerCommands",
    "EventTypeInfo",
    "EventTypeRegistry",
    "LeaseGranted",
    "Output",
    "RecordOutput",
    "Summarizer",
    "make_debug_row",
    "make_row",
    "needs_durability",
]
