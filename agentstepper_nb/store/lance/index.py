"""What claims go by, in memory: the open actions, and the sessions that need a worker.

It is made of the tables when they are opened, and told every change after that is kept.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from ...protocol.runtime import (
    CONTROL_ACTIONS,
    LIVE_STATUSES,
    Action,
    ActionKind,
    ActionStatus,
    AgentState,
)
from .table_specs import ACTIONS, STATES, Changes, Row, TableSpec

_OPEN = frozenset({ActionStatus.QUEUED, ActionStatus.CLAIMED})


def is_open(action: Action) -> bool:
    """Whether somebody has to do it yet."""
    return action.status in _OPEN


def is_lease_active(lease_until: float | None, now: float) -> bool:
    """Whether a lease is on."""
    return lease_until is not None and lease_until > now


class ClaimIndex:
    """Finds the next action, and what an owner has."""

    def __init__(self) -> None:
        self.actions: dict[str, Row] = {}  # that are open, by their ids
        self.states: dict[str, Row] = {}  # that are live, by their sessions
        self._claimed: dict[str, dict[str, Action]] = defaultdict(dict)  # of a session, by ids
        #: Of each session, its open actions in their turn; those that aren't open any more go when
        #: they come to the top.
        self._turns: dict[str, list[tuple[int, int, int, str]]] = defaultdict(list)
        #: The first of each session, in the order of claims; with others among them, which are passed
        #: over. `_listed` has the ids, so that none is there twice.
        self._firsts: list[tuple[int, int, str]] = []
        self._listed: set[str] = set()

    # ---- being told ---------------------------------------------------------------------------------

    def apply(self, changes: Changes) -> None:
        """Changes were kept."""
        for row in changes.rows_of(STATES):
            self._apply_state(row)
        touched = {self._apply_action(row) for row in changes.rows_of(ACTIONS)}
        for session_id in touched:
            self._list_first(session_id)

    def _apply_state(self, row: Row) -> None:
        state: AgentState = row.value
        if state.status in LIVE_STATUSES:
            self.states[state.session_id] = row
        else:
            self.states.pop(state.session_id, None)

    def _apply_action(self, row: Row) -> str:
        action: Action = row.value
        session_id = action.session_id
        known = action.id in self.actions
        self._claimed[session_id].pop(action.id, None)
        if is_open(action):
            self.actions[action.id] = row
            if action.status is ActionStatus.CLAIMED:
                self._claimed[session_id][action.id] = action
            if not known:
                heapq.heappush(
                    self._turns[session_id], (*_claim_rank(action), row.number, action.id)
                )
        else:
            self.actions.pop(action.id, None)
        if not self._claimed[session_id]:
            del self._claimed[session_id]
        return session_id

    def _list_first(self, session_id: str) -> None:
        row = self._first(session_id)
        if row is not None and row.value.id not in self._listed:
            self._listed.add(row.value.id)
            heapq.heappush(self._firsts, (-row.value.urgency, row.number, row.value.id))

    # ---- being asked --------------------------------------------------------------------------------

    def rows_of(self, spec: TableSpec) -> Mapping[str, Row]:
        """The rows of a table that are here, by their keys."""
        return {ACTIONS.name: self.actions, STATES.name: self.states}.get(spec.name, {})

    def claimed_actions_of(self, session_id: str) -> Iterator[Row]:
        """The claimed actions of a session."""
        return (self.actions[id] for id in self._claimed.get(session_id, ()))

    def find_claimable(self, owner: str, now: float) -> Row | None:
        """The action that an owner may claim next."""
        aside: list[tuple[int, int, str]] = []
        found = None
        while self._firsts and found is None:
            entry = heapq.heappop(self._firsts)
            row = self.actions.get(entry[2])
            if row is None or self._first(row.value.session_id) is not row:
                self._listed.discard(entry[2])
                continue
            aside.append(entry)
            if self._may_claim(row.value, owner, now):
                found = row
        for entry in aside:
            heapq.heappush(self._firsts, entry)
        return found

    def find_lost_claim(self, owner: str, held: Iterable[str], now: float) -> Row | None:
        """An action that an owner has claimed, and of which it doesn't know: the answer got lost."""
        known = frozenset(held)
        mine = (row for row in self.actions_claimed_by(owner) if row.value.id not in known)
        here = (row for row in mine if is_lease_active(row.value.lease_until, now))
        return min(here, key=lambda row: row.number, default=None)

    def actions_claimed_by(self, owner: str) -> Iterator[Row]:
        """The actions that an owner has."""
        return (
            self.actions[id]
            for actions in self._claimed.values()
            for id, action in actions.items()
            if action.owner == owner
        )

    def sessions_held_by(self, owner: str) -> Iterator[Row]:
        """The sessions that an owner has."""
        return (row for row in self.states.values() if row.value.owner == owner)

    def _may_claim(self, action: Action, owner: str, now: float) -> bool:
        claimed = self._claimed.get(action.session_id, {})
        if any(is_lease_active(each.lease_until, now) for each in claimed.values()):
            return False
        row = self.states.get(action.session_id)
        if row is None or row.value.owner in (None, owner):
            return True
        return not is_lease_active(row.value.lease_until, now)

    def _first(self, session_id: str) -> Row | None:
        """The open action of a session whose turn it is."""
        turns = self._turns.get(session_id)
        while turns:
            row = self.actions.get(turns[0][-1])
            if row is not None:
                return row
            heapq.heappop(turns)
        self._turns.pop(session_id, None)
        return None


def _claim_rank(action: Action) -> tuple[int, int]:
    """When it is an action's turn in its session; those that are alike go in their order."""
    rank = 0 if action.kind is ActionKind.CREATE else 1 if action.kind in CONTROL_ACTIONS else 2
    return rank, -action.urgency
