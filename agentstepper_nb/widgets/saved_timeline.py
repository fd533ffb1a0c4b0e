"""A run's timeline as self-contained HTML: for saved notebooks, exports, and GitHub.

Every sanitiser accepts the HTML, as it has only tables and text: no script, no link, no picture, and
the few styles are optional. Texts of agents are escaped, invisible characters are shown as a sign, and
no text is rendered as a formula.
"""

from __future__ import annotations

import re
import signal
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from html import escape
from typing import Final, assert_never

from ..protocol.agent import Timeline
from ..protocol.data_model import (
    Actor,
    AnswerKind,
    ChangeKind,
    Commit,
    EventOutcome,
    FileChange,
    Run,
    RunEnding,
    RunState,
    TimelineRow,
)
from ..protocol.lanes import find_label, find_lane, name_lanes
from ..protocol.text_escaping import escape_invisible
from ..protocol.tool_end_summaries import summarize_with_tool

#: Bytes of a page, about: a notebook is read whole by whatever opens it.
MAX_BYTES: Final = 200_000
#: Rows from the start, and as many from the end: the first number with a small enough page is used.
_EDGE_ROWS: Final = (250, 100, 40, 15, 4)
#: Files of a commit under a row, and lines of files and commits in all.
_MAX_FILES: Final = 4
_MAX_LINES: Final = 8
#: Characters of a long text: a failure, a summary, a path or title.
_MAX_LONG_CHARS: Final = 300
_MAX_SHORT_CHARS: Final = 160
_MAX_NAME_CHARS: Final = 80

_ACTORS: Final = {
    Actor.AGENT: "Agent",
    Actor.LLM: "LLM",
    Actor.TOOLS: "Tools",
    Actor.SYSTEM: "System",
}
_OUTCOMES: Final = {EventOutcome.ERROR: "✗ failed", EventOutcome.STOPPED: "■ stopped"}
_ANSWERS: Final = {
    AnswerKind.SKIP: "↷ skipped by you",
    AnswerKind.DENY: "⊘ denied by you",
    AnswerKind.RAISE: "✗ made to fail by you",
    AnswerKind.STOP: "■ stopped by you",
    AnswerKind.WITHDRAWN: "↶ taken back by the agent",
}
_CHANGES: Final = {
    ChangeKind.ADDED: "added",
    ChangeKind.CHANGED: "changed",
    ChangeKind.DELETED: "deleted",
    ChangeKind.RENAMED: "renamed",
}

# JupyterLab's own sheet sets the cells of outputs to the right.
_LEFT_ALIGNED: Final = 'style="text-align:left"'

_NO_BREAK_SPACE: Final = "\N{NO-BREAK SPACE}"

#: The begin of a formula: MathJax renders outputs as well, and formulas can contain links.
_FORMULA: Final = re.compile(r"[$\\]")
#: A word so long that it would push the table's last column out of sight.
_LONG_WORD: Final = re.compile(r"\S{30}(?=\S)")

#: Makes a line under a row; called for shown lines only, as most of thousands are left out.
Line = Callable[[], str]


def render_timeline(timeline: Timeline) -> str:
    """Make the page of a run.

    Args:
        timeline: Of the run, which has ended. Where it, or the page, would be too long, rows in its
            middle are left out, and counted.

    Returns:
        HTML, of some 200 KB at most: no element but `div p b span wbr table caption thead tbody tr th
        td`, no attribute but `scope colspan dir style`.
    """
    lines = _lines(timeline)
    for edge in _EDGE_ROWS:
        page = _page(timeline, lines, edge)
        if len(page.encode()) <= MAX_BYTES:
            break
    return page


def render_missing_timeline(program: str) -> str:
    """Make the page of a run whose timeline could not be read when it ended.

    Args:
        program: The program's name.
    """
    return (
        f"<p>AgentStepper: the run of {_text(program)} has ended. "
        "Its timeline could not be read from the Core.</p>"
    )


