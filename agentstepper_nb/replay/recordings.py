"""`Recording`: a recorded run whose outcomes can be served to a replay."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from msgspec import UNSET

from ..protocol.data_model import AnswerKind, Event, EventKind, EventSide, HaltPoint
from ..protocol.opaque_values import REPR_KEY, find_opaque_values
from ..protocol.records import RunHistory
from ..protocol.replay_marks import ReplayRole
from ..protocol.seams import FoundBy
from .content_hashes import ContentHasher
from .event_matcher import EventKey, RecordedEvent

#: Events that have outcomes.
_KINDS: Final = (EventKind.LLM_QUERY, EventKind.TOOL_INVOCATION, EventKind.CUSTOM)
#: The text that replaces a secret in a recording.
_MASK: Final = re.compile(r"\[masked [^\]\"]+\]")
_OPAQUE_SIGNAL: Final = "Its framework ended it by an exception that JSON can’t carry."
#: Why a result with masks isn't served.
MASKED_REASON: Final = "Its result has secrets, which were masked."
#: The answers by which a call wasn't made, so that its end isn't an outcome of the call.
_NOT_MADE: Final = (AnswerKind.DENY, AnswerKind.STOP, AnswerKind.WITHDRAWN)


class RecordedFiles(NamedTuple):
    """The place where a run's files are stored."""

    run: str  # its id
    program: str
    folder: str  # its workspace
    snapshots: tuple[tuple[int, str], ...]  # each the number of the last row before, and git's hash
    first_row: int = 0  # the first with files of its own: of a fork the row at which it was forked

    def find_snapshot(self, row: int) -> str | None:
        """Return git's hash of the last snapshot before a row; None: no snapshot is older."""
        return next((commit for seq, commit in reversed(self.snapshots) if seq < row), None)


@dataclass(frozen=True)
class Recording:
    """A recorded run that can be replayed.

    Args:
        run: The run's id.
        program: The program's name.
        events: The run's queries, tool calls and custom events, ordered by seq.
        hasher: Makes the hashes by which events are found.
        started_at: The run's start, in POSIX seconds.
        discovers_tools: Whether plain functions were recorded as tools.
        files: The place of the run's files; None: the run had no workspace.
    """

    run: str
    program: str
    events: tuple[RecordedEvent, ...]
    hasher: ContentHasher
    started_at: float = 0.0
    discovers_tools: bool = False
    files: RecordedFiles | None = None


def make_recording(
    history: RunHistory, hash_key: str | None = None, volatile: Sequence[str] = ()
) -> Recording:
    """Make a recording of a run.

    Args:
        history: The whole run.
        hash_key: The key of the run's hashes, in hex; None: not known, as for an imported run.
            Without a key, and if patterns are given, the stored requests are hashed again.
        volatile: Regular expressions for text that differs in each execution: dates, ids, temporary
            paths. Their matches are removed from requests before the requests are hashed.

    Raises:
        re.error: A pattern is no regular expression.
    """
    key = None if volatile or hash_key is None else bytes.fromhex(hash_key)
    hasher = ContentHasher(key, tuple(volatile))
    begins, ends = _split_sides(history.halt_points)
    events = (
        _make_event(event, begins[event.id], ends.get(event.id), hasher)
        for event in history.events
        if event.kind in _KINDS and event.id in begins
    )
    return Recording(
        run=history.run.id,
        program=history.run.program,
        events=tuple(sorted(events, key=lambda event: event.seq)),
        hasher=hasher,
        started_at=history.run.started_at,
        discovers_tools=any(event.found_by is FoundBy.DISCOVERY for event in history.events),
        files=find_recorded_files(history),
    )


def find_recorded_files(history: RunHistory) -> RecordedFiles | None:
    """Find where a run's files are stored; None: the run had no workspace."""
    run = history.run
    if run.workspace is None:
        return None
    snapshots = tuple((commit.seq, commit.id) for commit in history.commits)
    first_row = _find_first_own_row(history.halt_points)
    return RecordedFiles(run.id, run.program, run.workspace, snapshots, first_row)


def _find_first_own_row(points: Sequence[HaltPoint]) -> int:
    """The row from which on a run changed files itself: before, another run's outcomes were served."""
    marked = [point for point in points if point.replay is not UNSET]
    forked = (point.seq for point in marked if _has_role(point, ReplayRole.FORKED))
    return next(forked, points[-1].seq + 1 if marked else 0)


def _has_role(point: HaltPoint, role: ReplayRole) -> bool:
    return point.replay is not UNSET and point.replay.role is role


def _split_sides(
    points: Iterable[HaltPoint],
) -> tuple[dict[str, HaltPoint], dict[str, HaltPoint]]:
    """The begins and the ends of events, by event."""
    begins: dict[str, HaltPoint] = {}
    ends: dict[str, HaltPoint] = {}
    for point in points:
        (begins if point.side is EventSide.BEGIN else ends)[point.event] = point
    return begins, ends


def _make_event(
    event: Event, begin: HaltPoint, end: HaltPoint | None, hasher: ContentHasher
) -> RecordedEvent:
    if hasher.key is not None and event.content_hash:
        content_hash = event.content_hash
    else:
        content_hash = hasher.hash(begin.data)
    failure = None if end is None or end.is_replaced else end.failure
    signal = None if end is None or end.signal is UNSET else end.signal
    return RecordedEvent(
        id=event.id,
        seq=begin.seq,
        end_seq=None if end is None else end.seq,
        at=event.at,
        key=EventKey(event.scope, event.kind, event.name, content_hash),
        request=begin.data,
        parent=event.parent,
        result=None if end is None or failure is not None or signal else end.current,
        failure=failure,
        signal=signal,
        refusal=_find_refusal(begin, end),
    )


def _find_refusal(begin: HaltPoint, end: HaltPoint | None) -> str | None:
    """Why an outcome can't be served; None where it can."""
    if end is None:
        return "Its end was not recorded."
    if begin.answer in _NOT_MADE or end.answer in _NOT_MADE:
        return "A person ended it."
    if end.signal is not UNSET:
        return _find_signal_refusal(end.signal)
    if end.failure is not None and not end.is_replaced:
        return None
    return _find_result_refusal(end)


def _find_result_refusal(end: HaltPoint) -> str | None:
    text = end.current
    if _MASK.search(text):
        return MASKED_REASON
    if not end.is_strict_json:
        return "Its result is no strict JSON."
    if f'"{REPR_KEY}"' in text and next(find_opaque_values(json.loads(text)), None):
        return "Its result has values that JSON can’t carry."
    if end.result_type is not UNSET and end.edit is None:
        return f"Its result is of the class {end.result_type}, which JSON doesn’t have."
    return None


def _find_signal_refusal(signal: str) -> str | None:
    if _MASK.search(signal):
        return MASKED_REASON
    return None if "args" in json.loads(signal) else _OPAQUE_SIGNAL
