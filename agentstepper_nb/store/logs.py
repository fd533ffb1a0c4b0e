"""A run as text, for people."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from ..protocol.records import RunHistory
from ..protocol.values import Breakpoint, Commit, Event, EventKind
from ..protocol.visible import on_one_line


def readable(history: RunHistory) -> str:
    """The run as text: a heading, then what happened in its order."""
    return "\n".join(_lines(history)) + "\n"


def _lines(history: RunHistory) -> Iterator[str]:
    run = history.run
    yield on_one_line(f"{run.name} ({run.program})")
    yield f"started {_time(run.started_at)}"
    if run.ended_at is not None:
        yield f"ended {_time(run.ended_at)}{f', {run.ending}' if run.ending else ''}"
    if run.failure:
        yield on_one_line(f"{run.failure.type}: {run.failure.message}")
    for _, lines in sorted(_blocks(history), key=lambda block: block[0]):
        yield ""
        yield from lines


def _blocks(history: RunHistory) -> Iterator[tuple[tuple[int, int], list[str]]]:
    """Each row and commit with its place; a commit stands after the row it followed."""
    for breakpoint in history.breakpoints:
        yield (breakpoint.seq, 0), _breakpoint(breakpoint)
    for event in history.events:
        if event.kind is EventKind.DEBUG_MESSAGE:
            yield (event.seq, 0), _debug_message(event)
    for index, commit in enumerate(history.commits):
        yield (commit.seq, index + 1), _commit(commit)


def _breakpoint(breakpoint: Breakpoint) -> list[str]:
    custom = breakpoint.kind is EventKind.CUSTOM
    kind = (breakpoint.name if custom else None) or breakpoint.kind
    words = f"{kind.replace('_', ' ')}, {breakpoint.side}"
    summary = breakpoint.summary or breakpoint.sentence or ""
    head = f"[{breakpoint.seq}] {_time(breakpoint.at)} {words}: {summary}".rstrip(": ")
    lines = [on_one_line(head)]
    lines.append(breakpoint.data)
    if breakpoint.edit is not None:
        lines.append(f"edited to: {breakpoint.edit}")
    if breakpoint.approval is not None:
        lines.append(
            f"asks for approval, {breakpoint.approval.risk} risk: {breakpoint.approval.why}"
        )
    if breakpoint.reason:
        lines.append(on_one_line(f"denied: {breakpoint.reason}"))
    if breakpoint.failure:
        failure = f"{breakpoint.failure.type}: {breakpoint.failure.message}"
        lines.append(on_one_line(failure))
    return lines


def _debug_message(event: Event) -> list[str]:
    return [f"[{event.seq}] {_time(event.at)} debug message", event.data or ""]


def _commit(commit: Commit) -> list[str]:
    lines = [f"commit {commit.id[:12]} {_time(commit.at)} {commit.title}"]
    lines += [
        f"  {change.kind} {change.path} +{change.added} -{change.removed}"
        for change in commit.changes
    ]
    return list(map(on_one_line, lines))


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
