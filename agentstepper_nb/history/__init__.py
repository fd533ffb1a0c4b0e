"""Runs that are kept, in Python: as tables of pandas, beside a running Core or without one."""

from .finding import runs, search
from .importing import import_run
from .stored import StoredRun, run

__all__ = ["StoredRun", "import_run", "run", "runs", "search"]
