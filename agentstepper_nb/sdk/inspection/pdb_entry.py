"""Entering pdb in the agent's own code, where a notebook's kernel can ask for a person's input."""

from __future__ import annotations

import builtins
import ctypes
import sys
import threading
from types import FrameType
from typing import Any, Final

from ..agent_frames import find_own_frame

NO_KERNEL: Final = (
    "This agent runs in a process of its own, which has no notebook to ask in. Evaluate expressions "
    "here, or run the agent in a notebook's cell."
)
NO_INPUT: Final = (
    "The cell of this agent has ended or runs in the background, so that its kernel can't ask for "
    "input. Evaluate expressions here, or run the cell without --background."
)
NO_STDIN: Final = "This notebook's front end doesn't support input. Evaluate expressions here."
NO_OWN_CODE: Final = (
    "Only library code is on the stack of this thread, so that pdb has no line to stop at. Evaluate "
    "expressions here."
)

#: The place of pdb's prompt, as a person is told.
PLACE: Final = "Type in the field below the cell; `c` continues."


def find_pdb_refusal(frames: list[FrameType]) -> str | None:
    """The reason why pdb can't start on a thread of this process; None: pdb can start.

    Args:
        frames: The thread's frames, innermost first.
    """
    kernel = getattr(_find_shell(), "kernel", None)
    if kernel is None:
        return NO_KERNEL
    # A kernel takes input while it runs a cell: then `input` is its own.
    if getattr(builtins.input, "__self__", None) is not kernel:
        return NO_INPUT
    if not getattr(kernel, "_allow_stdin", False):
        return NO_STDIN
    return None if any(map(find_own_frame, frames)) else NO_OWN_CODE


def enter_pdb() -> None:
    """Let pdb stop this thread at the next line of the agent's own code."""
    frame = find_own_frame(sys._getframe(1))
    shell = _find_shell()
    if frame is None or shell is None:
        return
    debugger: Any = shell.debugger_cls()
    debugger.nosigint = True  # an interrupt is the kernel's
    _take_pending_interrupts()
    # As `set_trace`, which would stop at the first line that runs: this package's.
    debugger.reset()
    caller: FrameType | None = frame
    while caller is not None:
        caller.f_trace = debugger.trace_dispatch
        debugger.botframe = caller
        caller = caller.f_back
    debugger.set_next(frame)
    sys.settrace(debugger.trace_dispatch)


class _NoInterrupt(Exception):
    """Raised and caught at once."""


def _take_pending_interrupts() -> None:
    """Clear a pending exception that another thread set, for Python 3.11.

    If a thread never took such an exception, as one that sleeps in C, the interpreter checks for the
    exception before each function that it traces, for ever: the traced thread would hang.
    """
    ident, error = ctypes.c_ulong(threading.get_ident()), ctypes.py_object(_NoInterrupt)
    try:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, error)
        for _ in range(1000):  # it is raised at one of these
            pass
    except _NoInterrupt:
        pass


def _find_shell() -> Any:
    """IPython's shell in this process; None where there is none."""
    module: Any = sys.modules.get("IPython")
    return None if module is None else module.get_ipython()
