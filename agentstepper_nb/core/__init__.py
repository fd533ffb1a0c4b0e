"""The rules of the debugger, without I/O: a fold over records that gives answers, leases and records.

Imports `protocol`.
Begin reading in `debugger`, then in `transitions` and `run_state`.
"""

from .commands import DebuggerCommands
from .debugger import Debugger
from .outputs import AnswerDecision, AnswerOutput, LeaseGranted, Output, RecordOutput
from .summaries import Summarizer
from .timeline_rows import EventTypeInfo, EventTypeRegistry, make_debug_row, make_row
from .transitions import needs_durability

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
