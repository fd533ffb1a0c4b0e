"""How much of what one connection sends is taken before the others have their turn."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from .service import RunService

#: Messages of one connection that are taken in one turn of the event loop.
TURN: Final = 8
#: Messages of one connection from one mark in the store's queue to the next: a multiple of `TURN`. No
#: more than two marks wait there, so that what others send is recorded soon.
MARK: Final = 64


def _at_once(done: Callable[[], None]) -> None:
    done()


class FairTurns:
    """Counts what one connection sends, and says when the next message has to wait.

    A connection whose messages are there already never waits for its socket: without this, and with a
    store that is slower than the connection, it would keep the loop and the store to itself.

    Args:
        when_settled: Calls back once the store has recorded all that it was given.
    """

    def __init__(self, when_settled: Callable[[Callable[[], None]], None] = _at_once) -> None:
        self._when_settled = when_settled
        self._taken = 0
        self._mark: asyncio.Event | None = None

    def taken(self) -> Awaitable[None] | None:
        """Count a message: what to await before the next one; None where that needs no waiting."""
        self._taken += 1
        return None if self._taken % TURN else self._give_way()

    async def _give_way(self) -> None:
        await asyncio.sleep(0)
        if self._taken % MARK == 0:
            if self._mark is not None:
                await self._mark.wait()
            self._mark = asyncio.Event()
            self._when_settled(self._mark.set)


def fair_turns(hub: RunService) -> FairTurns:
    """The turns of one connection of a hub."""

    def when_settled(done: Callable[[], None]) -> None:
        if hub.closing:  # its store calls nobody back any more
            done()
        else:
            hub.store.settled(done)

    return FairTurns(when_settled)
