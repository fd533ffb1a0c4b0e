"""A worker's connection to a Core in the same loop, by two lines that break when a test wants it."""

from __future__ import annotations

import asyncio
import logging

from agentstepper_nb.rpc.persistent_connection import ReconnectingCaller
from agentstepper_nb.rpc.session import RpcService, RpcSession

LOG = logging.getLogger("agentstepper_nb.test")


class BreakableConnection:
    """Connects a caller to what a Core serves.

    Args:
        core: The Core's service `runtime`.
    """

    def __init__(self, core: RpcService) -> None:
        self.connection = ReconnectingCaller()
        self._core = core
        self._ends: tuple[RpcSession, RpcSession] | None = None

    def connect(self) -> None:
        """There is a connection from now on."""
        loop = asyncio.get_running_loop()

        def to_core(text: str) -> None:
            loop.call_soon(core.receive, text)

        def to_worker(text: str) -> None:
            loop.call_soon(worker.receive, text)

        worker, core = (
            RpcSession(to_core, {}, LOG),
            RpcSession(to_worker, {"runtime": self._core}, LOG),
        )
        self._ends = (worker, core)
        self.connection.attach(worker)

    def connect_soon(self) -> None:
        """There is one once what is under way in the loop is done."""
        asyncio.get_running_loop().call_soon(self.connect)

    def break_off(self, *, again: bool = False) -> None:
        """It is gone, at both ends; the worker's line hears of it before its connection is closed.

        Args:
            again: Whether there is another one soon.
        """
        assert self._ends is not None
        for line in self._ends:
            line.connection_lost("gone")
        loop = asyncio.get_running_loop()
        loop.call_soon(self.connection.detach)
        if again:
            self.connect_soon()
