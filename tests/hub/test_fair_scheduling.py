"""One connection that sends without end keeps neither the loop nor the store to itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest
from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosedOK

from agentstepper_nb.hub.sockets import (
    MESSAGES_PER_STORE_WAIT,
    MESSAGES_PER_YIELD,
    FairScheduler,
    serve_connection,
)
from agentstepper_nb.protocol.records import Record
from agentstepper_nb.store import MemoryStore
from tests.helpers.loops import settle
from tests.hub.conftest import SocketHarness

QUEUED = 10_000


class PrefilledSocket:
    """A socket whose messages are there already: reading one never waits."""

    transport = None

    def __init__(self, messages: Sequence[str]) -> None:
        self._left = list(reversed(messages))

    async def recv(self) -> str:
        if not self._left:
            raise ConnectionClosedOK(None, None)
        return self._left.pop()


class RecordingSession:
    """A session that notes who spoke."""

    def __init__(self, name: str, heard: list[str]) -> None:
        self._name = name
        self._received = heard

    def receive(self, text: str) -> None:
        self._received.append(self._name)

    def receive_binary(self) -> None:
        raise AssertionError

    def on_closed(self) -> None:
        self._received.append(f"{self._name} left")


async def speak(name: str, messages: int, heard: list[str], turns: FairScheduler) -> None:
    socket = cast(ServerConnection, PrefilledSocket(["x"] * messages))
    await serve_connection(socket, RecordingSession(name, heard), turns)


async def test_who_sends_without_end_lets_others_have_their_turn() -> None:
    heard: list[str] = []
    flood = asyncio.ensure_future(speak("flood", QUEUED, heard, FairScheduler()))
    while not heard:
        await asyncio.sleep(0)
    before = len(heard)
    assert not flood.done()
    await speak("other", 1, heard, FairScheduler())
    assert heard.index("other") - before <= MESSAGES_PER_YIELD
    await flood
    assert heard.count("flood") == QUEUED
    assert heard[-1] == "flood left"


class SlowStore(MemoryStore):
    """A store that records when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: list[Callable[[], None]] = []
        self.is_closed = False

    def append(self, records: Sequence[Record], *args: Any, **named: Any) -> None:
        raise AssertionError

    def call_when_recorded(self, done: Callable[[], None]) -> None:
        if self.is_closed:
            done()
        else:
            self.waiting.append(done)


async def stands_still(heard: list[str]) -> int:
    """How many messages were heard when no more come."""
    before = -1
    while before != len(heard):
        before = len(heard)
        await settle()
    return before


async def test_who_is_faster_than_the_store_waits_for_it() -> None:
    store, heard = SlowStore(), list[str]()
    turns = FairScheduler(store.call_when_recorded)
    flood = asyncio.ensure_future(speak("flood", QUEUED, heard, turns))
    assert await stands_still(heard) == 2 * MESSAGES_PER_STORE_WAIT
    for marks in range(3, 6):
        store.waiting.pop(0)()
        assert await stands_still(heard) == marks * MESSAGES_PER_STORE_WAIT
    # Who sends little is never among those that wait.
    await speak(
        "other", MESSAGES_PER_STORE_WAIT - 1, heard, FairScheduler(store.call_when_recorded)
    )
    assert not flood.done()
    # A store that closes calls back what waits, and nobody waits for it any more.
    store.is_closed = True
    for done in store.waiting:
        done()
    await flood
    assert heard.count("flood") == QUEUED


@pytest.mark.slow
@pytest.mark.parametrize("data", [True, False], ids=["on disk", "in memory"])
def test_a_flood_is_recorded_whole_and_others_are_stepped(
    new_socket_harness: Callable[..., SocketHarness], data: bool, tmp_path: Any
) -> None:
    socket_harness = new_socket_harness(data=tmp_path if data else None)
    ui, flood, other = (
        socket_harness.ui(2),
        socket_harness.started(2, "Flood"),
        socket_harness.started(2, "Other"),
    )
    for number in range(2000):
        flood.post_debug_message(str(number))
    asked = other.begin_query("hi")
    ui.wait_until_halted(ui.find_run("Other"), asked)
    ui.step(ui.find_run("Other"))
    assert other.receive_answer() == "hi"
    flood.finish()
    assert ui.wait_for_state(ui.find_run("Flood"), "idle")["rows"] == 2001
