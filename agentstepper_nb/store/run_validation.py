"""Checks whether a file's data of a run is consistent, and makes the run an ended one."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from msgspec import UNSET, Struct
from msgspec.structs import replace

from ..errors import ProtocolError
from ..protocol.breakpoint_rules import MAX_BREAKPOINTS
from ..protocol.data_model import (
    AgentActivity,
    AnswerKind,
    Commit,
    Event,
    EventKind,
    EventSide,
    HaltPoint,
    Run,
    RunState,
)
from ..protocol.field_types import EVENT_NAME
from ..protocol.header_limits import (
    MAX_TRACEBACK_CHARS,
    count_utf8_bytes,
    truncate_failure,
    truncate_header,
    truncate_text,
)
from ..protocol.json_limits import CheckCancelled, check_content_size, check_lenient, never_cancel
from ..protocol.records import RunHistory
from ..protocol.v1.agent import is_strict

#: Lengths that the protocol allows.
_MAX_ID_CHARS: Final = 200
_MAX_NAME_CHARS: Final = 1000
_MAX_TAG_CHARS: Final = 60
MAX_TAGS: Final = 20
_MAX_NOTE_CHARS: Final = 10_000
#: The most hits of a breakpoint that a Core stores.
_MAX_HITS: Final = 1000
_MAX_ERROR_CHARS: Final = 1000
_MAX_REASON_CHARS: Final = 10_000
_MAX_PATH_CHARS: Final = 4096
#: Characters of an agent's or a model's summary of a row or a commit; longer ones are cut.
_MAX_SUMMARY_CHARS: Final = 1000
_MAX_DESCRIPTION_CHARS: Final = 10_000
_SUBJECT: Final = "The archive"
#: Numbers that every JSON parser holds, and moments that every calendar has.
_COUNT_END: Final = 2**53
_TIME_END_S: Final = 253402300800
_TIMES: Final = ("at", "started_at", "ended_at", "answered_at")


def prepare_import(
    history: RunHistory, run_id: str | None = None, check: CheckCancelled = never_cancel
) -> RunHistory:
    """Validate a run for an import, and mark it as ended.

    Args:
        history: The file's run.
        run_id: The id for the run; None keeps the file's id.
        check: Called between two steps; it raises an exception to cancel the work.

    Raises:
        ProtocolError: `corrupt_import`: the run contradicts itself, or violates the protocol;
            `too_large`: a content is above the limit.
    """
    _check(history, check)
    history = number_rows(history)
    id = history.run.id if run_id is None else run_id
    end = max(_iterate_times(history))
    return RunHistory(
        run=truncate_header(_end_run(replace(history.run, id=id), history, end)),
        events=_move_to_run(history.events, id),
        halt_points=tuple(
            _cut_point(_withdraw_if_unanswered(point, end))
            for point in _move_to_run(history.halt_points, id)
        ),
        commits=tuple(_cut_commit(commit) for commit in _move_to_run(history.commits, id)),
        notes=_move_to_run(history.notes, id),
    )


def _move_to_run(items: tuple[Any, ...], run: str) -> tuple[Any, ...]:
    return tuple(item if item.run == run else replace(item, run=run) for item in items)


def _end_run(run: Run, history: RunHistory, end: float) -> Run:
    """Mark the header of a run that was exported while live as ended."""
    rows = len(history.halt_points) + len(_debug_messages(history))
    queries = (each for each in history.halt_points if each.kind is EventKind.LLM_QUERY)
    run = replace(run, rows=rows, query_bytes=sum(count_utf8_bytes(each.data) for each in queries))
    if not run.live:
        return replace(run, agent_state=AgentActivity.FINISHED, pending=(), stopping=False)
    return replace(
        run,
        state=RunState.IDLE,
        agent_state=AgentActivity.FINISHED,
        ended_at=end,
        pending=(),
        stopping=False,
        can_stop=False,
        detached_at=None,
    )


def _withdraw_if_unanswered(point: HaltPoint, end: float) -> HaltPoint:
    if point.answer is not None:
        return point
    return replace(point, answer=AnswerKind.WITHDRAWN, answered_at=end)


def _cut_point(point: HaltPoint) -> HaltPoint:
    """A halt point with the texts that lists of rows show cut to their bounds."""
    failure = None if point.failure is None else truncate_failure(point.failure)
    agent, summary = _cut_summary(point.agent), _cut_summary(point.summary)
    sentence = _cut_summary(point.model_summary)
    traceback = truncate_text(point.traceback, MAX_TRACEBACK_CHARS)
    if (failure, agent, summary, sentence, traceback) == (
        *(point.failure, point.agent, point.summary, point.model_summary, point.traceback),
    ):
        return point
    return replace(
        point,
        failure=failure,
        agent=agent,
        summary=summary,
        model_summary=sentence,
        traceback=traceback,
    )


def _cut_commit(commit: Commit) -> Commit:
    """A commit with its texts cut to their bounds."""
    texts = {
        "title": _cut_summary(commit.title),
        "description": truncate_text(commit.description, _MAX_DESCRIPTION_CHARS),
        "model_summary": _cut_summary(commit.model_summary),
    }
    changed = any(getattr(commit, name) != text for name, text in texts.items())
    return replace(commit, **texts) if changed else commit


def _cut_summary(text: str | None) -> str | None:
    return None if text is None else truncate_text(text, _MAX_SUMMARY_CHARS)


def _iterate_times(history: RunHistory) -> Iterator[float]:
    yield history.run.started_at
    for items in (history.events, history.halt_points, history.commits):
        yield from (item.at for item in items)


def _debug_messages(history: RunHistory) -> list[Event]:
    return [event for event in history.events if event.kind is EventKind.DEBUG_MESSAGE]


# ---- numbers ------------------------------------------------------------------------------------------


def number_rows(history: RunHistory) -> RunHistory:
    """Number a run's rows from 1 without gaps, in their order: pages are found by these numbers.

    Args:
        history: The run; no two rows have the same number.
    """
    rows: list[HaltPoint | Event] = [*history.halt_points, *_debug_messages(history)]
    seqs = sorted(row.seq for row in rows)
    if seqs == list(range(1, len(seqs) + 1)):
        return history
    return _renumbered(history, lambda seq: bisect_right(seqs, seq))


def _renumbered(history: RunHistory, new: Callable[[int], int]) -> RunHistory:
    """With each row's number, and those of the rows that commits and hits name, set anew."""
    run = history.run
    hits = tuple(replace(each, last=new(each.last)) for each in run.hits)
    return replace(
        history,
        run=replace(run, hits=hits),
        events=tuple(
            replace(event, seq=new(event.seq)) if event.kind is EventKind.DEBUG_MESSAGE else event
            for event in history.events
        ),
        halt_points=tuple(replace(point, seq=new(point.seq)) for point in history.halt_points),
        commits=tuple(replace(commit, seq=new(commit.seq)) for commit in history.commits),
    )


