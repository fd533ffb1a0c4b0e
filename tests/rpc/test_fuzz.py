"""Broken messages at both ends of a worker's connection: none raises, all are answered or passed by."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from typing import Any

import msgspec
import pytest

from agentstepper_nb.errors import CommandError
from agentstepper_nb.hub.workers import Workers
from agentstepper_nb.protocol.worker import RpcRequest, worker_messages
from agentstepper_nb.rpc.peer import MAX_OPEN_REQUESTS
from agentstepper_nb.rpc.session import RpcSession
from tests.helpers.fuzz import MANY_MESSAGES, MESSAGES, CountingTransport, send_broken_messages
from tests.worker.worker_pair import LOG, EchoedText, EchoService, WorkerConnection


def messages(turn: int) -> list[dict[str, Any]]:
    """What an end might say next, whole; ids are few, so that they collide."""
    asked = {"service": "echo", "method": "echo", "params": {"text": "x"}}
    said: list[tuple[str, Any]] = [
        ("hello", {"version": 1, "worker": "w", "pid": 1, "services": ["echo"]}),
        ("welcome", {"version": 1, "core": "c"}),
        ("request", asked),
        ("request", asked | {"method": "never"}),
        ("request", asked | {"method": "endless", "window": turn % 5}),
        ("request", asked | {"service": "other"}),
        ("cancel", {}),
        ("more", {"items": turn % 9}),
        ("item", {"value": {"text": "x"}}),
        ("result", {"value": {"text": "x"}}),
        ("failed", {"code": "internal", "message": "No."}),
    ]
    return [{"n": turn, "type": type, "id": f"{turn % 13}", "body": body} for type, body in said]


def at_the_core(count: int) -> None:
    """A Core has asked this worker, which answers nonsense."""

    async def test() -> None:
        workers, ear = Workers(LOG), CountingTransport()
        session = workers.connect(ear)
        session.receive('{"n": 1, "type": "result", "id": "1", "body": {}}')
        assert ear.codes == {"hello_expected": 1}
        session.receive(msgspec.json.encode(messages(0)[0]).decode())
        over = asyncio.Event()

        async def ask() -> Counter[str]:
            ends: Counter[str] = Counter()
            while not over.is_set():
                try:
                    await workers.call("echo", "echo", EchoedText("x"), EchoedText)
                    ends["answered"] += 1
                    async for _ in workers.stream("echo", "three", None, EchoedText):
                        ends["items"] += 1
                except CommandError as error:
                    ends[error.code] += 1
            return ends

        # As many as there are ids, so that what comes is for one of them.
        asking = [asyncio.create_task(ask()) for _ in range(13)]
        await send_broken_messages(count, 1, messages, session.receive)
        over.set()
        session.on_closed()
        ends: Counter[str] = sum(await asyncio.gather(*asking), Counter())
        assert {"malformed", "unknown_message", "invalid_message", "already_open"} <= set(ear.codes)
        assert {"answered", "internal", "worker_lost"} <= set(ends)
        assert ear.codes["unknown_service"] > 0  # a Core serves nothing
        WorkerConnection(workers, {"echo": EchoService()}, pid=2)
        assert await workers.call("echo", "echo", EchoedText("well"), EchoedText) == EchoedText(
            "well"
        )

    asyncio.run(test())


def at_the_worker(count: int) -> None:
    """A Core asks nonsense of a worker."""

    async def test() -> None:
        echo, ear = EchoService(), CountingTransport()
        line = RpcSession(ear.send, {"echo": echo}, LOG)
        await send_broken_messages(count, 2, messages, line.receive)
        assert {"malformed", "unknown_service", "invalid_message", "duplicate"} <= set(ear.codes)
        assert ear.answers["result"] > 0
        assert ear.answers["item"] > 0
        line.receive(
            worker_messages.encode(RpcRequest(service="echo", method="nothing"), 1, "a new one")
        )
        before = ear.answers["result"]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert ear.answers["result"] == before + 1
        assert len(line._serving) < MAX_OPEN_REQUESTS
        line.connection_lost("over")
        while line._serving:
            await asyncio.sleep(0)

    asyncio.run(test())


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> Any:
    """Refusals are warnings, and so many aren't kept; an error would be ours."""
    caplog.set_level(logging.ERROR, "agentstepper_nb")
    yield
    errors = {each.getMessage() for each in caplog.records if each.levelno >= logging.ERROR}
    # What the service makes of nonsense that is well-formed.
    assert errors <= {"'echo.echo' failed", "'echo.endless' failed", "'echo.never' failed"}


def test_at_the_core() -> None:
    at_the_core(MESSAGES)


def test_at_the_worker() -> None:
    at_the_worker(MESSAGES)


@pytest.mark.soak
def test_at_the_core_for_long() -> None:
    at_the_core(MANY_MESSAGES)


@pytest.mark.soak
def test_at_the_worker_for_long() -> None:
    at_the_worker(MANY_MESSAGES)
