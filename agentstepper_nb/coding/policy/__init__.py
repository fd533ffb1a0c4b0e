"""Whether a call may be carried out: allowed, denied, or a person is asked."""

from .base import Judgement, PolicyDecision, PolicyEngine
from .engine import DefaultPolicyEngine
from .named import chosen_policy
from .rulebook import RuleBook
from .rules import Rule
from .shell import judge_command
from .verdict import Finding, Kind, Verdict

__all__ = [
    "DefaultPolicyEngine",
    "Finding",
    "Judgement",
    "Kind",
    "PolicyDecision",
    "PolicyEngine",
    "Rule",
    "RuleBook",
    "Verdict",
    "chosen_policy",
    "judge_command",
]
