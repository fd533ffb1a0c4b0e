"""Decides whether a call may be made: it is allowed, denied, or a person is asked.

Imports what `coding` may.
Begin reading in `engine`: the order of rules; `command_analyzer` analyzes shell commands.
"""

from .command_model import CommandFinding, CommandReport
from .dangerous_commands import analyze_command
from .engine import DefaultPolicyEngine, PolicyDecision, PolicyEngine, PolicyEvaluation, load_policy
from .policy_rules_file import PolicyRulesFile
from .rules import PolicyRule
from .unrecoverable_files import RecoverableFiles

__all__ = [
    "CommandFinding",
    "CommandReport",
    "DefaultPolicyEngine",
    "PolicyDecision",
    "PolicyEngine",
    "PolicyEvaluation",
    "PolicyRule",
    "PolicyRulesFile",
    "RecoverableFiles",
    "analyze_command",
    "load_policy",
]
