"""Connects views to a Core that the browser can't reach: the kernel relays their messages."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Final

from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from ..discover import CoreEndpoint
from ..errors import ConnectionLostError, DiscoveryError
from ..hub import Connection, PeerSession
from ..rpc.connection import RpcRefusedError, open_socket
from ..rpc.loop_thread import LoopThread

# WebSocket's codes, which the view knows. After 1008 it doesn't try again by itself.
_POLICY_VIOLATION: Final = 1008
_TRY_AGAIN_LATER: Final = 1013

#: Finds the Core, and returns its address and token.
FindCore = Callable[[], CoreEndpoint]


class CoreRelay:
    """A target of `comm_links`: each link becomes a connection to a Core's runtime, text by text.

    The relay has a thread of its own, so that views are answered while a cell runs. The thread starts
    with the first link.

    Args:
        find: Called for each connection: a restarted Core may have another token. It may raise
            `DiscoveryError`.
    """

    def __init__(self, find: FindCore) -> None:
        self._find = find
        self._lock = threading.Lock()
        self._thread: LoopThread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop of the links, which starts on first use.

        Raises:
            RuntimeError: The relay was closed.
        """
        with self._lock:
            if self._closed:
                raise RuntimeError("This relay was closed.")
            if self._thread is None or self._loop is None:
                self._thread = LoopThread("agentstepper-relay")
                self._loop = self._thread.run(_this_loop)
            return self._loop

    def record_view_message(self) -> None:
        """Do nothing: only a kernel's Core counts the threads of view messages."""

    def connect_view(self, connection: Connection) -> PeerSession:
        """Open a connection to the Core for a link. Call it on the loop.

        Args:
            connection: Sends the Core's messages to the view.
        """
        return _Pipe(self._find, connection)

    def close(self) -> None:
        """Close all connections, and end the thread. Idempotent."""
        with self._lock:
            self._closed = True
        if self._thread is not None:
            self._thread.close()


async def _this_loop() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()


class _Pipe:
    """One link and its connection to the Core.

    Args:
        find: Finds the Core.
        link: Sends the Core's messages to the view.
    """

    def __init__(self, find: FindCore, link: Connection) -> None:
        self._find = find
        self._link = link
        # Bounded by what a view asks: it waits for answers.
        self._outgoing: asyncio.Queue[str] = asyncio.Queue()
        self._run_task = asyncio.create_task(self._live())

    def receive(self, text: str) -> None:
        """Forward a text of the view."""
        self._outgoing.put_nowait(text)

    def receive_binary(self) -> None:
        """Comms bring texts."""

    def on_closed(self) -> None:
        """Handle the view's end. Idempotent."""
        self._run_task.cancel()

    async def _live(self) -> None:
        try:
            socket = await open_socket(await asyncio.to_thread(self._find))
        except (DiscoveryError, RpcRefusedError) as error:
            self._link.close(_POLICY_VIOLATION, str(error))
        except ConnectionLostError as error:
            self._link.close(_TRY_AGAIN_LATER, str(error))
        else:
            async with socket:
                await self._converse(socket)

    async def _converse(self, socket: ClientConnection) -> None:
        writing = asyncio.create_task(self._write(socket))
        try:
            async for message in socket:
                if isinstance(message, str):
                    self._link.send(message)
        except ConnectionClosed:
            pass  # not in order; told below
        finally:
            writing.cancel()
        self._link.close(
            socket.close_code or _TRY_AGAIN_LATER, socket.close_reason or "The Core was closed."
        )

    async def _write(self, socket: ClientConnection) -> None:
        try:
            while True:
                await socket.send(await self._outgoing.get())
        except ConnectionClosed:
            pass  # who reads hears of it as well
