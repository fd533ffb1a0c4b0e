"""A run as a file: the complete archive `NAME.agentstepper.zip`, and a text for people.

========================  ==========================================================================
`manifest.json`           `{"format": "agentstepper.run", "version": 1, "written_by": …}`
`run.json`                the header
`events.jsonl`            one event a line, as they began
`breakpoints.jsonl`       one halt point a line, by its row's number
`commits.jsonl`           one commit a line, with the contents of its files
`notes.jsonl`             one note a line
========================  ==========================================================================

An archive is a zip file of JSON lines, whose fields are those of `agentstepper_nb.protocol.data_model`.
The same run makes the same bytes.
"""

from __future__ import annotations

import base64
import binascii
import io
import stat
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import msgspec
from msgspec import Struct

from .. import typed_json
from .._version import __version__
from ..errors import ProtocolError
from ..protocol.data_model import Commit, Event, EventKind, HaltPoint, RowNote, Run
from ..protocol.json_limits import (
    CHUNK_BYTES,
    CheckCancelled,
    JsonLimits,
    JsonScanner,
    never_cancel,
)
from ..protocol.records import RunHistory
from ..protocol.text_escaping import escape_to_one_line
from ..protocol.v1 import runfile
from .run_validation import make_corrupt_error, prepare_import

#: The format name in the manifest, which distinguishes the file from other zip files.
FORMAT: Final = "agentstepper.run"
#: Of the form above.
VERSION: Final = 1
#: The largest accepted archive when unpacked, in bytes.
MAX_UNPACKED_BYTES: Final = 256 * 1024 * 1024
#: The end of such a file's name.
SUFFIX: Final = ".agentstepper.zip"

_MANIFEST, _RUN = "manifest.json", "run.json"
_EVENTS, _HALT_POINTS = "events.jsonl", "breakpoints.jsonl"
_COMMITS, _NOTES = "commits.jsonl", "notes.jsonl"
_MEMBERS: Final = (_MANIFEST, _RUN, _EVENTS, _HALT_POINTS, _COMMITS, _NOTES)

#: The most lines accepted: each becomes an object, larger than itself.
_MAX_LINES: Final = 500_000
_MAX_DEPTH: Final = 500
_MAX_VALUES: Final = 10_000_000
#: The earliest date of zip files: an archive stores no time of its own.
_DATE: Final = (1980, 1, 1, 0, 0, 0)

MemberData = dict[str, bytearray]
#: The functions that convert an archive of one version to the next, by its version.
_UPCASTS: Final[dict[int, Callable[[MemberData], MemberData]]] = {}

_T = TypeVar("_T", bound=Struct)


class _Manifest(Struct, frozen=True, kw_only=True):
    format: str
    version: int
    written_by: str = ""


def dump_archive(history: RunHistory) -> bytes:
    """Write a run's archive."""
    written_by = f"agentstepper_nb {__version__}"
    members = {
        _MANIFEST: _document(_Manifest(format=FORMAT, version=VERSION, written_by=written_by)),
        _RUN: _document(history.run),
        _EVENTS: _lines(history.events),
        _HALT_POINTS: _lines(history.halt_points),
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


def load_archive(
    data: bytes,
    run_id: str | None = None,
    limit: int = MAX_UNPACKED_BYTES,
    check: CheckCancelled = never_cancel,
) -> RunHistory:
    """Read a run's archive. The loaded run has ended: it has no pending halt points.

    Args:
        data: The file.
        run_id: The id for the run, as an import is a new run; None keeps the file's id.
        limit: The largest accepted archive when unpacked, in bytes.
        check: Called between two steps; it raises an exception to cancel the work.

    Raises:
        ProtocolError: Damaged (`corrupt_import`), of a newer version (`newer_import`), or above one of
            the bounds (`too_large`).
    """
    members = _upcast(unzip_members(data, _MEMBERS, limit, _make_bounds_inspector(check)))
    history = RunHistory(
        run=_one(members, _RUN, Run),
        events=_many(members, _EVENTS, Event),
        halt_points=_many(members, _HALT_POINTS, HaltPoint),
        commits=_many(members, _COMMITS, Commit),
        notes=_many(members, _NOTES, RowNote),
    )
    return prepare_import(history, run_id, check)


def read_run_file(path: Path) -> bytes:
    """Read a run's file.

    Raises:
        ProtocolError: `corrupt_import`: the path isn't a file; `too_large`: the file is above the limit.
        OSError: The file can't be read.
    """
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise make_corrupt_error(f"{path} is no file")
    if status.st_size > MAX_UNPACKED_BYTES:
        raise ProtocolError(
            "too_large", f"{path} is larger than {MAX_UNPACKED_BYTES // 1024**2} MiB, the limit."
        )
    return path.read_bytes()


def load_run_file(
    data: bytes,
    run_id: str | None = None,
    limit: int = MAX_UNPACKED_BYTES,
    check: CheckCancelled = never_cancel,
) -> RunHistory:
    """Read a run's file of any form: an archive, also in base64, or version 1's `.run`, also unpacked.

    Args and errors as `load_archive`.
    """
    if data.startswith(MAGIC):
        return load_archive(data, run_id, limit, check)
    if data.startswith(base64.b64encode(MAGIC)[:5]):
        try:
            return load_archive(base64.b64decode(data), run_id, limit, check)
        except binascii.Error as error:
            raise make_corrupt_error(f"The archive is damaged ({error})") from None
    return runfile.load_run(data, run_id, limit, check)


def _make_bounds_inspector(check: CheckCancelled) -> MemberInspector:
    """Make the inspector that limits the lines and values of all members together."""
    bounds = JsonLimits(MAX_UNPACKED_BYTES, _MAX_DEPTH, _MAX_VALUES, _MAX_DEPTH)
    scan = JsonScanner(bounds, "The archive")
    lines = 0

    def inspect_member(name: str, chunk: bytes) -> None:
        nonlocal lines
        check()
        scan.feed(chunk)
        lines += chunk.count(b"\n")
        if lines > _MAX_LINES:
            raise ProtocolError("too_large", f"The archive has more than {_MAX_LINES:,} lines.")

    return inspect_member


def _document(value: Struct) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value)) + b"\n"


