"""The `.run` file of version 1: one run, without a version; `runfile_format` has its outer form."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate, pairwise
from typing import Final

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.structs import replace

from ... import typed_json
from ..._version import __version__
from ...errors import ProtocolError
from ..data_model import (
    PAIRED_EVENT_KINDS,
    AgentActivity,
    AgentLabel,
    AnswerKind,
    Commit,
    Event,
    EventKind,
    EventOutcome,
    EventSide,
    Failure,
    HaltPoint,
    Run,
    RunState,
)
from ..field_types import ContentHash, Count, Id, Name, ScopePath, Time
from ..header_limits import count_utf8_bytes, truncate_failure, truncate_text
from ..json_limits import CheckCancelled, JsonScanner, check_content_size, never_cancel
from ..records import RunHistory, drop_unchanged_commits
from ..tool_names import find_tool_name
from .agent import (
    JSON_NULL,
    V1Breakpoint,
    V1Commit,
    dump_kind,
    find_summary,
    format_failure,
    is_strict,
    load_kind,
    to_convertible,
)
from .commits import dump_commit, load_commit, select_commits
from .runfile_format import make_corrupt_error, pack_runfile, unpack_runfile

#: The largest unpacked file taken, in bytes.
MAX_UNPACKED_BYTES: Final = 256 * 1024 * 1024
_WHAT: Final = "The .run file"
#: Characters of a message's summary or a commit's title, and of a file's path.
_MAX_SUMMARY_CHARS: Final = 1000
_MAX_PATH_CHARS: Final = 4096


class _Breakpoint(V1Breakpoint, frozen=True, kw_only=True):
    """Ours has more than version 1's, which doesn't look at it."""

    seq: Count | UnsetType = UNSET  # as the event's
    failure: Failure | UnsetType = UNSET


class _Event(Struct):
    uuid: Id
    type: str
    time: Time
    data: Raw = JSON_NULL
    breakpoints: list[_Breakpoint] = []
    # As above:
    parent: Id | UnsetType = UNSET
    depth: Count | UnsetType = UNSET
    seq: Count | UnsetType = UNSET  # of a row, where the order of the file isn't the rows'
    scope: ScopePath | UnsetType = UNSET
    label: AgentLabel | UnsetType = UNSET
    content_hash: ContentHash | UnsetType = UNSET


class _Run(Struct):
    uuid: Id
    name: Name
    program_name: Name
    start_time: Time
    events: list[_Event] = []
    commits: list[V1Commit] = []
    server_version: str | UnsetType = UNSET


def dump_run(history: RunHistory) -> bytes:
    """Write a run's file."""
    run = history.run
    points: dict[str, list[HaltPoint]] = {}
    for point in history.halt_points:
        points.setdefault(point.event, []).append(point)
    filed = [
        row.seq
        for event in history.events
        for row in (
            points.get(event.id, []) if event.kind is not EventKind.DEBUG_MESSAGE else [event]
        )
    ]
    numbered = filed != sorted(filed)
    document = _Run(
        uuid=run.id,
        name=run.name,
        program_name=run.program,
        start_time=run.started_at,
        events=[
            _dump_event(event, points.get(event.id, []), numbered=numbered)
            for event in history.events
        ],
        commits=[dump_commit(commit) for commit in select_commits(history.commits)],
    )
    return pack_runfile(msgspec.json.encode(document))


def _dump_event(event: Event, points: list[HaltPoint], *, numbered: bool) -> _Event:
    own = JSON_NULL if event.data is None else Raw(event.data.encode())
    type, data = dump_kind(event.kind, event.name, own)
    is_row = event.kind is EventKind.DEBUG_MESSAGE
    return _Event(
        event.id,
        type,
        event.at,
        data,
        [_dump_halt_point(point, numbered=numbered) for point in points],
        UNSET if event.parent is None else event.parent,
        event.depth or UNSET,
        event.seq if numbered and is_row else UNSET,
        event.scope or UNSET,
        event.label or UNSET,
        event.content_hash or UNSET,
    )


