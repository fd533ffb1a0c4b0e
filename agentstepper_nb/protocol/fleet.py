"""Queries and answers about all background agents, counted by the store that has their rows.

No message carries a session's `state`, `context` or `result`, which may be large.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from functools import lru_cache
from typing import Annotated, Final

from msgspec import Meta, Struct

from .data_model import EventKind, EventSide, Usage
from .field_types import Count, Id, Time
from .runtime import ActionKind, NonEmptyName, SessionStatus, StepLoss

#: Sessions, failed actions and halted runs that an answer lists at most; counts are of all.
MAX_FLEET_ROWS: Final = 200
#: Errors that an answer lists at most, the most frequent first.
MAX_ERROR_GROUPS: Final = 100
#: Characters of an error, and of what a step said last.
MAX_ERROR_CHARS: Final = 2000
MAX_WORDS_CHARS: Final = 300

FleetLimit = Annotated[int, Meta(ge=0, le=MAX_FLEET_ROWS)]
SearchText = Annotated[str, Meta(max_length=200)]
ErrorKey = Annotated[str, Meta(max_length=1000)]


class FleetStatus(StrEnum):
    """A session's status in a list of many, divided further by what a person can do."""

    CREATED = "created"  # no worker has it yet
    RUNNING = "running"
    RETRYING = "retrying"  # it runs, and its next step failed before
    HALTED = "halted"  # it runs, and its step waits for a person in the debugger
    PAUSED = "paused"
    STOPPING = "stopping"
    STOPPED = "stopped"
    DONE = "done"
    ERROR = "error"
    QUARANTINED = "quarantined"  # it ended as an error, since its step ended its workers


class FleetQuery(Struct, frozen=True, kw_only=True):
    """`fleet`: counts of all sessions, and a page of those that pass the filter, the newest first."""

    status: tuple[FleetStatus, ...] = ()  # any of them; none: all
    moniker: NonEmptyName | None = None
    text: SearchText | None = None  # in agent, session, moniker or error; ASCII in either case
    error: ErrorKey | None = None  # those that ended with an error of this key
    created_until: Time | None = None  # a page stays the same while newer sessions come
    limit: FleetLimit = 0
    offset: Count = 0
    failed_action: ErrorKey | None = None  # list the failed actions whose error has this key
    halted_runs: tuple[Id, ...] = ()  # runs that a person halted: the Core fills this in


class FleetCount(Struct, frozen=True, kw_only=True):
    """The number of a moniker's sessions that have one status."""

    status: FleetStatus
    moniker: NonEmptyName
    count: Count


class ErrorGroup(Struct, frozen=True, kw_only=True):
    """Errors that differ only in numbers and ids."""

    key: str  # what all of them have: `make_error_key`
    message: str  # one of them
    count: Count


class FleetSession(Struct, frozen=True, kw_only=True):
    """A session in a list."""

    agent_id: NonEmptyName
    session_id: Id
    status: FleetStatus
    moniker: NonEmptyName
    iteration: Count
    run_id: Id | None = None
    words: str = ""  # what its last step said
    last_error: str | None = None
    attempt: Count = 0
    next_try_at: Time | None = None
    losses: tuple[StepLoss, ...] = ()
    is_pausing: bool = False  # it is paused once the step that is under way has ended
    created_at: Time
    updated_at: Time


class FailedAction(Struct, frozen=True, kw_only=True):
    """A dead letter, without its payload."""

    id: Id
    kind: ActionKind
    agent_id: NonEmptyName
    session_id: Id
    error: str
    created_at: Time


class FleetReport(Struct, frozen=True, kw_only=True):
    """The store's answer to a `FleetQuery`, all of it read at one moment."""

    counts: tuple[FleetCount, ...]  # of all sessions, whatever the filter
    errors: tuple[
        ErrorGroup, ...
    ]  # of all sessions that ended as an error, the most frequent first
    failed_actions: tuple[ErrorGroup, ...]  # of all dead letters, the most frequent first
    sessions: tuple[FleetSession, ...] = ()  # the page that was asked for
    matching: Count = 0  # sessions that pass the filter
    actions: tuple[FailedAction, ...] = ()  # of `failed_action`, the oldest first
    halted: tuple[FleetSession, ...] = ()  # of the first `MAX_FLEET_ROWS` of `halted_runs`


