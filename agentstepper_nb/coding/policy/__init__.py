"""Decides whether a call may be made: it is allowed, denied, or a person is asked.

Imports what `coding` may.
Begin reading in `engine`: the order of rules; `command_judge` judges shell commands.
"""

from .command_parts import CommandFinding, CommandReport
from .danger_list import judge_command
from .engine import DefaultPolicyEngine, Judgement, PolicyDecision, PolicyEngine, load_policy
from .rule_book import RuleBook
from .rules import PolicyRule
from .unsaved_files import SavedFiles

__all__ = [
    "CommandFinding",
    "CommandReport",
    "DefaultPolicyEngine",
    "Judgement",
    "PolicyDecision",
    "PolicyEngine",
    "PolicyRule",
    "RuleBook",
    "SavedFiles",
    "judge_command",
    "load_policy",
]
