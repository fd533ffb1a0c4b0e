"""Assigns a limited number of processes to sessions."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

#: Seconds for which a session that never waits keeps its process while others wait for one.
TURN_S: Final = 10.0
#: The same, where it waits briefly between its steps.
_LEAST_TURN_S: Final = 2.0
#: Seconds of a wait that is long.
_LONG_WAIT_S: Final = 1.0


class SlotHolder(Protocol):
    """A session that may have a process."""

    async def give_up_process(self) -> None:
        """End the process, if there is one: the session goes on in another. It raises nothing."""


class _Slot:
    """What is known of a session that has a slot.

    Args:
        now: Since when it has the slot.
    """

    def __init__(self, now: float) -> None:
        self.since = now
        self.idle_since: float | None = None
        self.evictable_at = now
        self.eviction: asyncio.Task[None] | None = None


class ProcessSlots:
    """At most so many sessions have a process at once; the others wait in their order.

    A session keeps its slot while there is room. Else the one that is idle longest gives up its process;
    where none is idle, one that has had its turn does, before its next step.

    Args:
        limit: How many.
        clock: Gives seconds that only go forward.
        turn_s: Seconds of a turn.
    """

    def __init__(self, limit: int, clock: Callable[[], float], turn_s: float = TURN_S) -> None:
        self._limit = limit
        self._clock = clock
        self._turn_s = turn_s
        self._slots: dict[SlotHolder, _Slot] = {}
        self._waiters: deque[tuple[SlotHolder, asyncio.Future[None]]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    def has_room(self, holder: SlotHolder) -> bool:
        """Whether a session needn't wait for a slot."""
        slot = self._slots.get(holder)
        if slot is not None:
            return slot.eviction is None and not self._has_had_turn(slot)
        return not self._waiters and len(self._slots) < self._limit

    async def acquire(self, holder: SlotHolder) -> None:
        """Wait until a session has a slot, which is its own until `set_idle` or `release`."""
        slot = self._slots.get(holder)
        if slot is not None and slot.eviction is None and self._has_had_turn(slot):
            self._evict(holder, slot)
        if slot is not None and slot.eviction is not None:
            await asyncio.shield(slot.eviction)
        if (slot := self._slots.get(holder)) is not None:
            slot.idle_since = None
        elif not self._waiters and len(self._slots) < self._limit:
            self._slots[holder] = _Slot(self._clock())
        else:
            await self._wait(holder)

    def set_idle(self, holder: SlotHolder, wait_s: float) -> None:
        """A session waits: its process may be given up for one that doesn't.

        Args:
            holder: The session.
            wait_s: Seconds that it waits. For a short wait it keeps its process for a moment at least:
                another costs more than that.
        """
        slot = self._slots.get(holder)
        if slot is not None and slot.idle_since is None:
            slot.idle_since = now = self._clock()
            slot.evictable_at = now if wait_s >= _LONG_WAIT_S else slot.since + _LEAST_TURN_S
            self._make_room()

    def release(self, holder: SlotHolder) -> None:
        """A session has no process any more. Idempotent."""
        if self._slots.pop(holder, None) is not None:
            self._grant()

    async def _wait(self, holder: SlotHolder) -> None:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append((holder, waiter))
        self._make_room()
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.cancelled():
                self._waiters.remove((holder, waiter))
            else:
                self.release(holder)  # it was just given one
            raise

    def _grant(self) -> None:
        while len(self._slots) < self._limit:
            found = next((each for each in self._waiters if not each[1].done()), None)
            if found is None:
                return
            self._waiters.remove(found)
            self._slots[found[0]] = _Slot(self._clock())
            found[1].set_result(None)

    def _make_room(self) -> None:
        """Let as many of the idle give up their processes as sessions wait, the longest idle first."""
        evicting = sum(slot.eviction is not None for slot in self._slots.values())
        missing = len(self._waiters) - evicting
        if missing <= 0:
            return
        idle = [
            (holder, slot)
            for holder, slot in self._slots.items()
            if slot.idle_since is not None and slot.eviction is None
        ]
        now = self._clock()
        for holder, slot in sorted(idle, key=lambda each: each[1].idle_since or 0.0):
            if missing and now >= slot.evictable_at:
                self._evict(holder, slot)
                missing -= 1
        if missing and idle and self._timer is None:
            due = min(slot.evictable_at for _, slot in idle)
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(max(0.0, due - now), self._look_again)

    def _look_again(self) -> None:
        self._timer = None
        self._make_room()

    def _evict(self, holder: SlotHolder, slot: _Slot) -> None:
        async def evict() -> None:
            try:
                await holder.give_up_process()
            finally:
                self.release(holder)

        slot.eviction = asyncio.create_task(evict(), name="step process eviction")

    def _has_had_turn(self, slot: _Slot) -> bool:
        return bool(self._waiters) and self._clock() - slot.since >= self._turn_s