class HaltedRun(Struct, frozen=True, kw_only=True):
    """A run that waits for a person, of a background session or of any other agent."""

    run_id: Id
    name: str
    program: str
    halted_at: Time | None  # None: not known
    kind: EventKind
    side: EventSide
    where: str  # "tool call run_tests (row 12)"
    summary: str  # one line of what is to be looked at there
    pending: Count = 1  # halt points that wait; the first is described
    is_approval: bool = False  # whether all of them ask for an approval
    breakpoints: Count = 0  # that hit there; none: the run was stepped or halted
    agent_id: NonEmptyName | None = None  # of a background session
    session_id: Id | None = None


class FleetSummary(Struct, frozen=True, kw_only=True):
    """The state of all agents of a Core."""

    at: Time
    report: FleetReport
    inbox: tuple[HaltedRun, ...] = ()  # the oldest first
    halted: Count = 0  # runs that wait for a person
    going: Count = 0  # live runs that would halt at nothing but a breakpoint
    steps_per_minute: float = 0.0  # of the last minute
    usage: Usage  # of all runs that the Core has
    workers: Count = 0


class HaltRuns(Struct, frozen=True, kw_only=True):
    """`halt_runs`: each live run halts at its next halt point."""


class ContinueRuns(Struct, frozen=True, kw_only=True):
    """`continue_runs`: halted runs go on, but for halt points that ask for an approval."""

    runs: tuple[Id, ...] | None = None  # only these; None: all
    but: tuple[Id, ...] = ()  # these stay halted
    halted_until: Time | None = None  # a run that halted later stays: nobody has seen it yet


class RunsChanged(Struct, frozen=True, kw_only=True):
    """The number of runs that `halt_runs` or `continue_runs` changed."""

    changed: Count
    approvals: Count = 0  # runs that stay, since all that is pending asks for an approval


# ---- errors that are alike ---------------------------------------------------------------------------

#: Hex ids of eight digits or more, and numbers, with what joins their parts: times, addresses.
_CHANGING: Final = re.compile(r"\b[0-9a-f]*\d[0-9a-f-]{7,}\b|\d+(?:[.:,]\d+)*", re.IGNORECASE)
_MAX_KEY_CHARS: Final = 300


@lru_cache(maxsize=20_000)
def make_error_key(message: str) -> str:
    """Make the key that similar errors share: the first line without its numbers and ids.

    Args:
        message: An error. Only its beginning counts.
    """
    line = message[: 4 * _MAX_KEY_CHARS].strip().partition("\n")[0]
    return _CHANGING.sub("…", line)[:_MAX_KEY_CHARS]


def group_errors(messages: Iterable[tuple[str | None, int]]) -> tuple[ErrorGroup, ...]:
    """Group errors by the keys that `make_error_key` makes, the most frequent first.

    Args:
        messages: Each different error with how often it stands there.
    """
    counts: dict[str, int] = {}
    examples: dict[str, str] = {}
    for message, count in messages:
        text = message or ""
        key = make_error_key(text)
        counts[key] = counts.get(key, 0) + count
        examples.setdefault(key, text)
    most = sorted(counts, key=lambda key: (-counts[key], key))[:MAX_ERROR_GROUPS]
    return tuple(
        ErrorGroup(key=key, message=examples[key][:MAX_ERROR_CHARS], count=counts[key])
        for key in most
    )


def find_fleet_status(
    status: SessionStatus, *, attempt: int, has_losses: bool, is_halted: bool
) -> FleetStatus:
    """Find a session's status in a list of many.

    Args:
        status: The session's own status.
        attempt: The number of failed tries of the session's next step.
        has_losses: Whether the session's next step ended workers.
        is_halted: Whether the session's run waits for a person.
    """
    if status is SessionStatus.RUNNING:
        if is_halted:
            return FleetStatus.HALTED
        return FleetStatus.RETRYING if attempt else FleetStatus.RUNNING
    if status is SessionStatus.ERROR and has_losses:
        return FleetStatus.QUARANTINED
    return FleetStatus(status)
