"""What workers ask: claims, leases, and keeping what became of sessions.

Times are the Core's: what a worker says of now is only what its leases are measured from, so that
workers whose clocks differ take nothing from each other too early.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from ...protocol.runtime_asks import (
    Adopt,
    Claim,
    Claimed,
    Release,
    Renew,
    Renewed,
    States,
    Write,
    Written,
)
from .context import News, RuntimeContext
from .message_service import admitted

Leased = TypeVar("Leased", Claim, Renew, Adopt)


class WorkerService:
    """Asks the store for workers, and tells what changed by it. Errors are the store's.

    Args:
        context: What it works with.
    """

    def __init__(self, context: RuntimeContext) -> None:
        self._context = context
        self._store = context.store

    async def claim(self, ask: Claim) -> Claimed:
        """Claim the next action that is ready."""
        claimed = await self._store.claim(self._timed(ask))
        if claimed.action is not None:
            states = () if claimed.state is None else (claimed.state,)
            self._context.tell(News(states=states, actions=(claimed.action,)))
        return claimed

    async def renew(self, ask: Renew) -> Renewed:
        """Make an owner's leases last on."""
        return await self._store.renew(self._timed(ask))

    async def adopt(self, ask: Adopt) -> States:
        """Take sessions that lost their worker."""
        adopted = await self._store.adopt(self._timed(ask))
        self._context.tell(News(states=adopted.states))
        if adopted.states:  # what was claimed of them may be claimed again
            self._context.wake()
        return adopted

    async def release(self, ask: Release) -> None:
        """Let an owner's leases last no longer than until now, or than it asks."""
        until = min(ask.until, self._context.clock())
        await self._store.release(msgspec.structs.replace(ask, until=until))
        self._context.wake()

    async def write(self, ask: Write) -> Written:
        """Keep what became of a session; messages that it may not post are left out."""
        messages = await admitted(self._store, ask.session_id, ask.messages)
        if len(messages) < len(ask.messages):
            self._context.log.info(
                "%d messages of session %r were not posted: it observes, has left, or the "
                "conversation is closed",
                len(ask.messages) - len(messages),
                ask.session_id,
            )
            ask = msgspec.structs.replace(ask, messages=messages)
        written = await self._store.write(ask)
        self._context.tell(
            News(
                states=() if written.state is None else (written.state,),
                steps=written.steps,
                messages=written.messages,
                actions=written.actions,
            )
        )
        return written

    def _timed(self, ask: Leased) -> Leased:
        now = self._context.clock()
        lasts = max(0.0, ask.lease_until - ask.now)
        return msgspec.structs.replace(ask, now=now, lease_until=now + lasts)
