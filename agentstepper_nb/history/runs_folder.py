"""The folder that stores the runs, opened for reading."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

from ..discover import data_dir, list_announced_cores, list_process_cores
from ..errors import CommandError, StoreError
from ..protocol.data_model import Run
from ..protocol.text_escaping import escape_to_one_line
from ..store.sqlite.database import STORE_FILE
from ..store.sqlite.reader import StoreReader

Folder = str | PathLike[str] | None


def resolve_folder(folder: Folder) -> Path:
    """Return the given folder, or `data_dir()` if none is given."""
    return data_dir() if folder is None else Path(folder).expanduser()


def find_folder_of_core(url: str) -> str | None:
    """Find the data folder of a Core that this user's programs can discover; None if unknown.

    Args:
        url: The Core's address for agents.
    """
    for each in (*list_process_cores(), *list_announced_cores()):
        if each.url == url and each.data_dir and (Path(each.data_dir) / STORE_FILE).exists():
            return each.data_dir
    return None


@contextmanager
def open_folder(folder: Path) -> Iterator[StoreReader]:
    """Read a folder's store, while a Core writes it or not.

    Raises:
        StoreError: The folder has no store, or the store can't be read.
    """
    path = folder / STORE_FILE
    if not path.exists():
        raise StoreError(
            f"The folder {folder} has no runs: there is no {STORE_FILE}. Name the data "
            "folder of `agentstepper serve --data` or of the Jupyter server."
        )
    reader = StoreReader(path)
    try:
        yield reader
    finally:
        reader.close()


def choose_run(runs: Sequence[Run], id_or_name: str) -> Run:
    """Find the run that a person names.

    Args:
        runs: All runs, oldest first.
        id_or_name: An id, a name or a program's name (of several runs the newest), or the beginning of
            exactly one id.

    Raises:
        CommandError: `unknown_run`: there is none, or several ids begin so.
    """
    for matches in (
        [run for run in runs if run.id == id_or_name],
        [run for run in runs if run.name == id_or_name],
        [run for run in runs if run.program == id_or_name],
    ):
        if matches:
            return matches[-1]
    prefixed = [run for run in runs if id_or_name and run.id.startswith(id_or_name)]
    if len(prefixed) == 1:
        return prefixed[0]
    if prefixed:
        listed = escape_to_one_line(", ".join(f"{run.id} ({run.name})" for run in prefixed[:5]))
        raise CommandError(
            "unknown_run",
            f"Several runs have ids that begin with {id_or_name}: {listed}. Give more of the id.",
        )
    names = escape_to_one_line(", ".join(dict.fromkeys(run.name for run in reversed(runs[-5:]))))
    newest = f" The newest runs are: {names}." if names else " The store has no runs."
    raise CommandError("unknown_run", f"No run has the id or name {id_or_name!r}.{newest}")
