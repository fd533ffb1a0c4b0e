"""Makes pandas tables of runs, rows, commits and search hits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from ..core.timeline_rows import make_debug_row, make_row
from ..protocol.data_model import (
    AnswerKind,
    Commit,
    EventKind,
    EventOutcome,
    Failure,
    Run,
    TimelineRow,
    Usage,
)
from ..protocol.lanes import find_label
from ..protocol.records import RunHistory
from ..protocol.run_queries import SearchHit

if TYPE_CHECKING:
    from pandas import DataFrame

#: Columns of times, integers, booleans, and fractional numbers. Missing values are empty cells of that
#: type.
_TIME_COLUMNS: Final = ("started_at", "ended_at", "at")
_INTEGER_COLUMNS: Final = (
    *("rows", "commits", "exit_code", "pid", "seq", "depth", "size", "files", "added", "removed"),
    *("input_tokens", "output_tokens", "tokens", "forked_at"),
)
_BOOLEAN_COLUMNS: Final = ("edited", "approval", "snapshot")
_FLOAT_COLUMNS: Final = ("duration", "cost")

_NO_PANDAS_MESSAGE: Final = (
    "Tables of runs need pandas, which isn't installed: pip install 'agentstepper_nb[history]'."
)


def make_run_frame(runs: Iterable[Run]) -> DataFrame:
    """Make a table with one row per run; the index has the runs' ids."""
    return _frame([_run(run) for run in runs], _RUN_COLUMNS)


def make_row_frame(history: RunHistory) -> DataFrame:
    """Make a table with one row per row of the timeline; the index has the rows' ids."""
    rows: list[tuple[TimelineRow, str | None]] = [
        (make_row(point), point.model_summary) for point in history.halt_points
    ]
    rows += [
        (make_debug_row(event), None)
        for event in history.events
        if event.kind is EventKind.DEBUG_MESSAGE
    ]
    rows.sort(key=lambda pair: pair[0].seq)
    notes = {note.message: note.text for note in history.notes}
    return _frame([_row(line, details, notes.get(line.id)) for line, details in rows], _ROW_COLUMNS)


def make_commit_frame(commits: Iterable[Commit]) -> DataFrame:
    """Make a table with one row per commit; the index has the commits' ids."""
    return _frame([_commit(commit) for commit in commits], _COMMIT_COLUMNS)


def make_search_hit_frame(hits: Iterable[SearchHit], runs: Iterable[Run]) -> DataFrame:
    """Make a table with one row per search hit, newest first.

    Args:
        hits: The hits.
        runs: The runs that the hits are in.
    """
    names = {run.id: run.name for run in runs}
    return _frame([_hit(hit, names.get(hit.run)) for hit in hits], _HIT_COLUMNS, index=None)


_RUN_COLUMNS: Final = (
    *("id", "name", "program", "state", "ending", "started_at", "ended_at", "duration", "rows"),
    *("commits", "input_tokens", "output_tokens", "cost", "tags", "workspace", "host", "pid"),
    *("exit_code", "failure", "last_event", "forked_from", "forked_at"),
)


def _run(run: Run) -> dict[str, Any]:
    return {
        "id": run.id,
        "name": run.name,
        "program": run.program,
        "state": str(run.state),
        "ending": _enum_value(run.ending),
        "started_at": run.started_at,
        "ended_at": run.ended_at,
        "duration": None if run.ended_at is None else run.ended_at - run.started_at,
        "rows": run.rows,
        "commits": run.commits,
        "input_tokens": run.usage and run.usage.input_tokens,
        "output_tokens": run.usage and run.usage.output_tokens,
        "cost": run.usage and run.usage.cost,
        "tags": list(run.tags),
        "workspace": run.workspace,
        "host": run.host,
        "pid": run.pid,
        "exit_code": run.exit_code,
        "failure": _failure(run.failure),
        "last_event": run.last_event,
        "forked_from": run.forked_from.run if run.forked_from else None,
        "forked_at": (run.forked_from.row or None) if run.forked_from else None,
    }


