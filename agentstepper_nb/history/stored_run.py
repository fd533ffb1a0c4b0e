"""One run that is kept."""

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
    """One run that is kept.

    Args:
        id_or_name: Its id, its name or its program's (of several runs the newest), or how its id alone
            begins.
        folder: Where runs are kept; `agentstepper/` in Jupyter's data folder where none is given.

    Raises:
        CommandError: `unknown_run`: there is none, or several ids begin so.
        StoreError: The folder has no store, or it can't be read.
    """
    path = resolve_folder(folder)
    with open_folder(path) as reader:
        return StoredRun(choose_run(reader.list_headers(), id_or_name).id, path)


class StoredRun:
    """A run that is kept. Each call reads it as it then is: it may still be going on.

    Every method may raise a `StoreError`, a `DamagedRunError` where what is kept of the run is hurt,
    and a `CommandError` (`unknown_run`) where it was deleted meanwhile.

    Args:
        id: The run's id.
        folder: Where it is kept.
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
        """What its list shows: name, program, state, ending, tags and so on."""
        with open_folder(self.folder) as reader:
            return choose_run([run for run in reader.list_headers() if run.id == self.id], self.id)

    def history(self) -> RunHistory:
        """The run, whole, as values of the protocol."""
        return self._read(lambda reader: reader.history(self.id))

    def hash_key(self) -> str | None:
        """The key of the hashes by which the run's events are found when it is replayed, in hex.

        Returns:
            None where the Core that began the run made none, and of an imported run.
        """
        credentials = self._read(lambda reader: reader.agent_credentials(self.id))
        return None if credentials is None else credentials.hash_key

    def start_method(self) -> StartMethod | None:
        """How the run was started; None where its Core doesn't know, and of an imported run."""
        credentials = self._read(lambda reader: reader.agent_credentials(self.id))
        return None if credentials is None else credentials.start or None

    @property
    def forked_from(self) -> ForkOrigin | None:
        """The run and the row that it is a fork of; None where it is none."""
        return self.header.forked_from or None

    def events(self) -> DataFrame:
        """Its timeline, a row a line, the index are the lines' ids.

        Columns: seq, kind, side, name, source, target, summary, sentence, at, duration (seconds),
        tokens, cost (US dollars), outcome, failure, edited, answer, approval (whether it asked for one),
        reason (why it was denied), size (bytes), depth, event, note, agent (the name of the agent whose
        row it is), node (the step of a graph that the agent is at).
        """
        return data_frames.make_row_frame(self.history())

    def commits(self) -> DataFrame:
        """What it changed in its workspace, a row a commit, the index are the commits' ids.

        Columns: seq (the number of the last row before), at, title, description, sentence, snapshot,
        files, added, removed (lines), paths, event.
        """
        return data_frames.make_commit_frame(drop_unchanged_commits(self.history().commits))

    def content(self, row: str | int) -> Any:
        """What stands in a row: decoded JSON, as edited where it was.

        Args:
            row: Its id, or its number in the run.

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
        """Write it to a file.

        Args:
            path: The file: `.run` for version 1's readers, `.zip` for all there is of it, `.log` for
                people.
            format: "run", "archive" or "log", where the file's name doesn't say it.
            force: Whether a file that is there is replaced.

        Returns:
            The file.

        Raises:
            ValueError: Neither the file's name nor `format` says which.
            FileExistsError: The file is there.
            OSError: It can't be written.
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
