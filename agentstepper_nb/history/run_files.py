"""A run as a file: version 1's `.run`, the archive, or a text for people."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from ..protocol.records import RunHistory
from ..protocol.v1 import runfile
from ..store import archive
from ..store.archive import render_run_text
from ..store.atomic_files import write_atomically

#: The formats, each with the ends of file names that mean it.
FORMATS: Final = {"run": (".run",), "archive": (".zip",), "log": (".log", ".txt")}


def choose_format(path: Path, requested_format: str | None = None) -> str:
    """The format that a file gets.

    Args:
        path: The file.
        requested_format: The format that a person named, or None.

    Raises:
        ValueError: Nobody says which.
    """
    if requested_format is None:
        requested_format = next(
            (each for each, ends in FORMATS.items() if path.suffix.lower() in ends), ""
        )
    if requested_format not in FORMATS:
        raise ValueError(
            f"The name {path.name} doesn't tell the format. End the name with .run, .zip "
            f"or .log, or pass one of the formats {', '.join(FORMATS)}."
        )
    return requested_format


def encode_run(history: RunHistory, format: str) -> bytes:
    """The bytes of a run's file in one of `FORMATS`."""
    if format == "archive":
        return archive.dump_archive(history)
    if format == "run":
        return runfile.dump_run(history)
    return render_run_text(history).encode(errors="backslashreplace")


def write_run_file(history: RunHistory, path: Path, format: str, *, force: bool = False) -> None:
    """Write a run's file, whole or not at all.

    Args:
        history: The run.
        path: The file.
        format: One of `FORMATS`.
        force: Whether a file that is there is replaced.

    Raises:
        FileExistsError: It is there.
        OSError: It can't be written.
    """
    if path.exists() and not force:
        raise FileExistsError(f"{path} exists. Choose another name, or ask to replace the file.")
    write_atomically(path, encode_run(history, format))
