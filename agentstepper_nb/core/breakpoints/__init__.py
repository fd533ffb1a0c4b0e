"""Where a run halts by itself: the same rules in the agent's SDK, in the Core, and on recorded runs.

Imports what `core` may.
Begin reading in `engine`: one engine a run; `watches` and `conditions` are the parts of a
breakpoint.
"""

from .engine import (
    BreakpointEngine,
    BreakpointResult,
    check_breakpoint,
    dry_run,
    evaluate_history,
    list_changed_paths,
    observe_halt_point,
)
from .watches import ObservedPoint

__all__ = [
    "BreakpointEngine",
    "BreakpointResult",
    "ObservedPoint",
    "check_breakpoint",
    "dry_run",
    "evaluate_history",
    "list_changed_paths",
    "observe_halt_point",
]
