"""Whether a call may be carried out: allowed, denied, or a person is asked."""

from .command_words import CommandReport, Finding
from .dangers import judge_command
from .engine import DefaultPolicyEngine, Judgement, PolicyDecision, PolicyEngine, chosen_policy
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