def _page(timeline: Timeline, lines: dict[str, list[Line]], edge: int) -> str:
    return "\n".join(
        (
            "<div>",
            *_header(timeline.run),
            "<table>",
            f"<caption {_LEFT_ALIGNED}>Timeline</caption>",
            '<thead><tr><th scope="col">#</th>'
            f'<th scope="col" {_LEFT_ALIGNED}>From → to</th>'
            f'<th scope="col" {_LEFT_ALIGNED}>What</th>'
            '<th scope="col">Took</th></tr></thead>',
            "<tbody>",
            *_body(timeline.rows, lines, edge),
            "</tbody>",
            "</table>",
            "</div>",
        )
    )


# ---- the header ------------------------------------------------------------------------------------


def _header(run: Run) -> Iterator[str]:
    yield f"<p><b>{_text(run.name or run.program)}</b>: {_ending(run)}{_exit(run.exit_code)}</p>"
    if run.failure is not None:
        failure = f"{run.failure.type}: {run.failure.message}"
        yield f"<p>{_text(failure, _MAX_LONG_CHARS)}</p>"
    if run.last_event is not None:
        yield f"<p>The last event: {_text(run.last_event, _MAX_LONG_CHARS)}</p>"
    counts = f"{_count(run.rows, 'event')}, {_count(run.commits, 'commit')}"
    yield f"<p>{counts}. {_times(run)}</p>"


def _ending(run: Run) -> str:
    match run.ending:
        case RunEnding.FINISHED:
            return "✓ finished"
        case RunEnding.STOPPED:
            return "■ stopped"
        case RunEnding.CRASHED:
            return "✗ crashed"
        case RunEnding.LOST:
            return "✗ lost: the agent did not come back"
        case None:
            away = run.state is RunState.DETACHED
            return f"{'its agent was away' if away else 'not ended'} when this was kept"
        case _:
            assert_never(run.ending)


def _exit(code: int | None) -> str:
    """Describe the exit of the agent's process, unless it exited with 0."""
    if not code:
        return ""
    if code > 0:
        return f" (exit code {code})"
    try:
        return f" (killed by {signal.Signals(-code).name})"
    except ValueError:
        return f" (killed by signal {-code})"


def _times(run: Run) -> str:
    if run.ended_at is None or run.ended_at < run.started_at:  # two machines' clocks
        return f"Started {_moment(run.started_at)}."
    took = _duration(run.ended_at - run.started_at)
    return f"Started {_moment(run.started_at)}, ended {_moment(run.ended_at)}: {took}."


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


# ---- the rows --------------------------------------------------------------------------------------


def _body(rows: Sequence[TimelineRow], lines: dict[str, list[Line]], edge: int) -> Iterator[str]:
    shown = rows if len(rows) <= 2 * edge else [*rows[:edge], *rows[-edge:]]
    titles = name_lanes(rows)
    before = 0
    for row in shown:
        if row.seq > before + 1:
            yield _wide(f"… {row.seq - before - 1:,} more")
        before = row.seq
        yield _row(row, titles.get(find_lane(row), ""))
        under = lines.get(row.id, [])
        for line in under[:_MAX_LINES]:
            yield _wide(line())
        if len(under) > _MAX_LINES:
            yield _wide(f"└ … {_count(len(under) - _MAX_LINES, 'more line')}")


def _row(row: TimelineRow, agent: str) -> str:
    what = _agent(row, agent) + _text(summarize_with_tool(row))
    marks = ", ".join(_iterate_marks(row))
    if marks:
        what += f" — {marks}"
    took = "" if row.duration is None else _duration(row.duration).replace(" ", _NO_BREAK_SPACE)
    who = f"{_ACTORS[row.source]}{_NO_BREAK_SPACE}→{_NO_BREAK_SPACE}{_ACTORS[row.target]}"
    return (
        f'<tr><th scope="row">{row.seq}</th><td {_LEFT_ALIGNED}>{who}</td>'
        f"<td {_LEFT_ALIGNED}>{what}</td><td>{took}</td></tr>"
    )


def _agent(row: TimelineRow, title: str) -> str:
    """Format the agent of a row, as the begin of the row."""
    label = find_label(row)
    name = f"<b>{_text(title, _MAX_NAME_CHARS)}</b>" if title else ""
    node = _text(label.node, _MAX_NAME_CHARS) if label is not None and label.node else ""
    agent = " at ".join(filter(None, (name, node)))
    return f"{agent}: " if agent else ""


