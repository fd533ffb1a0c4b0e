"""The due times of delayed and periodic actions, and their next occurrence: the rules of every store.

All times are POSIX seconds, and the times of a cron expression are UTC. No function reads a clock.
"""

from __future__ import annotations

import math
import uuid
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from ... import typed_json
from ...protocol.runtime import Action, ActionKind, ActionStatus
from ...protocol.runtime_requests import CreateAgentPayload
from ...protocol.runtime_store_messages import CreateAgentSession
from ...protocol.session_creation import add_participant, make_creation

_NAMESPACE: Final = uuid.UUID("2b7a4f0e-9d0c-4f5e-8a55-5f0c9a7d1e31")
#: Years within which a cron expression must have a time: 29 February recurs after 8 at most.
_MAX_YEARS_BETWEEN: Final = 8


def find_first_due(
    now: float, not_before: float | None, every: float | None, cron: str | None
) -> float | None:
    """Compute when a new action is due; None: at once.

    Args:
        now: The time of enqueuing.
        not_before: The earliest due time.
        every: The period, in seconds.
        cron: The cron expression of its due times.

    Raises:
        ValueError: Both a period and a cron expression are given; the cron expression is invalid, or
            has no time.
    """
    if every is not None and cron is not None:
        raise ValueError("give `every` or `cron`, not both.")
    if cron is None:
        return not_before
    # The time before, so that `not_before` itself counts where the expression names it.
    return _find_cron_time(cron, math.ceil(max(now, not_before or now)) - 1)


def find_next_due(action: Action, now: float) -> float | None:
    """When the next occurrence of an action is due; None where there is none.

    Occurrences that were missed are left out: the next one lies after now.

    Args:
        action: The occurrence that ended.
        now: When it ended.
    """
    due = action.created_at if action.not_before is None else action.not_before
    if action.every is not None:
        missed = math.floor(max(0.0, now - due) / action.every)
        return due + action.every * (missed + 1)
    if action.cron is None:
        return None
    try:
        return _find_cron_time(action.cron, max(now, due))
    except ValueError:  # it names no time any more
        return None


def is_delayed(action: Action) -> bool:
    """Whether a new action waits for its time."""
    return action.not_before is not None and action.not_before > action.created_at


def is_periodic(action: Action) -> bool:
    """Whether another occurrence follows where an action ends."""
    return action.every is not None or action.cron is not None


def make_next_occurrence(
    action: Action, now: float, is_session_live: bool
) -> Action | CreateAgentSession | None:
    """Make what must be enqueued in the transaction in which an action ends, if anything.

    Args:
        action: The action, as it ended: done or failed.
        now: The time of its end.
        is_session_live: Whether its session is live: actions of an ended session don't recur.

    Returns:
        The next occurrence; if that creates a session, with the session. Its ids are derived from the
        action's, so that the same end never makes two occurrences.
    """
    if action.kind is not ActionKind.CREATE and not is_session_live:
        return None
    due = find_next_due(action, now)
    if due is None:
        return None
    following = replace(
        _reset(action), id=_derive_id("action", action.id), created_at=now, not_before=due
    )
    if action.kind is not ActionKind.CREATE:
        return following
    following = replace(following, session_id=_derive_id("session", action.id))
    return _make_session(following, action)


def make_retry(failed: Action, new_id: str, now: float) -> Action:
    """Make the action that replaces a failed one. It is due at once, and only once: if the failed one
    was periodic, its next occurrence is enqueued already.

    Args:
        failed: The failed action.
        new_id: The id of the new action.
        now: The time of enqueuing.
    """
    return replace(
        _reset(failed),
        id=new_id,
        created_at=now,
        retry_of=failed.id,
        not_before=None,
        every=None,
        cron=None,
        series_id=None,
    )


def cancel(action: Action, now: float | None) -> Action | None:
    """Make the state of a delayed or periodic action after a person has cancelled it.

    Args:
        action: The action; for a series, its open occurrence.
        now: The time, in POSIX seconds.

    Returns:
        The action to store; None if there is nothing to cancel. A queued action is discarded; a claimed
        one continues, without a next occurrence.
    """
    if action.status is ActionStatus.CLAIMED and is_periodic(action):
        return replace(action, every=None, cron=None)
    if action.status is ActionStatus.QUEUED and (is_periodic(action) or is_delayed(action)):
        return replace(action, status=ActionStatus.DISCARDED, processed_at=now)
    return None


def _reset(action: Action) -> Action:
    """Copy an action as an unclaimed one."""
    return replace(
        action,
        status=ActionStatus.QUEUED,
        owner=None,
        lease_until=None,
        attempts=0,
        idem_key=None,
        error=None,
        processed_at=None,
        retry_of=None,
    )


def _make_session(following: Action, ended: Action) -> CreateAgentSession | None:
    try:
        payload = typed_json.convert(following.payload, CreateAgentPayload)
    except msgspec.ValidationError:  # written by another program: it can't be created again
        return None
    creation = make_creation(following, payload)
    if payload.conversation_id is None:
        return creation
    ids = (_derive_id(what, ended.id) for what in ("participant", "message"))
    return add_participant(creation, payload, *ids)


def _derive_id(what: str, action_id: str) -> str:
    return str(uuid.uuid5(_NAMESPACE, f"{what}\0{action_id}"))


def _find_cron_time(cron: str, after: float) -> float:
    """Find the first time of a cron expression after another time.

    Raises:
        ValueError: The expression is invalid, or has no time in the next years.
    """
    from croniter import croniter  # on use: few actions have one

    begin = datetime.fromtimestamp(after, UTC)
    try:
        times: Any = croniter(cron, begin, max_years_between_matches=_MAX_YEARS_BETWEEN)
        found: datetime = times.get_next(datetime)
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        raise ValueError(f"{cron!r} names no time in UTC: {error}.") from None
    return found.timestamp()
