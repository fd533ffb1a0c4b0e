"""Where a run halts by itself: the same rules in the agent's SDK, in the Core, and on recorded runs.

Imports what `core` may.
Begin reading in `engine`: one engine a run; `watches` and `conditions` are the parts of a
breakpoint.
"""

from .engine import (
    BreakpointEngine,
    RuleVerdict,
    check_rule,
    dry_run,
    list_changed_paths,
    make_point,
    replay_run,
)
from .watches import ObservedPoint

__all__ = [
    "BreakpointEngine",
    "ObservedPoint",
    "RuleVerdict",
    "check_rule",
    "dry_run",
    "list_changed_paths",
    "make_point",
    "replay_run",
]
