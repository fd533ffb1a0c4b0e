"""Limits the agents of a Core: above the limits, creations are refused until sessions end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from ...errors import CommandError
from ...protocol.runtime import CONTROL_ACTIONS, ActionKind
from ...store.runtime.base import RuntimeStore

#: Seconds after which a client that was refused may try again.
RETRY_AFTER_S: Final = 5.0
#: Seconds that a count is good for: another Core may write to the same store.
_MAX_AGE_S: Final = 1.0


@dataclass(frozen=True)
class AdmissionLimits:
    """The limits of open work.

    Args:
        sessions: Live sessions, including those that wait for a due time.
        actions: Open actions. Actions that control sessions are admitted above the limit.
    """

    sessions: int = 100_000
    actions: int = 1_000_000


DEFAULT_LIMITS: Final = AdmissionLimits()


class Admission:
    """Counts live sessions and open actions, and refuses actions above the limits.

    The store is counted at most once a second, and whenever the limit seems reached; in between, the
    admitted actions are added to the last count.

    Args:
        store: The store.
        limits: The limits.
        clock: Returns POSIX seconds.
    """

    def __init__(
        self, store: RuntimeStore, limits: AdmissionLimits, clock: Callable[[], float]
    ) -> None:
        self._store = store
        self._limits = limits
        self._clock = clock
        self._sessions = self._actions = 0  # that were counted, or let in since
        self._being_created = self._being_enqueued = (
            0  # that were let in, and may not be stored yet
        )
        self._counted_at: float | None = None

    async def find_refusal(self, kind: ActionKind) -> CommandError | None:
        """Return the error that refuses an action now; None if the action is admitted.

        Args:
            kind: The action's kind. Actions that control a session are always admitted.
        """
        if kind in CONTROL_ACTIONS:
            return None
        if self._is_stale() or self._find_limit(kind) is not None:
            await self._count()
        reached = self._find_limit(kind)
        if reached is None:
            return None
        return CommandError(
            "busy",
            f"The Core has its limit of {reached} at once. Try again in {RETRY_AFTER_S:g} s, end "
            "sessions that aren't needed, or start the Core with a higher limit.",
            retry_after_s=RETRY_AFTER_S,
        )

    @contextmanager
    def admitted(self, kind: ActionKind) -> Iterator[None]:
        """Count an admitted action, from before it is stored.

        Args:
            kind: The action's kind.
        """
        created = int(kind is ActionKind.CREATE)
        self._being_created += created
        self._being_enqueued += 1
        try:
            yield
        finally:
            self._being_created -= created
            self._being_enqueued -= 1
            self._sessions += created
            self._actions += 1

    def _is_stale(self) -> bool:
        now = self._clock()
        return self._counted_at is None or not 0 <= now - self._counted_at < _MAX_AGE_S

    async def _count(self) -> None:
        info = await self._store.info()
        self._sessions, self._actions = info.live + info.waiting, info.open
        self._counted_at = self._clock()

    def _find_limit(self, kind: ActionKind) -> str | None:
        """Name the limit that is reached, if any, for the error message."""
        limits = self._limits
        creates = kind is ActionKind.CREATE
        if creates and self._sessions + self._being_created >= limits.sessions:
            return f"{limits.sessions:,} live sessions of background agents (--max-sessions)"
        if self._actions + self._being_enqueued >= limits.actions:
            return f"{limits.actions:,} open actions of background agents (--max-actions)"
        return None