# ---- checks -----------------------------------------------------------------------------------------


def _check(history: RunHistory, check: CheckCancelled) -> None:
    _check_header(history.run)
    messages = _debug_messages(history)
    rows: list[HaltPoint | Event] = [*history.halt_points, *messages]
    _check_unique("event", (event.id for event in history.events))
    _check_unique("row", (row.id for row in rows))
    _check_unique("commit", (commit.id for commit in history.commits))
    _check_unique("number", (row.seq for row in rows))
    _check_unique("note", (note.message for note in history.notes))
    events = {event.id: event for event in history.events}
    for event in history.events:
        check()
        _check_item(event)
        # Nothing is inside of more events than there are.
        _require(event.depth < len(history.events), "a depth that is not a number of events")
        _check_json(event.data)
    before = 0
    for point in history.halt_points:
        check()
        _check_item(point)
        _require(point.depth < len(history.events), "a depth that is not a number of events")
        _check_halt_point(point, events.get(point.event), before)
        before = point.seq
    for commit in history.commits:
        _check_commit(commit)
    known = {row.id for row in rows}
    for note in history.notes:
        _check_times(note)
        _require(note.message in known, "a note on no row")
        _require(0 < len(note.text) <= _MAX_NOTE_CHARS, "a note that is empty or too long")


def _check_header(run: Run) -> None:
    _check_times(run)
    _require(0 < len(run.id) <= _MAX_ID_CHARS, "a run without an id, or with too long a one")
    _require(max(len(run.name), len(run.program)) <= _MAX_NAME_CHARS, "too long a name")
    _require(len(run.tags) <= MAX_TAGS, "too many tags")
    _require(
        all(0 < len(tag) <= _MAX_TAG_CHARS for tag in run.tags), "an empty tag or too long a one"
    )
    _check_unique("breakpoint's count", (hits.breakpoint for hits in run.hits))
    _require(len(run.hits) <= _MAX_HITS, "hits of too many breakpoints")
    for hits in run.hits:
        _require(
            0 < len(hits.breakpoint) <= _MAX_ID_CHARS,
            "a breakpoint without an id, or with too long a one",
        )
        _require(
            all(0 < n < _COUNT_END for n in (hits.count, hits.last)),
            "a breakpoint with an invalid count",
        )


