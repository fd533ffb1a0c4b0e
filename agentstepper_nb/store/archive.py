"""The archive `NAME.agentstepper.zip`: one run with all there is of it, as JSON lines in a zip file.

========================  ==========================================================================
`manifest.json`           `{"format": "agentstepper.run", "version": 1, "written_by": …}`
`run.json`                the header
`events.jsonl`            one event a line, as they began
`breakpoints.jsonl`       one breakpoint a line, by its row's number
`commits.jsonl`           one commit a line, with the contents of its files
`notes.jsonl`             one note a line
========================  ==========================================================================

The fields are those of `agentstepper_nb.protocol.values`. The same run makes the same bytes.
"""

from __future__ import annotations

import base64
import binascii
import io
import stat
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import msgspec
from msgspec import Struct

from .._version import __version__
from ..errors import ProtocolError
from ..protocol.json_bounds import Check, JsonBounds, JsonScan, go_on
from ..protocol.records import RunHistory
from ..protocol.v1 import runfile
from ..protocol.values import Breakpoint, Commit, Event, Note, Run
from .soundness import imported
from .unzip import MAGIC, Look, corrupt, unzip

#: How the file is told from other zip files.
FORMAT: Final = "agentstepper.run"
#: Of the form above.
VERSION: Final = 1
#: The largest unpacked archive taken, in bytes.
MAX_UNPACKED: Final = 256 * 1024 * 1024
#: What a path of such a file ends with.
SUFFIX: Final = ".agentstepper.zip"

_MANIFEST, _RUN = "manifest.json", "run.json"
_EVENTS, _BREAKPOINTS = "events.jsonl", "breakpoints.jsonl"
_COMMITS, _NOTES = "commits.jsonl", "notes.jsonl"
_MEMBERS: Final = (_MANIFEST, _RUN, _EVENTS, _BREAKPOINTS, _COMMITS, _NOTES)

#: The most lines that are taken: each becomes an object, larger than itself.
_MOST_LINES: Final = 500_000
_DEPTH: Final = 500
_MARKS: Final = 10_000_000
#: The date that zip files begin with: an archive tells no time of its own.
_DATE: Final = (1980, 1, 1, 0, 0, 0)

Members = dict[str, bytearray]
#: What brings an archive of one version to the next, by its version.
_UPCASTS: Final[dict[int, Callable[[Members], Members]]] = {}

_T = TypeVar("_T", bound=Struct)


class _Manifest(Struct, frozen=True, kw_only=True):
    format: str
    version: int
    written_by: str = ""


def dump(history: RunHistory) -> bytes:
    """Write a run's archive."""
    manifest = _Manifest(
        format=FORMAT, version=VERSION, written_by=f"agentstepper_nb {__version__}"
    )
    members = {
        _MANIFEST: _document(manifest),
        _RUN: _document(history.run),
        _EVENTS: _lines(history.events),
        _BREAKPOINTS: _lines(history.breakpoints),
        _COMMITS: _lines(history.commits),
        _NOTES: _lines(history.notes),
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            info = zipfile.ZipInfo(name, _DATE)
            info.create_system = 3  # whichever this is
            info.external_attr = 0o600 << 16
            archive.writestr(info, data, zipfile.ZIP_DEFLATED)
    return file.getvalue()


def load(
    data: bytes, run_id: str | None = None, limit: int = MAX_UNPACKED, check: Check = go_on
) -> RunHistory:
    """Read a run's archive. The run in it has ended: nothing waits any more.

    Args:
        data: The file.
        run_id: The id the run gets, as an import is a run of its own; None keeps the file's.
        limit: The largest unpacked archive taken, in bytes.
        check: Called between two steps; it raises to end the work.

    Raises:
        ProtocolError: Damaged (`corrupt_import`), of a newer version (`newer_import`), or above one of
            the bounds (`too_large`).
    """
    members = _upcast(unzip(data, _MEMBERS, limit, _within_bounds(check)))
    history = RunHistory(
        run=_one(members, _RUN, Run),
        events=_many(members, _EVENTS, Event),
        breakpoints=_many(members, _BREAKPOINTS, Breakpoint),
        commits=_many(members, _COMMITS, Commit),
        notes=_many(members, _NOTES, Note),
    )
    return imported(history, run_id, check)


def read(path: Path) -> bytes:
    """Read a run's file.

    Raises:
        ProtocolError: `corrupt_import`: it is no file; `too_large`: it is one that is never taken.
        OSError: It can't be read.
    """
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise corrupt(f"{path} is no file")
    if status.st_size > MAX_UNPACKED:
        raise ProtocolError(
            "too_large", f"{path} is larger than {MAX_UNPACKED // 1024**2} MiB, the limit."
        )
    return path.read_bytes()


def load_any(
    data: bytes, run_id: str | None = None, limit: int = MAX_UNPACKED, check: Check = go_on
) -> RunHistory:
    """Read a run's file of any form: an archive, also in base64, or version 1's `.run`, also unpacked.

    Args and errors as `load`.
    """
    if data.startswith(MAGIC):
        return load(data, run_id, limit, check)
    if data.startswith(base64.b64encode(MAGIC)[:5]):
        try:
            return load(base64.b64decode(data), run_id, limit, check)
        except binascii.Error as error:
            raise corrupt(f"The archive is damaged ({error})") from None
    return runfile.load(data, run_id, limit, check)


def _within_bounds(check: Check) -> Look:
    """What looks at the members: all together have so many lines and values."""
    bounds = JsonBounds(MAX_UNPACKED, _DEPTH, _MARKS, _DEPTH)
    scan = JsonScan(bounds, "The archive")
    lines = 0

    def look(name: str, chunk: bytes) -> None:
        nonlocal lines
        check()
        scan.feed(chunk)
        lines += chunk.count(b"\n")
        if lines > _MOST_LINES:
            raise ProtocolError("too_large", f"The archive has more than {_MOST_LINES:,} lines.")

    return look


def _document(value: Struct) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value)) + b"\n"


def _lines(values: Iterable[Struct]) -> bytes:
    return msgspec.json.Encoder().encode_lines(values)


def _upcast(members: Members) -> Members:
    """The members as this version has them."""
    manifest = _one(members, _MANIFEST, _Manifest)
    if manifest.format != FORMAT or manifest.version < 1:
        raise corrupt("This zip file is no archive of a run")
    if manifest.version > VERSION:
        raise ProtocolError(
            "newer_import",
            f"The archive is of version {manifest.version}, written by {manifest.written_by[:80]}; "
            f"agentstepper_nb {__version__} reads up to version {VERSION}: upgrade this one.",
        )
    for version in range(manifest.version, VERSION):
        members = _UPCASTS[version](members)
    return members


def _one(members: Members, name: str, kind: type[_T]) -> _T:
    return cast("_T", _decode(members, name, msgspec.json.Decoder(kind).decode))


def _many(members: Members, name: str, kind: type[_T]) -> tuple[_T, ...]:
    return tuple(_decode(members, name, msgspec.json.Decoder(kind).decode_lines))


def _decode(members: Members, name: str, decode: Callable[[bytearray], Any]) -> Any:
    if name not in members:
        raise corrupt(f"The archive lacks {name}")
    try:
        return decode(members[name])
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise corrupt(f"The archive's {name} is damaged ({error})") from None
