"""Writes a run to a file: as a `.run` file of version 1, as an archive, or as text for people."""

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
    """Choose the format of a run's file.

    Args:
        path: The file.
        requested_format: The format that a person named, or None.

    Raises:
        ValueError: Neither the file's name nor the person names a format.
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
    """Encode a run in one of `FORMATS`, and return the bytes."""
    if format == "archive":
        return archive.dump_archive(history)
    if format == "run":
        return runfile.dump_run(history)
    return render_run_text(history).encode(errors="backslashreplace")


def write_run_file(history: RunHistory, path: Path, format: str, *, force: bool = False) -> None:
    """Write a run's file atomically.

    Args:
        history: The run.
        path: The file.
        format: One of `FORMATS`.
        force: Whether to replace an existing file.

    Raises:
        FileExistsError: The file exists, and `force` is false.
        OSError: The file can't be written.
    """
    if path.exists() and not force:
        raise FileExistsError(f"{path} exists. Choose another name, or ask to replace the file.")
    write_atomically(path, encode_run(history, format))