def _check_item(item: Event | HaltPoint) -> None:
    _check_times(item)
    _require(0 < len(item.id) <= _MAX_ID_CHARS, "an id that is empty or too long")
    _require(len(item.name or "") <= _MAX_NAME_CHARS, "too long a name")
    _require(item.depth >= 0, "a depth that is not a number of events")
    least = 0 if isinstance(item, Event) and item.kind is not EventKind.DEBUG_MESSAGE else 1
    _require(least <= item.seq < _COUNT_END, "a row with no number")
    if item.kind is EventKind.CUSTOM:
        _require(EVENT_NAME.fullmatch(item.name or "") is not None, "an event of no type")


def _check_halt_point(point: HaltPoint, event: Event | None, before: int) -> None:
    _require(event is not None and event.kind is point.kind, "a halt point of no event")
    _require(point.kind is not EventKind.DEBUG_MESSAGE, "a debug message with halt points")
    _require(before < point.seq, "halt points in no order")
    _require(1 <= point.revision < _COUNT_END, "an invalid revision")
    _require(len(point.breakpoints) <= MAX_BREAKPOINTS, "too many breakpoints at a row")
    _require(
        len(point.breakpoint_error or "") <= _MAX_ERROR_CHARS, "too long an error of a breakpoint"
    )
    _require(
        all(0 < len(id) <= _MAX_ID_CHARS for id in point.breakpoints), "a breakpoint without an id"
    )
    calls = point.kind is EventKind.TOOL_INVOCATION and point.side is EventSide.BEGIN
    _require(point.approval is None or calls, "an approval of no call")
    _require(len(point.reason or "") <= _MAX_REASON_CHARS, "too long a reason")
    _check_json(point.data, strict=point.is_strict_json)
    _check_json(point.edit)
    for text in (point.supplied, point.schema, point.signal):
        _check_json(None if text is UNSET else text)
    for texts in (point.guides, point.edit_rules):
        _require(texts is UNSET or len(texts) <= MAX_BREAKPOINTS, "too many guides or edit rules")


def _check_commit(commit: Commit) -> None:
    _check_times(commit)
    _require(0 < len(commit.id) <= _MAX_ID_CHARS, "an id that is empty or too long")
    _require(0 <= commit.seq < _COUNT_END, "a commit at no row")
    for change in commit.changes:
        paths = (change.path, change.previous_path or "", change.digest or "")
        _require(max(map(len, paths)) <= _MAX_PATH_CHARS, "too long a path")
        if change.body is not None:
            for text in (change.body.diff, change.body.content, change.body.previous_content):
                check_content_size(text, _SUBJECT)
        counts = (change.added, change.removed, change.size or 0)
        _require(all(0 <= count < _COUNT_END for count in counts), "a change with an invalid count")


def _check_unique(what: str, ids: Iterable[object]) -> None:
    found = list(ids)
    _require(len(set(found)) == len(found), f"one {what} twice")


def _check_times(item: Struct) -> None:
    for name in _TIMES:
        at = getattr(item, name, None)
        _require(at is None or 0 <= at < _TIME_END_S, "an invalid time")


def _check_json(text: str | None, *, strict: bool = False) -> None:
    """Check that a content is JSON; version 1 contents may use NaN as Python's parser does."""
    if text is None:
        return
    check_content_size(text, _SUBJECT)
    if not is_strict(text):
        _require(not strict and _is_lenient(text), "a content that is not JSON")


def _is_lenient(text: str) -> bool:
    check_lenient(text, _SUBJECT)
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def make_corrupt_error(reason: str) -> ProtocolError:
    """Make the error of a file that can't be imported.

    Args:
        reason: The reason; it may quote the file.
    """
    return ProtocolError("corrupt_import", f"{reason[:500]}: export it again.")


def _require(is_valid: bool, problem: str) -> None:
    if not is_valid:
        raise make_corrupt_error(f"The archive is damaged: it has {problem}")
