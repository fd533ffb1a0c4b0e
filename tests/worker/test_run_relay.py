"""The relay: runs of several processes on one connection, over Cores that go and come back."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Subprotocol

from agentstepper_nb import AgentStepperCore, AsyncAgentStepper
from agentstepper_nb.discover import CoreEndpoint
from agentstepper_nb.protocol.agent import (
    Bye,
    Hello,
    MessagesAcknowledged,
    Welcome,
    from_agent,
    to_agent,
)
from agentstepper_nb.protocol.data_model import RunEnding
from agentstepper_nb.protocol.envelope import SUBPROTOCOL, decode_envelope
from agentstepper_nb.worker.run_relay import RunRelay
from tests.helpers.loops import settle

LOG = logging.getLogger("agentstepper_nb.test")


async def no_exit_code(pid: int, timeout_s: float) -> int | None:
    return None


@asynccontextmanager
async def a_relay(url: str, token: str | None = None) -> AsyncIterator[RunRelay]:
    relay = RunRelay(lambda: CoreEndpoint(url, token), no_exit_code, LOG)
    try:
        yield relay
    finally:
        await relay.close()


@asynccontextmanager
async def a_process(relay: RunRelay) -> AsyncIterator[ClientConnection]:
    """A connection to the relay, as a process makes one."""
    endpoint = await relay.find_endpoint()
    headers = {"Authorization": f"Bearer {endpoint.token}"}
    subprotocols = [Subprotocol(SUBPROTOCOL)]
    async with connect(
        endpoint.url, additional_headers=headers, subprotocols=subprotocols, proxy=None
    ) as connection:
        yield connection


def hello(run: str, shares: bool = True) -> str:
    message = Hello(
        version=2,
        sdk="test",
        program="p",
        run=run,
        secret="s",
        pid=os.getpid(),
        host="h",
        boot="b",
        shares_connection=shares,
    )
    return from_agent.encode(message, 1)


class SharingCore:
    """A Core's end that notes what comes, and welcomes; perhaps to a connection that isn't shared."""

    def __init__(self, shares: bool = True) -> None:
        self.connections: list[ServerConnection] = []
        self.texts: list[str] = []
        self._shares = shares
        self._changed = asyncio.Condition()

    async def serve(self, connection: ServerConnection) -> None:
        self.connections.append(connection)
        first = None
        async for text in connection:
            assert isinstance(text, str)
            _, message = from_agent.decode(text)
            if isinstance(message, Hello):
                first = first or message.run
                shares = {"shares_connection": True} if self._shares else {}
                welcome = Welcome(version=2, core="c", run=message.run, **shares)
                name = None if message.run == first else message.run
                await connection.send(to_agent.encode(welcome, 1, run=name))
            async with self._changed:
                self.texts.append(text)
                self._changed.notify_all()

    async def wait_for(self, type: str, number: int = 1) -> list[Any]:
        """The envelopes of a type, once so many came."""
        async with self._changed:
            while True:
                found = [each for each in map(decode_envelope, self.texts) if each.type == type]
                if len(found) >= number:
                    return found
                await self._changed.wait()


@asynccontextmanager
async def a_core(core: SharingCore) -> AsyncIterator[str]:
    subprotocols = [Subprotocol(SUBPROTOCOL)]
    async with serve(core.serve, "127.0.0.1", 0, subprotocols=subprotocols) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        yield f"ws://127.0.0.1:{port}"


async def greet(process: ClientConnection, run: str) -> None:
    await process.send(hello(run))
    envelope, message = to_agent.decode(await process.recv())
    assert isinstance(message, Welcome)
    assert (message.run, envelope.run) == (run, run)


async def test_runs_of_processes_share_a_connection_and_each_message_names_its_run() -> None:
    core = SharingCore()
    async with a_core(core) as url, a_relay(url) as relay:
        async with a_process(relay) as one, a_process(relay) as two:
            await greet(one, "run1")
            await greet(two, "run2")
            bye = from_agent.encode(Bye(ending=RunEnding.FINISHED), 2)
            await one.send(bye)
            await two.send(bye)
            byes = await core.wait_for("bye", 2)
            assert sorted(each.run for each in byes) == ["run1", "run2"]
            assert {each.n for each in byes} == {2}
            assert len(core.connections) == 1
        leaves = await core.wait_for("leave", 2)
        assert sorted(each.run for each in leaves) == ["run1", "run2"]


async def test_a_process_that_is_gone_leaves_and_its_neighbour_stays() -> None:
    core = SharingCore()
    async with a_core(core) as url, a_relay(url) as relay, a_process(relay) as two:
        async with a_process(relay) as one:
            await greet(one, "run1")
            await greet(two, "run2")
            one.transport.abort()
        (left,) = await core.wait_for("leave")
        assert left.run == "run1"
        await two.send(from_agent.encode(Bye(ending=RunEnding.FINISHED), 2))
        (bye,) = await core.wait_for("bye")
        assert bye.run == "run2"


async def test_how_a_process_ended_is_told_before_its_run_leaves() -> None:
    core = SharingCore()

    async def killed(pid: int, timeout_s: float) -> int | None:
        return -9

    async with a_core(core) as url:
        relay = RunRelay(lambda: CoreEndpoint(url), killed, LOG)
        async with a_process(relay) as process:
            await greet(process, "run1")
        (ended,) = await core.wait_for("process_ended")
        await core.wait_for("leave")
        assert (ended.run, ended.n) == ("run1", 2)
        assert [decode_envelope(text).type for text in core.texts] == [
            "hello",
            "process_ended",
            "leave",
        ]
        await relay.close()


async def test_a_process_that_comes_back_while_its_end_is_looked_for_stays() -> None:
    core = SharingCore()
    asked, answer = asyncio.Event(), asyncio.Event()

    async def goes_on(pid: int, timeout_s: float) -> int | None:
        asked.set()
        await answer.wait()
        return None

    async with a_core(core) as url:
        relay = RunRelay(lambda: CoreEndpoint(url), goes_on, LOG)
        async with a_process(relay) as lost, a_process(relay) as back:
            await greet(lost, "run1")
            lost.transport.abort()
            await asked.wait()
            await back.send(hello("run1"))
            await back.recv()
            answer.set()
            await settle()
            await back.send(from_agent.encode(Bye(ending=RunEnding.FINISHED), 2))
            await core.wait_for("bye")
            assert [decode_envelope(text).type for text in core.texts] == ["hello", "hello", "bye"]
        await core.wait_for("leave")
        await relay.close()


async def test_a_process_that_comes_back_while_its_end_is_told_is_still_reached(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    core = SharingCore()
    told, go_on = asyncio.Event(), asyncio.Event()
    async with a_core(core) as url, a_relay(url) as relay:
        async with a_process(relay) as lost, a_process(relay) as back, a_process(relay) as other:
            await greet(lost, "run1")
            await greet(other, "run2")
            shared = relay._shared
            assert shared is not None
            send_message = shared.send_message

            async def send_slowly(*message: Any) -> None:
                await send_message(*message)
                told.set()
                await go_on.wait()

            monkeypatch.setattr(shared, "send_message", send_slowly)
            lost.transport.abort()
            await told.wait()
            await greet(back, "run1")
            go_on.set()
            await settle()
            for run in ("run1", "run2"):
                await core.connections[0].send(
                    to_agent.encode(MessagesAcknowledged(received=1), 2, run=run)
                )
            await other.recv()
            await relay.close()
            assert len([text async for text in back]) == 1


async def test_a_core_that_shares_no_connection_gets_one_for_each_run() -> None:
    core = SharingCore(shares=False)
    async with a_core(core) as url, a_relay(url) as relay:
        async with a_process(relay) as one, a_process(relay) as two:
            await greet(one, "run1")
            await greet(two, "run2")
            assert len(core.connections) == 2
        for connection in core.connections:
            await connection.wait_closed()


async def test_where_the_core_goes_away_so_do_the_processes_connections() -> None:
    core = SharingCore()
    async with a_core(core) as url, a_relay(url) as relay:
        async with a_process(relay) as one, a_process(relay) as two:
            await greet(one, "run1")
            await greet(two, "run2")
            await core.connections[0].close()
            for process in (one, two):
                with pytest.raises(ConnectionClosed) as closed:
                    await process.recv()
                assert closed.value.rcvd is not None
                assert closed.value.rcvd.code == 1001
        async with a_process(relay) as one:  # the next time there is a new connection
            await greet(one, "run1")
            assert len(core.connections) == 2


async def test_where_there_is_no_core_a_process_is_told_at_once() -> None:
    async with a_relay("ws://127.0.0.1:9") as relay, a_process(relay) as process:
        await process.send(hello("run1"))
        with pytest.raises(ConnectionClosed) as closed:
            await process.recv()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1001


@pytest.mark.parametrize("text", ["not json", '{"n": 1, "type": "bye", "body": {}}'])
async def test_what_cannot_be_passed_on_ends_the_process_connection_alone(text: str) -> None:
    core = SharingCore()
    async with a_core(core) as url, a_relay(url) as relay, a_process(relay) as other:
        await greet(other, "run1")
        async with a_process(relay) as process:
            await process.send(text)
            with pytest.raises(ConnectionClosed):
                await process.recv()
        await other.send(from_agent.encode(Bye(ending=RunEnding.FINISHED), 2))
        await core.wait_for("bye")


@pytest.mark.parametrize("token", [None, "wrong"])
async def test_who_lacks_the_token_is_refused(token: str | None) -> None:
    async with a_relay("ws://127.0.0.1:9") as relay:
        endpoint = await relay.find_endpoint()
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        with pytest.raises(InvalidStatus) as refused:
            async with connect(endpoint.url, additional_headers=headers, proxy=None):
                pass
        assert refused.value.response.status_code == 401


async def test_a_long_message_goes_in_parts() -> None:
    core = SharingCore()
    async with a_core(core) as url, a_relay(url) as relay, a_process(relay) as process:
        await greet(process, "run1")
        padding = " " * 600_000
        await process.send(
            from_agent.encode(Bye(ending=RunEnding.FINISHED), 2)[:-1] + padding + "}"
        )
        parts = await core.wait_for("part", 3)
        assert {each.run for each in parts} == {"run1"}


@pytest.mark.slow
async def test_an_agent_finds_its_core_back_through_the_relay(tmp_path: Path) -> None:
    """With real parts: the Core is restarted on its folder and port while a run goes on."""
    with AgentStepperCore("127.0.0.1", 0, 0, data=tmp_path, token="t" * 32) as core:
        port = core.client_port
        url = f"ws://127.0.0.1:{port}"
        async with a_relay(url, "t" * 32) as relay:
            endpoint = await relay.find_endpoint()
            dbg = await AsyncAgentStepper.connect(
                "p", url=endpoint.url, token=endpoint.token, mode="continue", stop_on_entry=False
            )
            await dbg.post_debug_message("before")
            await asyncio.to_thread(core.stop)
            again = AgentStepperCore("127.0.0.1", port, 0, data=tmp_path, token="t" * 32)
            with again:
                await dbg.post_debug_message("after")
                timeline = None
                while timeline is None:
                    timeline = await asyncio.to_thread(dbg._timeline)
                assert "before" in str(timeline)
                assert "after" in str(timeline)
                await dbg.close()
