"""All runs that are kept, and where words stand in them."""

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

#: What this process is while it holds a folder that nobody else has.
_LOCK_OWNER = "agentstepper_nb.history"


def list_runs(folder: Folder = None) -> DataFrame:
    """All runs that are kept, oldest first: a row a run, the index are their ids.

    Columns: name, program, state, ending, started_at, ended_at (moments in UTC), duration (seconds),
    rows, commits, input_tokens, output_tokens, cost (US dollars, estimated where nobody told it), tags,
    workspace, host, pid, exit_code, failure, last_event, forked_from (the id of the run that it was
    started again from), forked_at (the number of the row).

    Args:
        folder: Where runs are kept; `agentstepper/` in Jupyter's data folder where none is given.

    Raises:
        StoreError: The folder has no store, or it can't be read.
    """
    with open_folder(resolve_folder(folder)) as reader:
        return data_frames.make_run_frame(reader.list_headers())


def search_runs(
    query: str, run: str | None = None, folder: Folder = None, limit: int = 100
) -> DataFrame:
    """Where words stand in the runs that are kept, newest first: a row a place.

    Columns: run (its id), name (the run's), place ("row", "commit", "note", or "run": its name, program
    or tags), id (the row's or commit's), text (a piece of what stands there), found (the words in it).

    Beside a running Core what came within the last second may be missing.

    Args:
        query: Words, all of which have to be there, in any order; the last may be a beginning.
            `"in quotes"` they stand side by side.
        run: Look in this run alone: its id, its name, or how its id begins.
        folder: As for `runs`.
        limit: The most that is given.

    Raises:
        ProtocolError: `invalid_search`: no word in it, or a quote that isn't closed.
        CommandError: `unknown_run`, or `cannot_search`: the index can't be used now.
        StoreError: The folder has no store, or it can't be read.
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