def _dump_halt_point(point: HaltPoint, *, numbered: bool) -> _Breakpoint:
    failure = point.failure
    return _Breakpoint(
        uuid=point.id,
        agent=point.agent,
        event_id=point.event,
        time=point.at,
        original_data=Raw(point.data.encode()),
        modified_data=JSON_NULL if point.edit is None else Raw(point.edit.encode()),
        summary=find_summary(point),
        seq=point.seq if numbered else UNSET,
        failure=failure or UNSET,
    )


def load_run(
    data: bytes,
    run_id: str | None = None,
    limit: int = MAX_UNPACKED_BYTES,
    check: CheckCancelled = never_cancel,
) -> RunHistory:
    """Read a run's file.

    Args:
        data: The file.
        run_id: The id the run gets, as an import is a run of its own; None keeps the file's.
        limit: The largest unpacked file taken, in bytes.
        check: Called between two steps; it raises to end the work.

    Raises:
        ProtocolError: Damaged (`corrupt_import`), of a newer version (`newer_import`), or above one of
            the bounds (`too_large`).
    """
    document = _parse(*unpack_runfile(data, limit, check))
    _check_version(document.server_version)
    _check_ids(document)
    return _history(document, run_id or document.uuid, check)


def _parse(text: bytearray, scan: JsonScanner) -> _Run:
    """The file's document. As in messages, contents may hold what only Python's parser takes."""
    try:
        return typed_json.decode(text, _Run)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        strictly = str(error)
    scan.check_lenient_limits()
    try:
        # Decoded as it was counted: the parser would guess another encoding.
        return typed_json.convert(
            to_convertible(json.loads(text.decode("utf-8", "surrogatepass"))), _Run
        )
    except (ValueError, RecursionError):
        raise make_corrupt_error(f"The .run file's contents are damaged ({strictly})") from None


