"""What is stored: one record a fact, in the order they became true.

A Core's state is a fold over these, so that a restart is a replay.
"""

from __future__ import annotations

from msgspec import Struct

from .values import AnswerKind, Breakpoint, Commit, Event, Run


class RunHistory(Struct, frozen=True, kw_only=True):
    """One run, whole: what an export holds."""

    run: Run
    events: tuple[Event, ...] = ()
    breakpoints: tuple[Breakpoint, ...] = ()  # by seq
    commits: tuple[Commit, ...] = ()


class RunStarted(Struct, frozen=True, tag="run_started", kw_only=True):
    """A run began."""

    run: Run


class RunChanged(Struct, frozen=True, tag="run_changed", kw_only=True):
    """A run's state changed: the header replaces the one before."""

    run: Run


class RunRenamed(Struct, frozen=True, tag="run_renamed", kw_only=True):
    """A run got another name: the header replaces the one before."""

    run: Run


class RunImported(Struct, frozen=True, tag="run_imported", kw_only=True):
    """A run came in whole, from a file."""

    history: RunHistory


class RunDeleted(Struct, frozen=True, tag="run_deleted", kw_only=True):
    """A run and all it held is gone."""

    run: str


class EventSaved(Struct, frozen=True, tag="event", kw_only=True):
    """An event began or ended: it replaces the one before."""

    event: Event


class BreakpointSaved(Struct, frozen=True, tag="breakpoint", kw_only=True):
    """A breakpoint was reached."""

    breakpoint: Breakpoint


class BreakpointEdited(Struct, frozen=True, tag="edited", kw_only=True):
    """A pending breakpoint's edit was set, replaced or taken back (`edit` None)."""

    run: str
    breakpoint: str
    revision: int
    edit: str | None


class BreakpointAnswered(Struct, frozen=True, tag="answered", kw_only=True):
    """A breakpoint no longer waits."""

    run: str
    breakpoint: str
    answer: AnswerKind
    at: float


class CommitSaved(Struct, frozen=True, tag="commit", kw_only=True):
    """A commit of the workspace arrived."""

    commit: Commit


Record = (
    RunStarted
    | RunChanged
    | RunRenamed
    | RunImported
    | RunDeleted
    | EventSaved
    | BreakpointSaved
    | BreakpointEdited
    | BreakpointAnswered
    | CommitSaved
)
