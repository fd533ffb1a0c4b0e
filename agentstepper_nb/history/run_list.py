"""Lists and searches the stored runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..protocol.run_queries import SearchHit
from ..store import open_store
from ..store.folder_lock import find_lock_holder
from ..store.search import find_hits_in_file
from ..store.sqlite.store import SEARCH_FILE
from . import data_frames
from .runs_folder import Folder, choose_run, open_folder, resolve_folder
from .thread_call import run_on_thread

if TYPE_CHECKING:
    from pandas import DataFrame

#: The name under which this process locks a folder that no Core has.
_LOCK_OWNER = "agentstepper_nb.history"


def list_runs(folder: Folder = None) -> DataFrame:
    """Return a table of all stored runs, oldest first: one row per run; the index has their ids.

    Columns: name, program, state, ending, started_at, ended_at (times in UTC), duration (seconds),
    rows, commits, input_tokens, output_tokens, cost (US dollars; estimated where the provider
    doesn't report it), tags, workspace, host, pid, exit_code, failure, last_event, forked_from (the
    id of the run that this one is a fork of), forked_at (the number of the row).

    Args:
        folder: The folder that stores the runs; None: `agentstepper/` in Jupyter's data folder.

    Raises:
        StoreError: The folder has no store, or the store can't be read.
    """
    with open_folder(resolve_folder(folder)) as reader:
        return data_frames.make_run_frame(reader.list_headers())


def search_runs(
    query: str, run: str | None = None, folder: Folder = None, limit: int = 100
) -> DataFrame:
    """Search the stored runs for words; return a table with one row per hit, newest first.

    Columns: run (its id), name (the run's), place ("row", "commit", "note", or "run": its name,
    program or tags), id (of the row or commit), text (an excerpt of the text), found (the matching
    words).

    With a running Core, events of the last second may be missing.

    Args:
        query: Words that must all occur, in any order; the last word may be the beginning of one.
            Words in double quotes must stand side by side.
        run: Search this run only: its id, its name, or the beginning of its id.
        folder: As for `list_runs`.
        limit: The most hits to return.

    Raises:
        ProtocolError: `invalid_search`: the query has no word, or a quote isn't closed.
        CommandError: `unknown_run`, or `cannot_search`: the index can't be used now.
        StoreError: The folder has no store, or the store can't be read.
    """
    path = resolve_folder(folder)
    with open_folder(path) as reader:
        headers = reader.list_headers()
    only = None if run is None else choose_run(headers, run).id
    if find_lock_holder(path) is not None:
        hits = find_hits_in_file(path / SEARCH_FILE, query, only, limit)
    else:
        hits = run_on_thread(_search(path, query, only, limit))
    return data_frames.make_search_hit_frame(hits, headers)


async def _search(folder: Path, words: str, run: str | None, limit: int) -> list[SearchHit]:
    store = open_store(folder, program=_LOCK_OWNER)
    try:
        return await store.search(words, run, limit)
    finally:
        store.close()