def _check_version(version: str | UnsetType) -> None:
    """Files of other versions are read as they are; only what a newer program wrote is refused."""
    if version is UNSET:
        return
    if _numbers(version) > _numbers(__version__):
        raise ProtocolError(
            "newer_import",
            f"The .run file was written by version {version[:80]}, and this is "
            f"{__version__}. Upgrade agentstepper_nb.",
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
            raise make_corrupt_error(f"The .run file has one {what} twice")


def _history(document: _Run, run_id: str, check: CheckCancelled) -> RunHistory:
    events: list[Event] = []
    points: list[HaltPoint] = []
    ended_at = document.start_time
    seqs = iter(_seqs(document))
    for item in document.events:
        check()
        event, own = _load_event(item, run_id, seqs)
        _check_depth(event, document)
        events.append(event)
        points.extend(own)
        ended_at = max(ended_at, item.time, *(point.at for point in own))
    points.sort(key=lambda point: point.seq)
    commits = _place(document.commits, run_id, points)
    queries = (point for point in points if point.kind is EventKind.LLM_QUERY)
    run = Run(
        id=run_id,
        name=document.name,
        program=document.program_name,
        started_at=document.start_time,
        ended_at=ended_at,
        state=RunState.IDLE,
        agent_state=AgentActivity.FINISHED,
        can_stop=False,
        rows=sum(1 for event in events if event.kind is EventKind.DEBUG_MESSAGE) + len(points),
        query_bytes=sum(count_utf8_bytes(point.data) for point in queries),
        commits=len(drop_unchanged_commits(commits)),
    )
    return RunHistory(run=run, events=tuple(events), halt_points=tuple(points), commits=commits)


def _seqs(document: _Run) -> list[int]:
    """The numbers of the rows, in the order in which they are filed: by event.

    A row's place is what the file says, or else its time: an event's end is filed beside its begin,
    though other events may have happened between. Rows of the same second stay as they are filed.
    """
    places: list[float | UnsetType] = []
    times: list[float] = []
    for item in document.events:
        if item.type == EventKind.DEBUG_MESSAGE.name:
            places.append(item.seq)
            times.append(item.time)
        else:
            places.extend(point.seq for point in item.breakpoints)
            times.extend(accumulate((point.time for point in item.breakpoints), max))
    told = [place for place in places if place is not UNSET]
    if told and (len(told) < len(places) or len(set(told)) < len(told)):
        raise make_corrupt_error("The .run file's rows are numbered wrong")
    keys = told or times
    seqs = [0] * len(keys)
    for seq, at in enumerate(sorted(range(len(keys)), key=keys.__getitem__), 1):
        seqs[at] = seq
    return seqs


def _check_depth(event: Event, document: _Run) -> None:
    """Nothing is inside of more events than there are."""
    if event.depth >= len(document.events):
        raise make_corrupt_error("The .run file has an event that is inside of more than there are")


def _load_event(item: _Event, run_id: str, seqs: Iterator[int]) -> tuple[Event, list[HaltPoint]]:
    kind, name = load_kind(item.type, item.data)
    if kind is None:
        raise make_corrupt_error(f"The .run file has an event of unknown type “{item.type[:80]}”")
    if kind is EventKind.DEBUG_MESSAGE and item.breakpoints:
        raise make_corrupt_error("The .run file has a debug message with breakpoints")
    if kind is EventKind.TOOL_INVOCATION and name is None and item.breakpoints:
        name = find_tool_name(bytes(item.breakpoints[0].original_data))
    data = _content(item.data)
    event = Event(
        id=item.uuid,
        run=run_id,
        kind=kind,
        at=item.time,
        parent=None if item.parent is UNSET else item.parent,
        depth=0 if item.depth is UNSET else item.depth,
        name=name,
        scope=() if item.scope is UNSET else item.scope,
        label=None if item.label is UNSET else item.label,
        content_hash=None if item.content_hash is UNSET else item.content_hash,
        seq=next(seqs) if kind is EventKind.DEBUG_MESSAGE else 0,
        data=None if data == "null" or kind is EventKind.CUSTOM else data,
        ended_at=item.breakpoints[-1].time if item.breakpoints else item.time,
    )
    points = [
        _load_halt_point(point, event, index, next(seqs))
        for index, point in enumerate(item.breakpoints)
    ]
    if any(after.seq < before.seq for before, after in pairwise(points)):
        raise make_corrupt_error("The .run file has an event that ends before it begins")
    return event, points


def _load_halt_point(point: _Breakpoint, event: Event, index: int, seq: int) -> HaltPoint:
    data, edit = _content(point.original_data), _content(point.modified_data)
    failure = None if point.failure is UNSET else truncate_failure(point.failure)
    own = point.summary
    if point.failure is not UNSET and own == format_failure(point.failure):
        own = None
    return HaltPoint(
        id=point.uuid,
        run=event.run,
        event=event.id,
        seq=seq,
        side=EventSide.END if index and event.kind in PAIRED_EVENT_KINDS else EventSide.BEGIN,
        kind=event.kind,
        name=event.name,
        depth=event.depth,
        scope=event.scope,
        label=event.label,
        at=point.time,
        data=data,
        is_strict_json=is_strict(data),
        agent=truncate_text(point.agent, _MAX_SUMMARY_CHARS),
        summary=None if own is None else truncate_text(own, _MAX_SUMMARY_CHARS),
        outcome=EventOutcome.ERROR if failure else None,
        failure=failure,
        edit=None if edit == "null" else edit,
        answer=AnswerKind.RESUME,
        answered_at=point.time,
    )


def _content(raw: Raw) -> str:
    text = bytes(raw).decode()
    check_content_size(text, _WHAT)
    return text


def _place(commits: list[V1Commit], run_id: str, points: list[HaltPoint]) -> tuple[Commit, ...]:
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
    for change in commit.changes:
        for text in (change.diff, change.content, change.previous_content):
            check_content_size(text, _WHAT)
        if len(change.path) > _MAX_PATH_CHARS:
            raise make_corrupt_error("The .run file has too long a path")
    try:
        return replace(load_commit(commit), title=truncate_text(commit.title, _MAX_SUMMARY_CHARS))
    except ProtocolError as error:
        raise make_corrupt_error(f"The .run file has a damaged commit ({error.message})") from None
