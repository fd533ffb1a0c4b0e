"""Where a run halts by itself: the same rules in the agent's SDK, in the Core, and on recorded runs."""

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