def _lines(values: Iterable[Struct]) -> bytes:
    return msgspec.json.Encoder().encode_lines(values)


def _upcast(members: MemberData) -> MemberData:
    """Convert the members of an older version to this version."""
    manifest = _one(members, _MANIFEST, _Manifest)
    if manifest.format != FORMAT or manifest.version < 1:
        raise make_corrupt_error("This zip file is not the archive of a run")
    if manifest.version > VERSION:
        raise ProtocolError(
            "newer_import",
            f"The archive is of version {manifest.version}, written by "
            f"{manifest.written_by[:80]}; agentstepper_nb {__version__} reads up to "
            f"version {VERSION}: upgrade this one.",
        )
    for version in range(manifest.version, VERSION):
        members = _UPCASTS[version](members)
    return members


def _one(members: MemberData, name: str, kind: type[_T]) -> _T:
    return cast("_T", _decode(members, name, typed_json.get_decoder(kind).decode))


def _many(members: MemberData, name: str, kind: type[_T]) -> tuple[_T, ...]:
    return tuple(_decode(members, name, typed_json.get_decoder(kind).decode_lines))


def _decode(members: MemberData, name: str, decode: Callable[[bytearray], Any]) -> Any:
    if name not in members:
        raise make_corrupt_error(f"The archive lacks {name}")
    try:
        return decode(members[name])
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise make_corrupt_error(f"The archive's {name} is damaged ({error})") from None


# ---- zip files of strangers: read by known names alone, within bounds, into memory ----------------


#: The first bytes of a zip file.
MAGIC: Final = b"PK\x03\x04"
#: Bytes of the list of members at most: enough for an archive that another program has rewritten.
_MAX_DIRECTORY_BYTES: Final = 1 << 16
#: The end record of a zip file, and the locator of a zip64 end record.
_END: Final = b"PK\x05\x06"
_END_SIZE: Final = 22
_LOCATOR: Final = b"PK\x06\x07"
_LOCATOR_SIZE: Final = 20

_SUPPORTED_COMPRESSIONS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED: Final = 0x1

#: The standard library's exceptions for damaged zip files.
_DAMAGE_ERRORS: Final = (
    zipfile.BadZipFile,
    zlib.error,
    ArithmeticError,
    EOFError,
    LookupError,
    NotImplementedError,
    OSError,
    RuntimeError,
    ValueError,
)

#: Looks at the next bytes of a member, by its name; it raises to refuse them.
MemberInspector = Callable[[str, bytes], None]


def unzip_members(
    data: bytes, names: Collection[str], limit: int, inspect_member: MemberInspector
) -> dict[str, bytearray]:
    """Read members of a zip file. Other members are ignored; nothing is written to disk.

    Args:
        data: The file.
        names: The members to read, if they exist.
        limit: The most bytes of these members together when unpacked. The bytes are counted during
            unpacking, as the sizes in the file may be wrong.
        inspect_member: Called with each part that is read, before the part is stored.

    Raises:
        ProtocolError: `corrupt_import`: the file isn't a zip file, is damaged or encrypted, or has a
            member twice; `too_large`: the members exceed the limit.
    """
    _check_end(data)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            found = [info for info in file.infolist() if info.filename in names]
            if len({info.filename for info in found}) < len(found):
                raise make_corrupt_error("The archive has a member twice")
            sizes = {info.filename: 0 for info in found}
            for info in found:
                for chunk in _chunks(file, info):
                    sizes[info.filename] += len(chunk)
                    if sum(sizes.values()) > limit:
                        raise _too_large(limit)
                    inspect_member(info.filename, chunk)
            return {info.filename: _read(file, info, sizes[info.filename]) for info in found}
    except ProtocolError:
        raise
    except _DAMAGE_ERRORS as error:
        raise make_corrupt_error(f"The archive is damaged ({error})") from None


