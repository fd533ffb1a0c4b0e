"""The bound on what waits for a slow peer."""

from __future__ import annotations

import asyncio

import pytest
from tornado.websocket import WebSocketClosedError

from agentstepper_nb.server_ext.socket_outbox import SocketOutbox


class ManualWriter:
    """Takes writes and lets the test settle them."""

    def __init__(self, limit: int = 10) -> None:
        self.written: list[bytes] = []
        self.futures: list[asyncio.Future[None]] = []
        self.too_slow = 0
        self.broken = False
        self.outbox = SocketOutbox(self.write, self.count, limit)

    def write(self, message: bytes) -> asyncio.Future[None]:
        if self.broken:
            raise WebSocketClosedError
        self.written.append(message)
        self.futures.append(asyncio.get_running_loop().create_future())
        return self.futures[-1]

    def count(self) -> None:
        self.too_slow += 1

    async def settle(self, error: BaseException | None = None) -> None:
        future = self.futures.pop(0)
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)
        await asyncio.sleep(0)


async def test_order_and_count() -> None:
    wire = ManualWriter()
    for text in ("a", "bb", "ü"):
        wire.outbox.send(text)
    assert wire.written == [b"a", b"bb", "ü".encode()]
    assert wire.outbox.waiting_bytes == 4
    await wire.settle()
    assert wire.outbox.waiting_bytes == 2


async def test_one_large_message_passes_and_some_behind_it() -> None:
    wire = ManualWriter()
    wire.outbox.send("x" * 1000)
    wire.outbox.send("y" * 10)
    assert not wire.too_slow
    wire.outbox.send("z")
    assert wire.too_slow == 1


async def test_too_slow_once_and_then_silent() -> None:
    wire = ManualWriter()
    for _ in range(4):
        wire.outbox.send("x" * 10)
    assert wire.written == [b"x" * 10] * 2
    assert wire.too_slow == 1


async def test_a_peer_that_catches_up_is_kept() -> None:
    wire = ManualWriter()
    for _ in range(5):
        wire.outbox.send("x" * 10)
        await wire.settle()
    assert len(wire.written) == 5
    assert not wire.too_slow


@pytest.mark.parametrize("how", ["at once", "later", "cancelled"])
async def test_a_dead_peer_gets_nothing_more(how: str) -> None:
    wire = ManualWriter()
    wire.broken = how == "at once"
    wire.outbox.send("x")
    if how == "later":
        await wire.settle(WebSocketClosedError())
    elif how == "cancelled":
        wire.futures[0].cancel()
        await asyncio.sleep(0)
    wire.outbox.send("y")
    assert b"y" not in wire.written
    assert not wire.too_slow


async def test_lone_surrogates_do_not_stop_the_stream() -> None:
    wire = ManualWriter()
    wire.outbox.send("\ud800")
    assert wire.written == [b"?"]
