"""Whether a call may be carried out: allowed, denied, or a person is asked."""

from .base import Judgement, PolicyDecision, PolicyEngine
from .engine import DefaultPolicyEngine
from .named import chosen_policy
from .report import CommandReport, Finding
from .rulebook import RuleBook
from .rules import Rule
from .shell import judge_command
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
