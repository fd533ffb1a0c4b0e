"""Decides about each tool call of the coding agent: allow, deny, or require a person's approval.

Imports what `coding` may.
Begin reading in `engine`: the order of decisions; `command_analyzer` analyzes shell commands.
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
