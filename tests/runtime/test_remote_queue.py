"""A worker's queue lasts through its connections."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field

import msgspec
import pytest
from msgspec import Raw, Struct

from agentstepper_nb.errors import CommandError
from agentstepper_nb.protocol.runtime_requests import DispatcherWake, SubscribeWakes
from agentstepper_nb.protocol.runtime_store_messages import (
    AdoptedSessions,
    AdoptSessions,
    ClaimAction,
    ClaimedAction,
    ReleaseLeases,
    RenewedLeases,
    RenewLeases,
    SessionWrite,
    SessionWriteResult,
)
from agentstepper_nb.runtime.remote_queue import RemoteQueue
from tests.runtime.breakable_connection import BreakableConnection
from tests.runtime.queues import NOW, OWNER, a_state, an_action


def run(test: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(test())  # type: ignore[arg-type]


KINDS: dict[str, tuple[type[Struct], Struct | None]] = {
    "claim": (ClaimAction, ClaimedAction(action=an_action("0"), state=a_state())),
    "renew": (RenewLeases, RenewedLeases(sessions=(), actions=("0",))),
    "adopt": (AdoptSessions, AdoptedSessions(states=(a_state(),))),
    "release": (ReleaseLeases, None),
    "write": (SessionWrite, SessionWriteResult(state=a_state())),
}
LEASED = {"owner": OWNER, "now": NOW, "lease_until": NOW + 10}
ASKS: dict[str, Struct] = {
    "claim": ClaimAction(**LEASED, held=("9",)),
    "renew": RenewLeases(**LEASED),
    "adopt": AdoptSessions(**LEASED, limit=3),
    "release": ReleaseLeases(owner=OWNER, until=NOW),
    "write": SessionWrite(session_id="s", epoch=1, owner=OWNER, state=a_state()),
}


@dataclass
class SilentCore:
    """Answers, or lets its answer wait until the connection is gone.

    Attributes:
        silent: Whether it does that.
        asked: What came.
    """

    silent: bool = False
    requests: list[Struct] = field(default_factory=list)
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    streams: int = 0

    async def call(self, method: str, params: Raw) -> Struct | None:
        kind, answer = KINDS[method]
        self.requests.append(msgspec.json.decode(params, type=kind))
        self.reached.set()
        if self.silent:
            await asyncio.Event().wait()
        if len(self.requests) > 90:
            raise CommandError("stale_epoch", "It is theirs.")
        return answer

    async def stream(self, method: str, params: Raw) -> AsyncGenerator[Struct, None]:
        assert (method, msgspec.json.decode(params, type=SubscribeWakes)) == (
            "wakes",
            SubscribeWakes(owner=OWNER),
        )
        self.streams += 1
        if self.streams > 2:
            raise CommandError("watch_only", "Not for you.")
        yield DispatcherWake(n=self.streams)
        await asyncio.Event().wait()

    async def close(self) -> None: ...


@pytest.mark.parametrize("method", ASKS)
def test_what_was_not_answered_is_asked_again(method: str) -> None:
    async def test() -> None:
        core = SilentCore(silent=True)
        breakable = BreakableConnection(core)
        queue = RemoteQueue(breakable.connection)
        asking = asyncio.create_task(getattr(queue, method)(ASKS[method]))
        breakable.connect()
        await core.reached.wait()
        core.silent = False
        breakable.break_off(again=True)
        assert await asking == KINDS[method][1]
        assert core.requests == [ASKS[method]] * 2

    run(test)


def test_without_a_connection_it_waits_and_refusals_pass_through() -> None:
    async def test() -> None:
        core = SilentCore(requests=[ReleaseLeases(owner=OWNER, until=0)] * 90)
        breakable = BreakableConnection(core)
        queue = RemoteQueue(breakable.connection)
        write = ASKS["write"]
        assert isinstance(write, SessionWrite)
        writing = asyncio.create_task(queue.write(write))
        await asyncio.sleep(0)
        assert not writing.done()
        breakable.connect()
        with pytest.raises(CommandError, check=lambda error: error.code == "stale_epoch"):
            await writing

    run(test)


def test_wakes_begin_with_a_connection_and_end_with_it() -> None:
    async def test() -> None:
        breakable = BreakableConnection(SilentCore())
        queue = RemoteQueue(breakable.connection)
        asyncio.get_running_loop().call_soon(breakable.connect)
        heard = []
        for _ in range(2):
            async with aclosing(queue.wakes(SubscribeWakes(owner=OWNER))) as wakes:
                async for wake in wakes:
                    heard.append(wake.n)
                    if wake.n:
                        breakable.break_off(again=True)
        with pytest.raises(CommandError, check=lambda error: error.code == "watch_only"):
            async with aclosing(queue.wakes(SubscribeWakes(owner=OWNER))) as wakes:
                async for wake in wakes:
                    heard.append(wake.n)
        assert heard == [1, 2]

    run(test)
