"""A UI's messages of one turn of the event loop go in one write; an agent's answer goes at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from typing import Any, cast

from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from agentstepper_nb.hub.sockets import SocketConnection

LARGE = "x" * 100_000


class CountingTransport:
    """Counts the writes of a transport that does all else by itself."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self.write_count = 0
        self._transport = transport

    def writelines(self, data: Iterable[bytes]) -> None:
        self.write_count += 1
        self._transport.writelines(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


@asynccontextmanager
async def open_pair(
    *, gathers: bool
) -> AsyncGenerator[tuple[SocketConnection, CountingTransport, ClientConnection], None]:
    """A connection as the hub sees it, its transport, and its peer."""
    opened: asyncio.Future[ServerConnection] = asyncio.get_running_loop().create_future()

    async def handle(socket: ServerConnection) -> None:
        opened.set_result(socket)
        await socket.wait_closed()

    async with (
        serve(handle, "127.0.0.1", 0, compression=None) as server,
        connect(f"ws://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}") as peer,
    ):
        socket = await opened
        transport = CountingTransport(socket.transport)
        socket.transport = cast("asyncio.Transport", transport)
        yield SocketConnection(socket, gathers=gathers), transport, peer


async def receive(peer: ClientConnection, number: int) -> list[str]:
    return [str(await peer.recv()) for _ in range(number)]


async def test_messages_of_one_turn_go_in_one_write() -> None:
    async with open_pair(gathers=True) as (connection, transport, peer):
        for text in ("1", "2", "3"):
            connection.send(text)
        assert transport.write_count == 0
        assert connection.waiting_bytes == 3
        assert await receive(peer, 3) == ["1", "2", "3"]
        assert transport.write_count == 1
        connection.send("4")
        assert await receive(peer, 1) == ["4"]
        assert transport.write_count == 2
        assert connection.waiting_bytes == 0


async def test_a_large_message_does_not_wait_for_the_turns_end() -> None:
    async with open_pair(gathers=True) as (connection, transport, peer):
        connection.send("before")
        connection.send(LARGE)
        assert transport.write_count == 1
        connection.send("after")
        assert await receive(peer, 3) == ["before", LARGE, "after"]
        assert transport.write_count == 2


async def test_what_was_gathered_goes_before_the_closing_handshake() -> None:
    async with open_pair(gathers=True) as (connection, _, peer):
        connection.send("last words")
        connection.close(1001, "The Core is stopping.")
        connection.send("the close has only been asked for")
        received: list[str] = []
        try:
            while True:
                received.append(str(await peer.recv()))
        except ConnectionClosed as closed:
            assert closed.rcvd is not None
            assert closed.rcvd.code == 1001
        assert received == ["last words", "the close has only been asked for"]


async def test_an_answer_goes_at_once() -> None:
    async with open_pair(gathers=False) as (connection, transport, peer):
        connection.send("1")
        connection.send("2")
        assert transport.write_count == 2
        assert await receive(peer, 2) == ["1", "2"]
