"""Runs that are kept, in Python: as tables of pandas, beside a running Core or without one."""

from .run_import import import_run
from .run_list import list_runs, search_runs
from .stored_run import StoredRun, load_run

__all__ = ["StoredRun", "import_run", "list_runs", "load_run", "search_runs"]
