"""Whether a call may be carried out: allowed, denied, or a person is asked."""

from .base import Judgement, PolicyDecision, PolicyEngine, chosen_policy
from .dangers import judge_command
from .engine import DefaultPolicyEngine
from .report import CommandReport, Finding
from .rulebook import RuleBook
from .rules import Rule
from .unsaved import Saved

__all__ = [
    "CommandReport",
    "DefaultPolicyEngine",
    "Finding",
    "Judgement",
    "PolicyDecision",
    "PolicyEngine",
    "Rule",
    "RuleBook",
    "Saved",
    "chosen_policy",
    "judge_command",
]
