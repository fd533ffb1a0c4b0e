"""The folder that keeps the runs, opened to read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

from ..discover import data_dir
from ..errors import CommandError, StoreError
from ..protocol.values import Run
from ..protocol.visible_text import escape_to_one_line
from ..store.sqlite.database import STORE_FILE
from ..store.sqlite.reader import StoreReader

Folder = str | PathLike[str] | None


def resolve_folder(given: Folder) -> Path:
    """The folder that is meant; `data_dir()` where none is given."""
    return data_dir() if given is None else Path(given).expanduser()


@contextmanager
def open_folder(folder: Path) -> Iterator[StoreReader]:
    """Read a folder's store, beside a Core that writes it or without one.

    Raises:
        StoreError: There is none, or it can't be read.
    """
    path = folder / STORE_FILE
    if not path.exists():
        raise StoreError(
            f"No runs are kept in {folder}: there is no {STORE_FILE}. Name the folder that "
            "`agentstepper serve --data` or the Jupyter server has."
        )
    reader = StoreReader(path)
    try:
        yield reader
    finally:
        reader.close()


def choose_run(runs: Sequence[Run], wanted: str) -> Run:
    """The run that is meant.

    Args:
        runs: All runs, oldest first.
        wanted: An id, a name (the newest of that name), or how one id alone begins.

    Raises:
        CommandError: `unknown_run`: there is none, or several ids begin so.
    """
    for meant in (
        [run for run in runs if run.id == wanted],
        [run for run in runs if run.name == wanted],
    ):
        if meant:
            return meant[-1]
    begun = [run for run in runs if wanted and run.id.startswith(wanted)]
    if len(begun) == 1:
        return begun[0]
    if begun:
        listed = escape_to_one_line(", ".join(f"{run.id} ({run.name})" for run in begun[:5]))
        raise CommandError("unknown_run", f"Several runs' ids begin with {wanted}: {listed}.")
    names = escape_to_one_line(", ".join(dict.fromkeys(run.name for run in reversed(runs[-5:]))))
    newest = f" The newest are: {names}." if names else " There is none at all."
    raise CommandError("unknown_run", f"No run has the id or name {wanted!r}.{newest}")
