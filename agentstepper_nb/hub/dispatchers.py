"""Links dispatchers to their worker's connection and process, to notice a worker's end at once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import aclosing
from socket import gethostname
from typing import Any, Final

from msgspec import Raw, Struct

from ..errors import AgentStepperError
from .runtime import MethodRight, Runtime, RuntimeService
from .workers import WorkerSession

#: The stream that dispatchers read.
_WAKES: Final = "wakes"


class Dispatchers:
    """Notifies the runtime of workers that are gone.

    Args:
        runtime: The Core's runtime of background agents.
        changed: Called when a worker starts or stops dispatching.
        log: Receives failed notifications.
    """

    def __init__(self, runtime: Runtime, changed: Callable[[], None], log: logging.Logger) -> None:
        self._log = log
        self.runtime = runtime
        self.changed = changed
        self._of_process: dict[int, set[str]] = {}
        self._notifications: set[asyncio.Task[None]] = set()

    def make_service(self, session: WorkerSession) -> DispatcherService:
        """Make the runtime service for one worker's connection.

        Args:
            session: The worker's connection.
        """
        return DispatcherService(self, session)

    def register(self, session: WorkerSession, owners: set[str]) -> None:
        """Register the dispatchers of a worker's connection."""
        if session.host in ("", gethostname()):  # what ends here is a process of this host
            self._of_process.setdefault(session.pid, set()).update(owners)
        self.changed()

    def process_ended(self, pid: int, ending: str) -> None:
        """Handle the end of a process, and of its dispatchers.

        Args:
            pid: The process id.
            ending: How the process ended, for a person.
        """
        for owner in self._of_process.pop(pid, ()):
            self.start_notification(self.runtime.worker_disconnected(owner, ending=ending))

    def start_notification(self, notification: Coroutine[Any, Any, None]) -> None:
        """Start notifying the runtime."""
        task = asyncio.get_running_loop().create_task(self._notify(notification))
        self._notifications.add(task)
        task.add_done_callback(self._notifications.discard)

    async def _notify(self, notification: Coroutine[Any, Any, None]) -> None:
        try:
            await notification
        except (OSError, AgentStepperError) as error:
            # Where the rows are a worker's, it may be the one that is gone.
            self._log.info(
                "the leases of a disconnected worker weren't released and will expire: %s", error
            )

    async def wait_notified(self) -> None:
        """Wait until the runtime knows all of it."""
        while self._notifications:
            await asyncio.wait(set(self._notifications))


class DispatcherService:
    """The runtime's service for one worker.

    Args:
        dispatchers: All of them.
        session: The worker's connection.
    """

    def __init__(self, dispatchers: Dispatchers, session: WorkerSession) -> None:
        self._dispatchers = dispatchers
        self._session = session
        self._service = RuntimeService(dispatchers.runtime, MethodRight.WORK)
        self._stream_count = 0
        self._is_connection_lost = False

    async def call(self, method: str, params: Raw) -> Struct | None:
        """Answer once; see `rpc.session.RpcService`."""
        return await self._service.call(method, params)

    def stream(self, method: str, params: Raw) -> AsyncIterator[Struct]:
        """Answer with items; see `rpc.session.RpcService`."""
        if method != _WAKES:
            return self._service.stream(method, params)
        return self._wakes(params)

    async def close(self) -> None:
        """Do nothing at the Core's end: `connection_lost` reports the connection's end."""

    def connection_lost(self) -> None:
        """Handle the connection's end. Its dispatchers are reported as gone only after the connection's
        streams have ended.
        """
        self._is_connection_lost = True
        self._notify()

    async def _wakes(self, params: Raw) -> AsyncGenerator[Struct, None]:
        self._stream_count += 1
        try:
            async with aclosing(self._service.stream(_WAKES, params)) as wakes:
                async for wake in wakes:
                    self._dispatchers.register(self._session, self._service.owners)
                    yield wake
        finally:
            self._stream_count -= 1
            self._dispatchers.changed()
            self._notify()

    def _notify(self) -> None:
        if self._is_connection_lost and not self._stream_count:
            self._dispatchers.start_notification(self._service.close())
