"""Stored runs in Python, as pandas tables; with a running Core or without one.

Imports `protocol`, `core`, `store`, `discover`, `sdk.handshake`.
Begin reading in `run_list`, then in `stored_run`: one run.
"""

from .run_import import import_run
from .run_list import list_runs, search_runs
from .stored_run import StoredRun, load_run

__all__ = ["StoredRun", "import_run", "list_runs", "load_run", "search_runs"]
