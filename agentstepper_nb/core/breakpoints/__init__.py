"""Rules for where a run halts by itself, shared by the agent's SDK, the Core, and dry runs.

Imports what `core` may.
Begin reading in `engine`: one engine a run; `watches` and `conditions` are the parts of a
breakpoint.
"""

from ..effects import EffectChecks, load_effect_checks
from .edit_rule_code import make_rule_code
from .edit_rules import (
    EditRuleEngine,
    RulePoint,
    RuleResult,
    can_be_edited,
    check_edit_rule,
    dry_run_edit_rule,
    make_rule_point,
)
from .engine import (
    BreakpointEngine,
    BreakpointResult,
    check_breakpoint,
    dry_run,
    evaluate_history,
    list_changed_paths,
    observe_halt_point,
)
from .step_targets import StepPoint, advance_step, end_step_scope, make_step_target
from .watches import ObservedPoint

__all__ = [
    "BreakpointEngine",
    "BreakpointResult",
    "EditRuleEngine",
    "EffectChecks",
    "ObservedPoint",
    "RulePoint",
    "RuleResult",
    "StepPoint",
    "advance_step",
    "can_be_edited",
    "check_breakpoint",
    "check_edit_rule",
    "dry_run",
    "dry_run_edit_rule",
    "end_step_scope",
    "evaluate_history",
    "list_changed_paths",
    "load_effect_checks",
    "make_rule_code",
    "make_rule_point",
    "make_step_target",
    "observe_halt_point",
]
