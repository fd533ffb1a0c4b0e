"""The rules of the debugger, sans I/O: no clock, no socket, no thread."""

from .debugger import Debugger
from .moves import Output, Reply, Saved
from .rows import debug_row, row

__all__ = ["Debugger", "Output", "Reply", "Saved", "debug_row", "row"]
