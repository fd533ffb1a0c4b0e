"""The service `runtime_store` of a worker: keeps the agents' rows with what the Core mustn't load."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Final

from msgspec import Raw, Struct

from ..errors import CommandError, StoreError
from ..rpc.session import RpcService
from ..store.runtime import RuntimeStore
from ..store.runtime.remote_store import answer_request
from ..worker.services import ServiceContext

#: Says which store: `lance:FOLDER`. The Core sets it for the workers that it starts.
STORE_VARIABLE: Final = "AGENTSTEPPER_RUNTIME_STORE"
#: The folder, below the Core's, where the variable names none.
LANCE_FOLDER: Final = "lance-runtime"
#: Seconds without a question after which the store is let go. Dispatchers ask each second.
_IDLE_S: Final = 5.0
#: Seconds that another worker has to let it go: its Core is gone, or asks this one instead.
_LOCK_TIMEOUT_S: Final = 15.0


def create(context: ServiceContext) -> RpcService:
    """Make the service; what the entry point names."""
    return RuntimeStoreService(
        lambda: open_chosen_store(os.environ.get(STORE_VARIABLE, ""), context.data_dir),
        log=context.log,
    )


async def open_chosen_store(chosen: str, data_dir: Path) -> RuntimeStore:
    """Open the store that is chosen.

    Args:
        chosen: `lance:FOLDER`; an empty folder, or nothing at all, means one below the Core's.
        data_dir: The Core's folder.

    Raises:
        StoreError: It can't be used, or is none that a worker keeps.
    """
    from ..store.lance import LanceRuntimeStore

    kind, _, folder = (chosen or "lance:").partition(":")
    if kind != "lance":
        raise StoreError(
            f"The worker can't open the runtime store {chosen!r}: set {STORE_VARIABLE} to "
            "lance:FOLDER."
        )
    store_folder = (
        await asyncio.to_thread(Path(folder).expanduser) if folder else data_dir / LANCE_FOLDER
    )
    return await LanceRuntimeStore.open(store_folder, timeout_s=_LOCK_TIMEOUT_S)


class RuntimeStoreService:
    """Opens a store when it is asked, answers for it, and lets it go when nobody asks any more: where
    workers change, the next can have it.

    Args:
        open: Opens it. Where that failed, the next who asks has it tried again.
        idle_s: Seconds without a question after which it is closed.
        log: Gets why it couldn't be closed well.
    """

    def __init__(
        self,
        open: Callable[[], Awaitable[RuntimeStore]],
        idle_s: float = _IDLE_S,
        log: logging.Logger | None = None,
    ) -> None:
        self._open = open
        self._idle_s = idle_s
        self._log = log or logging.getLogger(__name__)
        self._lock = asyncio.Lock()  # to open or close it
        self._store: RuntimeStore | None = None
        self._pending_requests = 0  # that aren't answered
        self._timer: asyncio.TimerHandle | None = None
        self._closing_task: asyncio.Task[None] | None = None
        self._is_closed = False

    async def call(self, method: str, params: Raw) -> Struct | None:
        """Answer one of `METHODS`; see `RpcService.call`."""
        self._pending_requests += 1
        try:
            return await answer_request(await self._ensure_open(), method, params)
        finally:
            self._pending_requests -= 1
            self._schedule_close()

    def stream(self, method: str, params: Raw) -> AsyncIterator[Struct]:
        """Nothing is streamed; see `RpcService.stream`."""
        raise CommandError("unknown_service", f"The runtime store has no stream {method[:80]!r}.")

    async def close(self) -> None:
        """Close the store; see `RpcService.close`."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        await self._close_store()

    async def _ensure_open(self) -> RuntimeStore:
        async with self._lock:
            if self._is_closed:
                raise CommandError(
                    "store_failed", "The worker that has the runtime store is ending."
                )
            if self._store is None:
                try:
                    self._store = await self._open()
                except StoreError as error:
                    raise CommandError("store_failed", str(error)) from error
            return self._store

    def _schedule_close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if not self._is_closed:
            self._timer = asyncio.get_running_loop().call_later(self._idle_s, self._close_if_idle)

    def _close_if_idle(self) -> None:
        if not self._pending_requests:
            self._closing_task = asyncio.get_running_loop().create_task(self._close_store())

    async def _close_store(self) -> None:
        async with self._lock:
            if self._store is None or (self._pending_requests and not self._is_closed):
                return
            store, self._store = self._store, None
            try:
                await store.close()
            except StoreError as error:
                self._log.error("%s", error)
