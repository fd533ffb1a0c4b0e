"""The `.run` file of version 1: base64(zlib(JSON)), one run, without a version."""

from __future__ import annotations

import base64
import binascii
import json
import re
import zlib
from bisect import bisect_right
from itertools import accumulate
from typing import Final

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.structs import replace

from ..._version import __version__
from ...errors import ProtocolError
from ..calls import tool_of
from ..records import RunHistory
from ..values import (
    PAIRED,
    AgentState,
    AnswerKind,
    Breakpoint,
    Commit,
    Event,
    EventKind,
    Id,
    Run,
    RunState,
    Side,
    Time,
)
from .agent import NULL, V1Breakpoint, V1Commit, dump_kind, is_strict, load_kind, wrap
from .commits import asked_for, dump_commit, load_commit

#: The largest unpacked file taken, in bytes.
MAX_UNPACKED: Final = 512 * 1024 * 1024


class _Event(Struct):
    uuid: Id
    type: str
    time: Time
    data: Raw = NULL
    breakpoints: list[V1Breakpoint] = []


class _Run(Struct):
    uuid: Id
    name: str
    program_name: str
    start_time: Time
    events: list[_Event] = []
    commits: list[V1Commit] = []
    server_version: str | UnsetType = UNSET


def dump(history: RunHistory) -> bytes:
    """Write a run's file."""
    run = history.run
    points: dict[str, list[Breakpoint]] = {}
    for point in history.breakpoints:
        points.setdefault(point.event, []).append(point)
    document = _Run(
        uuid=run.id,
        name=run.name,
        program_name=run.program,
        start_time=run.started_at,
        events=[_dump_event(event, points.get(event.id, [])) for event in history.events],
        commits=[dump_commit(commit) for commit in asked_for(history.commits)],
    )
    return base64.b64encode(zlib.compress(msgspec.json.encode(document)))


def _dump_event(event: Event, points: list[Breakpoint]) -> _Event:
    own = NULL if event.data is None else Raw(event.data.encode())
    type, data = dump_kind(event.kind, event.name, own)
    return _Event(
        event.id,
        type,
        event.at,
        data,
        [_dump_breakpoint(point) for point in points],
    )


def _dump_breakpoint(point: Breakpoint) -> V1Breakpoint:
    return V1Breakpoint(
        uuid=point.id,
        agent=point.agent,
        event_id=point.event,
        time=point.at,
        original_data=Raw(point.data.encode()),
        modified_data=NULL if point.edit is None else Raw(point.edit.encode()),
        summary=point.summary,
    )


def load(data: bytes, run_id: str | None = None, limit: int = MAX_UNPACKED) -> RunHistory:
    """Read a run's file.

    Args:
        data: The file.
        run_id: The id the run gets, as an import is a run of its own; None keeps the file's.
        limit: The largest unpacked file taken, in bytes.

    Raises:
        ProtocolError: Damaged (`corrupt_import`), of a newer version (`newer_import`), or larger than
            the limit unpacked (`too_large`).
    """
    document = _parse(_unpack(data, limit))
    _check_version(document.server_version)
    _check_ids(document)
    return _history(document, run_id or document.uuid)


def _corrupt(reason: str) -> ProtocolError:
    return ProtocolError("corrupt_import", f"{reason}: export it again.")


def _unpack(data: bytes, limit: int) -> bytes:
    inflater = zlib.decompressobj()
    try:
        unpacked = inflater.decompress(base64.b64decode(data, validate=False), limit + 1)
    except (binascii.Error, zlib.error) as error:
        raise _corrupt(f"This is no .run file, or it is damaged ({error})") from None
    if len(unpacked) > limit:
        raise ProtocolError(
            "too_large", f"The .run file unpacks to more than {limit // 1024**2} MiB, the limit."
        )
    if not inflater.eof:
        raise _corrupt("The .run file is cut off")
    return unpacked


def _parse(text: bytes) -> _Run:
    """The file's document. As in messages, contents may hold what only Python's parser takes."""
    try:
        return msgspec.json.decode(text, type=_Run)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        strictly = error
    try:
        return msgspec.convert(wrap(json.loads(text)), _Run)
    except (ValueError, RecursionError):
        raise _corrupt(f"The .run file's contents are damaged ({strictly})") from None


