"""The queue as a worker reaches it: over a connection that breaks and comes back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final

from ..errors import CommandError
from ..protocol import runtime_methods as methods
from ..protocol.runtime_methods import Request, Result
from ..protocol.runtime_requests import (
    SERVICE,
    DispatcherWake,
    GetRuntimeStatus,
    ModelCredit,
    SubscribeWakes,
    TakeModelCredit,
)
from ..protocol.runtime_store_messages import (
    AdoptedSessions,
    AdoptSessions,
    ChangedRows,
    ChangeQuery,
    ClaimAction,
    ClaimedAction,
    ConversationMessageList,
    CursorQuery,
    CursorResult,
    MessageQuery,
    ReleaseLeases,
    RenewedLeases,
    RenewLeases,
    SessionWrite,
    SessionWriteResult,
)
from ..rpc.session import RpcCaller

#: There was no connection, or it broke before the answer: nobody knows whether it was done.
_CONNECTION_LOST: Final = "worker_lost"
#: The Core can't keep or read anything now: its disk is full, say.
_STORE_FAILED: Final = "store_failed"
#: Seconds before the next try then.
RETRY_S: Final = 1.0
#: Seconds before the next try: a line may be known to be dead before its caller is detached.
_RECONNECT_PAUSE_S: Final = 0.05


class RemoteQueue:
    """The Core's queue, over the worker's connection.

    A call is retried after a lost connection, since a repeated call has the same result in the store,
    and leases count from the call's arrival at the Core. A call therefore lasts until the Core is back
    and can store the change.

    Args:
        core: The worker's connection to the Core.
        retry_s: Seconds until the next try if the Core can't store the change.
    """

    def __init__(self, core: RpcCaller, retry_s: float = RETRY_S) -> None:
        self._retry_s = retry_s
        self._core = core

    async def claim(self, request: ClaimAction) -> ClaimedAction:
        """Claim the next action, and its session; see `RuntimeStore.claim`."""
        return await self._call(methods.CLAIM, request)

    async def renew(self, request: RenewLeases) -> RenewedLeases:
        """Renew all leases of an owner; see `RuntimeStore.renew`."""
        return await self._call(methods.RENEW, request)

    async def adopt(self, request: AdoptSessions) -> AdoptedSessions:
        """Adopt sessions without a worker. See `RuntimeStore.adopt`."""
        return await self._call(methods.ADOPT, request)

    async def release(self, request: ReleaseLeases) -> None:
        """Release leases. See `RuntimeStore.release`."""
        await self._call(methods.RELEASE, request)

    async def write(self, request: SessionWrite) -> SessionWriteResult:
        """Store a change of a session. See `RuntimeStore.write`."""
        return await self._call(methods.WRITE, request)

    async def changes(self, request: ChangeQuery) -> ChangedRows:
        """Read rows that changed; see `RuntimeStore.changes`."""
        return await self._call(methods.CHANGES, request)

    async def cursor(self, request: CursorQuery) -> CursorResult:
        """Return a session's reading position. See `RuntimeStore.cursor`."""
        return await self._call(methods.CURSOR, request)

    async def messages(self, request: MessageQuery) -> ConversationMessageList:
        """Read messages of a conversation; see `RuntimeStore.messages`."""
        return await self._call(methods.MESSAGES, request)

    async def find_store_place(self) -> str:
        """Return the place of the Core's store, from its `info`."""
        status = await self._call(methods.STATUS, GetRuntimeStatus())
        return "" if status.store is None else status.store.place

    async def take_model_credit(self, request: TakeModelCredit) -> ModelCredit:
        """Request a model call from the Core's rate limit. See `hub.runtime.model_rates`."""
        return await self._call(methods.TAKE_MODEL_CREDIT, request)

    async def wakes(self, request: SubscribeWakes) -> AsyncGenerator[DispatcherWake, None]:
        """Hear where something may be ready. It begins with the next connection, and ends with it."""
        try:
            await self._core.wait_connected()
            async with aclosing(
                self._core.stream(SERVICE, methods.WATCH_WAKES.name, request, DispatcherWake)
            ) as wakes:
                async for wake in wakes:
                    yield wake
        except CommandError as error:
            await self._wait_to_retry(error)

    async def _call(
        self, method: methods.RuntimeMethod[Request, Result], request: Request
    ) -> Result:
        while True:
            try:
                await self._core.wait_connected()
                return await self._core.call(SERVICE, method.name, request, method.result)
            except CommandError as error:
                await self._wait_to_retry(error)

    async def _wait_to_retry(self, error: CommandError) -> None:
        """Pass over that the connection is gone, or the disk full; other errors are raised on."""
        if error.code not in (_CONNECTION_LOST, _STORE_FAILED):
            raise error
        is_lost = error.code == _CONNECTION_LOST
        await asyncio.sleep(_RECONNECT_PAUSE_S if is_lost else self._retry_s)
