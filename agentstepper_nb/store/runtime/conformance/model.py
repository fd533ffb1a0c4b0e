"""The queue in a few lines, to compare with: leases last, or all of them are over."""

from __future__ import annotations

from dataclasses import dataclass, field

from ....protocol.runtime import CONTROL, ActionKind


@dataclass
class _Action:
    id: str
    session: str
    kind: ActionKind
    urgency: int
    owner: str | None = None
    done: bool = False

    def rank(self) -> tuple[int, int]:
        """Its place among its session's, before time."""
        if self.kind is ActionKind.CREATE:
            return 0, 0
        return (1 if self.kind in CONTROL else 2), -self.urgency


@dataclass
class Model:
    """What a store's queue does, without a clock.

    Attributes:
        epochs: Of each session.
    """

    epochs: dict[str, int] = field(default_factory=dict)
    _owners: dict[str, str] = field(default_factory=dict)
    _actions: list[_Action] = field(default_factory=list)

    def create(self, session: str) -> None:
        """A session, and its first action."""
        self.epochs[session] = 0
        self.enqueue(f"create {session}", session, ActionKind.CREATE, 0)

    def enqueue(self, id: str, session: str, kind: ActionKind, urgency: int) -> None:
        """One more action."""
        self._actions.append(_Action(id, session, kind, urgency))

    def claim(self, owner: str) -> tuple[str, int] | None:
        """The id of what is claimed, and its session's epoch."""
        ready = [first for session in self.epochs if (first := self._ready(session, owner))]
        if not ready:
            return None
        best = min(ready, key=lambda each: (-each.urgency, self._actions.index(each)))
        best.owner = owner
        if best.session not in self._owners:
            self._owners[best.session] = owner
            self.epochs[best.session] += 1
        return best.id, self.epochs[best.session]

    def held(self, owner: str, but: tuple[str, int] | None) -> list[str]:
        """What an owner is at, without what was claimed just now."""
        new = but and but[0]
        return [each.id for each in self._under_way() if each.owner == owner and each.id != new]

    def finish(self, owner: str) -> list[tuple[str, str, int]]:
        """End all that an owner is at: each with its session and epoch."""
        ended = [each for each in self._under_way() if each.owner == owner]
        for each in ended:
            each.done = True
        return [(each.id, each.session, self.epochs[each.session]) for each in ended]

    def leap(self) -> None:
        """All leases are over."""
        self._owners.clear()
        for each in self._under_way():
            each.owner = None

    def done_in_order(self) -> list[str]:
        """The ids of what is done, the oldest first."""
        return [each.id for each in self._actions if each.done]

    def _under_way(self) -> list[_Action]:
        return [each for each in self._actions if each.owner is not None and not each.done]

    def _ready(self, session: str, owner: str) -> _Action | None:
        """The first of a session's actions, where it may be claimed by an owner."""
        if any(each.session == session for each in self._under_way()):
            return None
        if self._owners.get(session, owner) != owner:
            return None
        open_ = [each for each in self._actions if each.session == session and not each.done]
        return min(open_, key=_Action.rank, default=None)
