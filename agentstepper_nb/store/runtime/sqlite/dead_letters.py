"""Failed actions are retried or discarded; delayed and periodic ones are cancelled."""

from __future__ import annotations

import sqlite3
from typing import Final

from msgspec.structs import replace

from ....errors import CommandError
from ....protocol.runtime import Action, ActionKind, ActionStatus, SessionStatus
from ....protocol.runtime_store_messages import ActionList, DiscardAction, RetryAction
from .. import schedules
from . import mutations
from .row_codec import ACTIONS, find_row, make_select

#: The occurrence of a periodic action that is open: it is the last.
SELECT_OPEN_OF_SERIES: Final = (
    f"{make_select(ACTIONS)} INDEXED BY actions_of_series"
    " WHERE series_id = ? AND rank IS NOT NULL ORDER BY n DESC LIMIT 1"
)


def retry_action(connection: sqlite3.Connection, request: RetryAction) -> ActionList:
    """See `RuntimeStore.retry_action`."""
    failed = _read_action(connection, request.id)
    if failed.status is ActionStatus.RETRIED:
        known = find_row(connection, ACTIONS, "retry_of", failed.id)
        return ActionList(actions=() if known is None else (known, failed))
    _require_failed(failed)
    again = schedules.make_retry(failed, request.new_id, request.now)
    mutations.add_action(connection, again)
    mutations.refresh_first_action(connection, again.session_id)
    return ActionList(actions=(again, _set_status(connection, failed, ActionStatus.RETRIED)))


def discard_action(connection: sqlite3.Connection, request: DiscardAction) -> ActionList:
    """See `RuntimeStore.discard_action`."""
    action = find_row(connection, ACTIONS, "id", request.id)
    if action is not None and action.status is ActionStatus.FAILED:
        _cancel(connection, _find_open(connection, action.series_id), request.now)
        return ActionList(actions=(_set_status(connection, action, ActionStatus.DISCARDED),))
    # The first of a series may be gone: retention doesn't wait for the last.
    is_of_series = action is None or action.series_id is not None
    series_id = request.id if action is None else action.series_id
    action = _find_open(connection, series_id) or _read_action(connection, request.id)
    cancelled = _cancel(connection, action, request.now)
    if cancelled is None and action.status is not ActionStatus.DISCARDED and not is_of_series:
        _require_failed(action)
    return ActionList(actions=(cancelled or action,))


def _find_open(connection: sqlite3.Connection, series_id: str | None) -> Action | None:
    row = connection.execute(SELECT_OPEN_OF_SERIES, (series_id,)).fetchone()
    return None if row is None else ACTIONS.decode_row(row)


def _cancel(
    connection: sqlite3.Connection, action: Action | None, now: float | None
) -> Action | None:
    """Cancel an action that is delayed or periodic; None where there is nothing to cancel."""
    cancelled = None if action is None else schedules.cancel(action, now)
    if cancelled is not None:
        _store_cancelled(connection, cancelled)
    return cancelled


def _store_cancelled(connection: sqlite3.Connection, action: Action) -> None:
    """Store an action that `schedules.cancel` made; end the session that it would have created."""
    if action.status is ActionStatus.CLAIMED:
        connection.execute(
            "UPDATE actions SET every = NULL, cron = NULL WHERE id = ?", (action.id,)
        )
        return
    connection.execute(
        "UPDATE actions SET status = ?, processed_at = ?, rank = NULL, due_at = NULL WHERE id = ?",
        (action.status, action.processed_at, action.id),
    )
    if action.kind is ActionKind.CREATE:
        state = mutations.read_session(connection, action.session_id)
        at = action.processed_at or state.updated_at
        state = replace(state, status=SessionStatus.STOPPED, updated_at=at)
        mutations.update_snapshot(connection, state)
    mutations.refresh_first_action(connection, action.session_id)


def _read_action(connection: sqlite3.Connection, action_id: str) -> Action:
    action = find_row(connection, ACTIONS, "id", action_id)
    if action is None:
        raise CommandError("unknown_action", f"There is no action {action_id}.")
    return action


def _require_failed(action: Action) -> None:
    if action.status is not ActionStatus.FAILED:
        raise CommandError(
            "action_not_failed",
            f"The action {action.id} is {action.status}: only a failed action can be retried or "
            "discarded.",
        )


def _set_status(connection: sqlite3.Connection, action: Action, status: ActionStatus) -> Action:
    connection.execute("UPDATE actions SET status = ? WHERE id = ?", (status, action.id))
    return replace(action, status=status)