_ROW_COLUMNS: Final = (
    *("id", "seq", "kind", "side", "name", "source", "target", "summary", "sentence", "at"),
    *(
        "duration",
        "tokens",
        "cost",
        "outcome",
        "failure",
        "edited",
        "answer",
        "approval",
        "reason",
        "size",
        "depth",
        "event",
    ),
    *("note", "agent", "node"),
)


def _row(line: TimelineRow, sentence: str | None, note: str | None) -> dict[str, Any]:
    label = find_label(line)
    return {
        "id": line.id,
        "seq": line.seq,
        "kind": str(line.kind),
        "side": _enum_value(line.side),
        "name": line.name,
        "source": str(line.source),
        "target": str(line.target),
        "summary": line.summary,
        "sentence": sentence,
        "at": line.at,
        "duration": line.duration,
        "tokens": _tokens(line.usage),
        "cost": line.usage and line.usage.cost,
        "outcome": _enum_value(line.outcome),
        "failure": _failure(line.failure),
        "edited": line.edited,
        "answer": _enum_value(line.answer),
        "approval": line.approval,
        "reason": line.reason,
        "size": line.size,
        "depth": line.depth,
        "event": line.event,
        "note": note,
        "agent": label and (label.name or None),
        "node": label and label.node,
    }


_COMMIT_COLUMNS: Final = (
    *("id", "seq", "at", "title", "description", "sentence", "snapshot", "files", "added"),
    *("removed", "paths", "event"),
)


def _commit(commit: Commit) -> dict[str, Any]:
    return {
        "id": commit.id,
        "seq": commit.seq,
        "at": commit.at,
        "title": commit.title,
        "description": commit.description,
        "sentence": commit.model_summary,
        "snapshot": commit.snapshot,
        "files": len(commit.changes),
        "added": sum(change.added for change in commit.changes),
        "removed": sum(change.removed for change in commit.changes),
        "paths": [change.path for change in commit.changes],
        "event": commit.event,
    }


_HIT_COLUMNS: Final = ("run", "name", "place", "id", "text", "found")


def _hit(hit: SearchHit, name: str | None) -> dict[str, Any]:
    return {
        "run": hit.run,
        "name": name,
        "place": str(hit.place),
        "id": hit.id,
        "text": "".join(hit.snippet),
        "found": list(hit.snippet[1::2]),
    }


def _enum_value(value: AnswerKind | EventOutcome | str | None) -> str | None:
    return None if value is None else str(value)


def _failure(failure: Failure | None) -> str | None:
    return None if failure is None else f"{failure.type}: {failure.message}"


def _tokens(usage: Usage | None) -> int | None:
    """Add the input and output tokens; None if neither is known."""
    details = (usage.input_tokens, usage.output_tokens) if usage else ()
    counts = [count for count in details if count is not None]
    return sum(counts) if counts else None


def _frame(
    rows: Sequence[dict[str, Any]], columns: Sequence[str], index: str | None = "id"
) -> DataFrame:
    try:
        import pandas
    except ImportError:
        raise ImportError(_NO_PANDAS_MESSAGE) from None
    frame = pandas.DataFrame(rows, columns=list(columns), dtype=object)
    for name in columns:
        if name in _TIME_COLUMNS:
            # What an import may tell, and pandas can't: a year after 2262.
            frame[name] = pandas.to_datetime(
                frame[name].astype("float64"), unit="s", utc=True, errors="coerce"
            )
        elif name in _INTEGER_COLUMNS:
            frame[name] = frame[name].astype("Int64")
        elif name in _FLOAT_COLUMNS:
            frame[name] = frame[name].astype("float64")
        elif name in _BOOLEAN_COLUMNS:
            frame[name] = frame[name].astype("bool")
    return frame if index is None else frame.set_index(index)
