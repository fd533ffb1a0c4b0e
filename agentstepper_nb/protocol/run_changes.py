"""Version 2 between a view and the Core: changes to recorded runs by people, and runs as files."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from .data_model import Run

#: A tag and a note, as a person writes them.
Tag = Annotated[str, Meta(min_length=1, max_length=60)]
NoteText = Annotated[str, Meta(max_length=10_000)]
Tags = Annotated[tuple[Tag, ...], Meta(max_length=20)]
#: The file format of an exported run: version 1's `.run` file, or a zip archive of the whole run.
Format = Literal["run", "archive"]


class RenameRun(Struct, frozen=True, kw_only=True):
    """Give a run another name."""

    run: str
    name: str


class TagRun(Struct, frozen=True, kw_only=True):
    """Give a run these tags, in place of those it has."""

    run: str
    tags: Tags


class WriteNote(Struct, frozen=True, kw_only=True):
    """Write beside a row, in place of what stands there; "" takes it away."""

    run: str
    message: str  # a row's id
    text: NoteText


class DeleteRun(Struct, frozen=True, kw_only=True):
    """Delete a run that has ended."""

    run: str


class ExportRun(Struct, frozen=True, kw_only=True):
    """Answered by `RunExported`."""

    run: str
    format: Format = "run"


class ImportRun(Struct, frozen=True, kw_only=True):
    """Take a run in from a file; answered by `RunImported`."""

    data: str  # a `.run` file as it is, base64(zlib(JSON)), or an archive in base64


class RunExported(Struct, frozen=True, kw_only=True):
    """Answers `ExportRun`."""

    name: str
    data: str  # a `.run` file as it is, or an archive in base64
    format: Format = "run"


class RunImported(Struct, frozen=True, kw_only=True):
    """Answers `ImportRun`."""

    run: Run
