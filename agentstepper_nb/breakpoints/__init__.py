"""Breakpoints, edit rules and the prices of models, set and listed from Python.

Imports `protocol`, `core.breakpoints`, `discover`; on use `sdk.handshake`.
Begin reading in `breakpoint`: the class and the functions; `breakpoint_syntax` reads and writes its
words.
"""

from .breakpoint import Breakpoint, Breakpoints, add_breakpoint, list_breakpoints
from .dry_runs import DryRunResults, dry_run
from .edit_rule import EditRule, EditRules, add_edit_rule, list_edit_rules
from .prices import delete_price, list_prices, set_price

__all__ = [
    "Breakpoint",
    "Breakpoints",
    "DryRunResults",
    "EditRule",
    "EditRules",
    "add_breakpoint",
    "add_edit_rule",
    "delete_price",
    "dry_run",
    "list_breakpoints",
    "list_edit_rules",
    "list_prices",
    "set_price",
]
