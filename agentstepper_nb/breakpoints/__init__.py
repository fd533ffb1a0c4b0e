"""Breakpoints and the prices of models, set from Python."""

from .breakpoint import Breakpoint, Breakpoints, add_breakpoint, list_breakpoints
from .dry_runs import DryRunResults, dry_run
from .prices import delete_price, list_prices, set_price

__all__ = [
    "Breakpoint",
    "Breakpoints",
    "DryRunResults",
    "add_breakpoint",
    "delete_price",
    "dry_run",
    "list_breakpoints",
    "list_prices",
    "set_price",
]