def _check_version(version: str | UnsetType) -> None:
    """Files of other versions are read as they are; only what a newer program wrote is refused."""
    if version is UNSET:
        return
    if _numbers(version) > _numbers(__version__):
        raise ProtocolError(
            "newer_import",
            f"The .run file was written by version {version}, this is {__version__}: upgrade this one.",
        )


def _numbers(version: str) -> tuple[int, ...]:
    """The numbers that a version begins with."""
    release = re.match(r"\d{1,9}(\.\d{1,9})*", version, re.ASCII)
    return tuple(map(int, release[0].split("."))) if release else ()


def _check_ids(document: _Run) -> None:
    """A row, an event or a commit that comes twice would hide the other."""
    events = [item.uuid for item in document.events]
    rows = [point.uuid for item in document.events for point in item.breakpoints]
    rows += [item.uuid for item in document.events if item.type == EventKind.DEBUG_MESSAGE.name]
    commits = [commit.id for commit in document.commits]
    for what, ids in (("event", events), ("message", rows), ("commit", commits)):
        if len(set(ids)) < len(ids):
            raise _corrupt(f"The .run file has one {what} twice")


def _history(document: _Run, run_id: str) -> RunHistory:
    events: list[Event] = []
    points: list[Breakpoint] = []
    rows = 0
    ended_at = document.start_time
    for item in document.events:
        event, own = _load_event(item, run_id, rows)
        rows += len(own) + (event.kind is EventKind.DEBUG_MESSAGE)
        events.append(event)
        points.extend(own)
        ended_at = max(ended_at, item.time, *(point.at for point in own))
    commits = _place(document.commits, run_id, points)
    run = Run(
        id=run_id,
        name=document.name,
        program=document.program_name,
        started_at=document.start_time,
        ended_at=ended_at,
        state=RunState.IDLE,
        agent_state=AgentState.FINISHED,
        can_stop=False,
        rows=rows,
        commits=len(commits),
    )
    return RunHistory(run=run, events=tuple(events), breakpoints=tuple(points), commits=commits)


def _load_event(item: _Event, run_id: str, rows: int) -> tuple[Event, list[Breakpoint]]:
    kind, name = load_kind(item.type, item.data)
    if kind is None:
        raise _corrupt(f"The .run file has an event of unknown type “{item.type[:80]}”")
    if kind is EventKind.DEBUG_MESSAGE and item.breakpoints:
        raise _corrupt("The .run file has a debug message with breakpoints")
    if kind is EventKind.TOOL_INVOCATION and name is None and item.breakpoints:
        name = tool_of(bytes(item.breakpoints[0].original_data))
    data = bytes(item.data).decode()
    event = Event(
        id=item.uuid,
        run=run_id,
        kind=kind,
        at=item.time,
        name=name,
        seq=rows + 1 if kind is EventKind.DEBUG_MESSAGE else 0,
        data=None if data == "null" or kind is EventKind.CUSTOM else data,
        ended_at=item.breakpoints[-1].time if item.breakpoints else item.time,
    )
    return event, [
        _load_breakpoint(point, event, index, rows + index + 1)
        for index, point in enumerate(item.breakpoints)
    ]


def _load_breakpoint(point: V1Breakpoint, event: Event, index: int, seq: int) -> Breakpoint:
    data = bytes(point.original_data).decode()
    edit = bytes(point.modified_data).decode()
    return Breakpoint(
        id=point.uuid,
        run=event.run,
        event=event.id,
        seq=seq,
        side=Side.END if index and event.kind in PAIRED else Side.BEGIN,
        kind=event.kind,
        name=event.name,
        at=point.time,
        data=data,
        strict=is_strict(data),
        agent=point.agent,
        summary=point.summary,
        edit=None if edit == "null" else edit,
        answer=AnswerKind.RESUME,
        answered_at=point.time,
    )


def _place(commits: list[V1Commit], run_id: str, points: list[Breakpoint]) -> tuple[Commit, ...]:
    """The commits, each placed after the last breakpoint before it."""
    times = list(accumulate((point.at for point in points), max))
    placed = []
    for commit in commits:
        before = bisect_right(times, commit.date)
        last = points[before - 1] if before else None
        placed.append(
            replace(
                _load_commit(commit),
                run=run_id,
                seq=last.seq if last else 0,
                event=last.event if last else None,
            )
        )
    return tuple(placed)


def _load_commit(commit: V1Commit) -> Commit:
    try:
        return load_commit(commit)
    except ProtocolError as error:
        raise _corrupt(f"The .run file has a damaged commit ({error.message})") from None