def _too_large(limit: int) -> ProtocolError:
    return ProtocolError(
        "too_large",
        f"The archive can't be imported: it unpacks to more than {limit // 1024**2} MiB, "
        "the limit.",
    )


def _check_end(data: bytes) -> None:
    """Refuse a file that lists more members than an archive has, before the list is read."""
    end = data[-_END_SIZE:]
    before = data[-_END_SIZE - _LOCATOR_SIZE : -_END_SIZE]
    if not end.startswith(_END) or end[-2:] != b"\0\0" or before.startswith(_LOCATOR):
        raise make_corrupt_error("The file is not the archive of a run, or is incomplete")
    if int.from_bytes(end[12:16], "little") > _MAX_DIRECTORY_BYTES:
        raise make_corrupt_error("The archive has more members than the archive of a run")


def _chunks(file: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    if info.flag_bits & _ENCRYPTED:
        raise make_corrupt_error("The archive is encrypted")
    if info.compress_type not in _SUPPORTED_COMPRESSIONS:
        raise make_corrupt_error("The archive's compression isn't supported")
    with file.open(info) as member:
        while chunk := member.read(CHUNK_BYTES):
            yield chunk


def _read(file: zipfile.ZipFile, info: zipfile.ZipInfo, size: int) -> bytearray:
    """A member of known size, whole."""
    whole, at = bytearray(size), 0
    for chunk in _chunks(file, info):
        whole[at : at + len(chunk)] = chunk
        at += len(chunk)
    return whole


# ---- a text for people ----------------------------------------------------------------------------


def render_run_text(history: RunHistory) -> str:
    """Format a run as text: a heading, then its rows and commits in order."""
    return "\n".join(_text_lines(history)) + "\n"


def _text_lines(history: RunHistory) -> Iterator[str]:
    run = history.run
    yield escape_to_one_line(f"{run.name} ({run.program})")
    yield f"started {_time(run.started_at)}"
    if run.ended_at is not None:
        yield f"ended {_time(run.ended_at)}{f', {run.ending}' if run.ending else ''}"
    if run.failure:
        yield escape_to_one_line(f"{run.failure.type}: {run.failure.message}")
    for _, lines in sorted(_blocks(history), key=lambda block: block[0]):
        yield ""
        yield from lines


def _blocks(history: RunHistory) -> Iterator[tuple[tuple[int, int], list[str]]]:
    """Yield each row and commit with its position; a commit follows the row before it."""
    for halt_point in history.halt_points:
        yield (halt_point.seq, 0), _halt_point(halt_point)
    for event in history.events:
        if event.kind is EventKind.DEBUG_MESSAGE:
            head = f"[{event.seq}] {_time(event.at)} debug message"
            yield (event.seq, 0), [head, event.data or ""]
    for index, commit in enumerate(history.commits):
        yield (commit.seq, index + 1), _commit(commit)


def _halt_point(halt_point: HaltPoint) -> list[str]:
    custom = halt_point.kind is EventKind.CUSTOM
    kind = (halt_point.name if custom else None) or halt_point.kind
    words = f"{kind.replace('_', ' ')}, {halt_point.side}"
    summary = halt_point.summary or halt_point.model_summary or ""
    head = f"[{halt_point.seq}] {_time(halt_point.at)} {words}: {summary}".rstrip(": ")
    lines = [escape_to_one_line(head), halt_point.data]
    if halt_point.edit is not None:
        lines.append(f"edited to: {halt_point.edit}")
    if (approval := halt_point.approval) is not None:
        lines.append(f"asks for approval, {approval.risk} risk: {approval.why}")
    if halt_point.reason:
        lines.append(escape_to_one_line(f"denied: {halt_point.reason}"))
    if failure := halt_point.failure:
        lines.append(escape_to_one_line(f"{failure.type}: {failure.message}"))
    return lines


def _commit(commit: Commit) -> list[str]:
    lines = [f"commit {commit.id[:12]} {_time(commit.at)} {commit.title}"]
    for change in commit.changes:
        lines.append(f"  {change.kind} {change.path} +{change.added} -{change.removed}")
    return list(map(escape_to_one_line, lines))


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
