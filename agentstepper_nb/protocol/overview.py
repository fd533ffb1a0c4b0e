"""A run at a glance: how it came out, its calls, files, repetitions and errors."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from .data_model import ChangeKind
from .effects import CheckRun, EffectCheckInfo, EffectMark, Repetition
from .field_types import Count

# Rows are named by their seq.


class GetOverview(Struct, frozen=True, kw_only=True):
    """Answered by `RunOverview`."""

    run: str


class RunOutcome(StrEnum):
    """The outcome of a run, as far as its record tells."""

    RUNNING = "running"
    FINISHED = "finished"
    GAVE_UP = "gave_up"  # it ended without an exception, and short of its task by its own words
    STOPPED = "stopped"  # by a person
    CRASHED = "crashed"
    LOST = "lost"


class Contradiction(Struct, frozen=True, kw_only=True):
    """A fact of the record that contradicts a run's ending or the agent's last message."""

    text: str
    row: Count | None = None  # where it can be seen


class ToolUse(Struct, frozen=True, kw_only=True):
    """The calls of one tool."""

    name: str
    calls: Count
    failures: Count  # that raised, or said that they failed
    marked: Count  # whose ends have marks
    seconds: float  # of all calls together
    first: Count
    last: Count


class FileUse(Struct, frozen=True, kw_only=True):
    """A file that a run read or changed."""

    path: str
    reads: Count
    changes: Count
    added: Count  # lines
    removed: Count  # lines
    kind: ChangeKind | None  # of its last change
    first: Count
    last: Count
    commit: str | None = None  # the id of the last commit that has it


class RepeatedCall(Struct, frozen=True, kw_only=True):
    """A call that came again with the same result, or a cycle of calls."""

    tool: str
    summary: str  # the call, in one line
    row: Count  # the last end that repeats it
    repetition: Repetition


class RunErrorGroup(Struct, frozen=True, kw_only=True):
    """Errors that say the same but for numbers, paths and quoted names."""

    text: str  # the first of them
    source: str  # the tool, the model or the custom event's type
    count: Count
    first: Count
    last: Count


class MarkedRow(Struct, frozen=True, kw_only=True):
    """A tool's end that effect checks mark."""

    row: Count
    tool: str
    marks: tuple[EffectMark, ...]


class RunOverview(Struct, frozen=True, kw_only=True):
    """Answers `GetOverview`."""

    run: str
    rows: Count  # of the run that it is made of: those up to the first that waits
    outcome: RunOutcome
    reason: str = ""  # why the run counts as given up
    said: str = ""  # the agent's last words, in one line
    said_row: Count | None = None
    contradictions: tuple[Contradiction, ...] = ()
    tools: tuple[ToolUse, ...] = ()  # the most called first
    queries: Count = 0
    query_seconds: float = 0.0
    files: tuple[FileUse, ...] = ()  # the changed ones first, in the order of their first rows
    more_files: Count = 0
    repeated: tuple[RepeatedCall, ...] = ()  # the most repeated first
    errors: tuple[RunErrorGroup, ...] = ()  # the most frequent first
    marked: tuple[MarkedRow, ...] = ()  # by row, the first hundred
    checks: tuple[EffectCheckInfo, ...] = ()  # which there are
    check_runs: tuple[CheckRun, ...] = ()
