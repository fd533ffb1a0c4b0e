"""A connection of the `websockets` library, as the hub uses it, and fair turns among connections."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request
from websockets.protocol import State

from .connection import PeerSession, cut_close_reason, is_same_machine
from .limits import DEFAULT_HUB_LIMITS

#: Messages of one connection that are handled in one turn of the event loop.
MESSAGES_PER_YIELD: Final = 8
#: Messages of one connection from one mark in the store's queue to the next: a multiple of
#: `MESSAGES_PER_YIELD`. No more than two marks wait there, so that other connections' messages are
#: recorded soon.
MESSAGES_PER_STORE_WAIT: Final = 64


def _call_at_once(done: Callable[[], None]) -> None:
    done()


class FairScheduler:
    """Counts the messages of one connection, and decides when the next message has to wait.

    A connection whose messages have already arrived never waits for its socket: without this class,
    and with a store that is slower than the connection, it would block the loop and the store for
    others.

    Args:
        call_when_settled: Calls back once the store has recorded all that it was given.
    """

    def __init__(
        self, call_when_settled: Callable[[Callable[[], None]], None] = _call_at_once
    ) -> None:
        self._call_when_settled = call_when_settled
        self._message_count = 0
        self._store_caught_up: asyncio.Event | None = None

    def count_message(self) -> Awaitable[None] | None:
        """Count a message. Returns what to await before the next one; None: nothing."""
        self._message_count += 1
        return None if self._message_count % MESSAGES_PER_YIELD else self._yield_turn()

    async def _yield_turn(self) -> None:
        await asyncio.sleep(0)
        if self._message_count % MESSAGES_PER_STORE_WAIT == 0:
            if self._store_caught_up is not None:
                await self._store_caught_up.wait()
            self._store_caught_up = asyncio.Event()
            self._call_when_settled(self._store_caught_up.set)


#: Bytes that are read at once. asyncio's own 256 KiB are a buffer so large that malloc maps and unmaps
#: it for every read, which costs as much as all else that is done for a small message.
READ_BYTES: Final = 64 * 1024


#: Bytes that are gathered for one write: to copy more costs as much as a write of its own.
_MAX_GATHERED_BYTES: Final = 64 * 1024


class SocketConnection:
    """Sends without waiting, in order; closes the connection of a peer that doesn't read.

    Args:
        socket: The server's side of the connection.
        max_backlog_bytes: Bytes that may wait for the peer.
        gathers: Whether all messages of one turn of the event loop are sent in one write. A UI gets
            several messages for each halt point, and each write costs as much as making a message.
    """

    def __init__(
        self,
        socket: ServerConnection,
        max_backlog_bytes: int = DEFAULT_HUB_LIMITS.max_backlog_bytes,
        *,
        gathers: bool = False,
    ) -> None:
        self._socket = socket
        self._max_backlog_bytes = max_backlog_bytes
        self._gathers = gathers
        self._gathered_bytes = 0
        self._write_due: asyncio.Handle | None = None
        self._largest = 0  # bytes that one write added to the backlog

    def send(self, text: str) -> None:
        """Hand a text frame to the transport, now or at the end of this turn."""
        if self._socket.state is not State.OPEN:
            return
        # One message may be larger than the backlog: it alone is no sign of a peer that doesn't read.
        if self.waiting_bytes > self._max_backlog_bytes + self._largest:
            self._socket.transport.abort()
            return
        data = text.encode()
        self._socket.protocol.send_text(data)
        self._gathered_bytes += len(data)
        if not self._gathers or self._gathered_bytes > _MAX_GATHERED_BYTES:
            self._write()
        elif self._write_due is None:
            self._write_due = self._socket.loop.call_soon(self._write)

    def _write(self) -> None:
        self._gathered_bytes = 0
        if self._write_due is not None:
            self._write_due.cancel()
            self._write_due = None
        if self._socket.state is not State.OPEN:
            return  # the closing handshake, which goes in the same order, took along what was there
        transport = self._socket.transport
        waiting_bytes = transport.get_write_buffer_size()
        transport.writelines(self._socket.protocol.data_to_send())
        self._largest = max(self._largest, transport.get_write_buffer_size() - waiting_bytes)

    @property
    def request(self) -> Request:
        """The request with which the peer opened the connection."""
        assert self._socket.request is not None  # the handshake is done
        return self._socket.request

    @property
    def is_local(self) -> bool:
        """Whether the peer is on this machine, or connects from one of this machine's addresses."""
        peer, own = self._socket.remote_address, self._socket.local_address
        return is_same_machine(peer and peer[0], own and own[0])

    @property
    def version(self) -> int:
        """The version of the protocol that the peer speaks."""
        return 1 if self._socket.subprotocol is None else 2

    @property
    def waiting_bytes(self) -> int:
        """Bytes that the system hasn't accepted yet."""
        return self._socket.transport.get_write_buffer_size() + self._gathered_bytes

    def close(self, code: int, reason: str) -> None:
        """Begin the closing handshake."""
        closing = self._socket.close(code, cut_close_reason(reason))
        self._closing = self._socket.loop.create_task(closing)


async def serve_connection(
    socket: ServerConnection, session: PeerSession, scheduler: FairScheduler
) -> None:
    """Pass a connection's messages to its session, until the connection ends.

    Args:
        socket: The server's side of the connection.
        session: The peer's side of the hub.
        scheduler: Decides when other connections have their turn.
    """
    if hasattr(socket.transport, "max_size"):
        socket.transport.max_size = READ_BYTES
    try:
        while True:
            message = await socket.recv()
            if isinstance(message, str):
                session.receive(message)
            else:
                session.receive_binary()
            if (turn := scheduler.count_message()) is not None:
                await turn
    except ConnectionClosed:
        pass
    finally:
        session.on_closed()
