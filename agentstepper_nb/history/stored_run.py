"""`StoredRun`: reads one stored run."""

from __future__ import annotations

import json
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import CommandError
from ..protocol.data_model import Event, EventKind, HaltPoint, Run
from ..protocol.records import RunHistory, drop_unchanged_commits
from ..protocol.start_methods import ForkOrigin, StartMethod
from ..store.sqlite.reader import StoreReader
from . import data_frames, run_files
from .runs_folder import Folder, choose_run, open_folder, resolve_folder

if TYPE_CHECKING:
    from pandas import DataFrame

T = TypeVar("T")


def load_run(id_or_name: str, folder: Folder = None) -> StoredRun:
    """Load one stored run.

    Args:
        id_or_name: The run's id or the unique beginning of an id; or the run's name or its
            program's name (of several runs the newest).
        folder: The folder that stores the runs; None: `agentstepper/` in Jupyter's data folder.

    Raises:
        CommandError: `unknown_run`: no run has this id or name, or several ids begin so.
        StoreError: The folder has no store, or the store can't be read.
    """
    path = resolve_folder(folder)
    with open_folder(path) as reader:
        return StoredRun(choose_run(reader.list_headers(), id_or_name).id, path)


class StoredRun:
    """A stored run. Each call reads the run's present state: the run may still go on.

    Every method may raise a `StoreError`, a `DamagedRunError` if the run's data is damaged, and a
    `CommandError` (`unknown_run`) if the run was deleted meanwhile.

    Args:
        id: The run's id.
        folder: The folder that stores the run.
    """

    def __init__(self, id: str, folder: Path) -> None:
        self.id = id
        self.folder = folder

    def __repr__(self) -> str:
        header = self.header
        how = header.ending or header.state
        return f"<StoredRun {self.id} {header.name!r}, {how}, {header.rows} rows>"

    @property
    def header(self) -> Run:
        """The run's header: name, program, state, ending, tags and so on."""
        with open_folder(self.folder) as reader:
            return choose_run([run for run in reader.list_headers() if run.id == self.id], self.id)

    def history(self) -> RunHistory:
        """Return the whole run as values of the protocol."""
        return self._read(lambda reader: reader.history(self.id))

    def hash_key(self) -> str | None:
        """Return the key of the hashes by which a replay finds the run's events, in hex.

        Returns:
            None if the Core that recorded the run made no key, and for an imported run.
        """
        credentials = self._read(lambda reader: reader.agent_credentials(self.id))
        return None if credentials is None else credentials.hash_key

    def start_method(self) -> StartMethod | None:
        """Return how the run was started; None if that isn't recorded, and for an imported run."""
        credentials = self._read(lambda reader: reader.agent_credentials(self.id))
        return None if credentials is None else credentials.start or None

    @property
    def forked_from(self) -> ForkOrigin | None:
        """The run and the row that this run is a fork of; None if it is no fork."""
        return self.header.forked_from or None

    def events(self) -> DataFrame:
        """Return the run's timeline as a table: one row per row; the index has the rows' ids.

        Columns: seq, kind, side, name, source, target, summary, sentence, at, duration (seconds),
        tokens, cost (US dollars), outcome, failure, edited, answer, approval (whether the call
        asked for one), reason (why the call was denied), size (bytes), depth, event, note, agent
        (the name of the row's agent), node (the graph step that the agent is at).
        """
        return data_frames.make_row_frame(self.history())

    def commits(self) -> DataFrame:
        """Return the commits of the run's workspace as a table; the index has the commits' ids.

        Columns: seq (the number of the last row before the commit), at, title, description,
        sentence, snapshot, files, added, removed (lines), paths, event.
        """
        return data_frames.make_commit_frame(drop_unchanged_commits(self.history().commits))

    def content(self, row: str | int) -> Any:
        """Return the data of a row as decoded JSON, with the row's edit if it has one.

        Args:
            row: The row's id, or its number in the run.

        Raises:
            CommandError: `unknown_content`: the run has no such row.
        """
        match self._message(row):
            case HaltPoint(current=text) | Event(kind=EventKind.DEBUG_MESSAGE, data=text):
                return json.loads(text or "null")
        raise CommandError("unknown_content", f"Run {self.id} has no row {row}.", self.id)

    def export(
        self, path: str | PathLike[str], format: str | None = None, *, force: bool = False
    ) -> Path:
        """Write the run to a file.

        Args:
            path: The file: `.run` for programs of version 1, `.zip` for the complete run, `.log`
                for people.
            format: "run", "archive" or "log"; None: as the file's name says.
            force: Whether to replace an existing file.

        Returns:
            The path of the file.

        Raises:
            ValueError: Neither the file's name nor `format` names a format.
            FileExistsError: The file exists, and `force` is false.
            OSError: The file can't be written.
        """
        target = Path(path).expanduser()
        named = run_files.choose_format(target, format)
        run_files.write_run_file(self.history(), target, named, force=force)
        return target

    def _message(self, row: str | int) -> HaltPoint | Event | None:
        if isinstance(row, str):
            return self._read(lambda reader: reader.message(self.id, row))
        page = self._read(lambda reader: reader.page(self.id, row, row))
        return next(iter(page.rows), None)

    def _read(self, read: Callable[[StoreReader], T]) -> T:
        with open_folder(self.folder) as reader:
            try:
                return read(reader)
            except KeyError:
                raise CommandError(
                    "unknown_run", f"Run {self.id} was deleted from the store.", self.id
                ) from None