def _iterate_marks(row: TimelineRow) -> Iterator[str]:
    if row.edited:
        yield "✎ edited by you"
    if row.outcome in _OUTCOMES:
        yield _OUTCOMES[row.outcome]
    if row.answer in _ANSWERS:
        yield _ANSWERS[row.answer]


def _wide(content: str) -> str:
    return f'<tr><td></td><td></td><td colspan="2" {_LEFT_ALIGNED}>{content}</td></tr>'


# ---- files -----------------------------------------------------------------------------------------


def _lines(timeline: Timeline) -> dict[str, list[Line]]:
    """Map row ids to the lines under the rows: a tool's changed files, and the agent's commits."""
    steps = any(commit.snapshot for commit in timeline.commits)
    numbers = [row.seq for row in timeline.rows]
    ends: dict[str, TimelineRow] = {}  # each event's last row
    for row in timeline.rows:
        ends[row.event] = row
    lines: dict[str, list[Line]] = {}
    for commit in timeline.commits:
        before = bisect_right(numbers, commit.seq)
        place = ends.get(commit.event or "") if commit.snapshot else None
        if place is None and before:
            place = timeline.rows[before - 1]
        if place is None:
            continue
        under = lines.setdefault(place.id, [])
        if not commit.snapshot:
            under.append(partial(_commit, commit))
        if commit.snapshot or not steps:  # else its files stand under the tools that changed them
            under.extend(_files(commit.changes))
    return lines


def _commit(commit: Commit) -> str:
    added = sum(change.added for change in commit.changes)
    removed = sum(change.removed for change in commit.changes)
    files = _count(len(commit.changes), "file")
    title = commit.model_summary if commit.has_rule_title and commit.model_summary else commit.title
    return f"Commit: {_text(title, _MAX_NAME_CHARS)} ({files}{_diffstat(added, removed)})"


def _files(changes: Sequence[FileChange]) -> Iterator[Line]:
    for change in changes[:_MAX_FILES]:
        yield partial(_file, change)
    if len(changes) > _MAX_FILES:
        yield partial("└ … {}".format, _count(len(changes) - _MAX_FILES, "more file"))


def _file(change: FileChange) -> str:
    path = _text(change.path, _MAX_NAME_CHARS)
    if change.previous_path is not None and change.previous_path != change.path:
        path = f"{_text(change.previous_path, _MAX_NAME_CHARS)} → {path}"
    return f"└ {_CHANGES[change.kind]} {path}{_diffstat(change.added, change.removed)}"


def _diffstat(added: int, removed: int) -> str:
    return (f" +{added:,}" if added else "") + (f" −{removed:,}" if removed else "")


# ---- words -----------------------------------------------------------------------------------------


def _text(text: str, length: int = _MAX_SHORT_CHARS) -> str:
    """A text of an agent on one line, harmless, and turning nothing but itself from right to left."""
    viewed_at = text[: 4 * length]
    line = " ".join(escape_invisible(viewed_at, _sign).split())
    if len(line) > length or len(viewed_at) < len(text):
        line = line[: length - 1] + "…"
    breakable = _LONG_WORD.sub("\\g<0>\0", line)  # no other \0 is left
    harmless = _FORMULA.sub(r"<span>\g<0></span>", escape(breakable)).replace("\0", "<wbr>")
    return f'<span dir="auto">{harmless}</span>'


def _sign(character: str) -> str:
    code = ord(character)
    if 0xD800 <= code <= 0xDFFF:
        return "\N{REPLACEMENT CHARACTER}"
    if code < 0x20:
        return chr(0x2400 + code)  # ␛
    return "␡" if code == 0x7F else f"⟨U+{code:04X}⟩"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _duration(seconds: float) -> str:
    """Format a duration as the view does: "4 ms", "1.84 s", "12.3 s", "3:07"."""
    if seconds < 0.9995:
        return f"{max(0, round(seconds * 1000))} ms"
    if seconds < 9.995:
        return f"{seconds:.2f} s"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    hours, rest = divmod(int(seconds), 3600)
    minutes, seconds = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
