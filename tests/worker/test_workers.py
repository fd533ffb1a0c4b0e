"""A Core asks its workers: answers, streams, refusals, and what becomes of them without a worker."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import pytest

from agentstepper_nb.errors import CommandError
from agentstepper_nb.hub.workers import Workers
from agentstepper_nb.rpc.peer import WINDOW_ITEMS
from tests.worker.worker_pair import LOG, EchoedText, EchoService, WorkerConnection


def run(test: Any) -> None:
    asyncio.run(test)


def refused(code: str) -> Any:
    return pytest.raises(CommandError, check=lambda error: error.code == code)


async def call_echo(workers: Workers, method: str, said: str = "hello") -> Any:
    return await workers.call("echo", method, EchoedText(said), EchoedText)


def test_calls_and_refusals(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        workers = Workers(LOG)
        with refused("unknown_service"):
            await call_echo(workers, "echo")
        WorkerConnection(workers, {"echo": EchoService()})
        assert workers.is_serving("echo")
        assert await call_echo(workers, "echo") == EchoedText("hello")
        assert await workers.call("echo", "nothing", None, type(None)) is None
        with refused("unknown_run"):
            await call_echo(workers, "refuse")
        with refused("unknown_service"):
            await call_echo(workers, "dance")
        with refused("too_large"):
            await call_echo(workers, "echo", "x" * (64 << 20))
        with refused("internal") as caught:
            await call_echo(workers, "fail")
        assert "ZeroDivisionError" in caught.value.message
        assert "a bug" not in caught.value.message  # that is for the log

    with caplog.at_level(logging.ERROR):
        run(test())
    assert "'echo.fail' failed" in caplog.text


async def test_workers_of_two_hosts_may_have_one_pid() -> None:
    """As in two containers: neither takes the other for an older connection of its own."""

    workers = Workers(LOG)
    one, other = (
        WorkerConnection(workers, {"echo": EchoService()}, host=host) for host in ("one", "other")
    )
    assert (one.closed_with, other.closed_with) == (None, None)
    again = WorkerConnection(workers, {"echo": EchoService()}, host="one")
    assert one.closed_with == (1000, "replaced by a newer connection")
    assert (other.closed_with, again.closed_with) == (None, None)


async def test_answers_may_overtake_each_other() -> None:
    workers, echo = Workers(LOG), EchoService()
    WorkerConnection(workers, {"echo": echo})
    slow = asyncio.create_task(call_echo(workers, "never"))
    await echo.reached.wait()
    said = await asyncio.gather(*(call_echo(workers, "echo", str(n)) for n in range(100)))
    assert said == [EchoedText(str(n)) for n in range(100)]
    slow.cancel()
    with pytest.raises(asyncio.CancelledError):
        await slow
    assert await call_echo(workers, "echo")  # by then the worker has heard
    assert echo.cancelled == 1


async def items(stream: AsyncGenerator[EchoedText, None]) -> list[str]:
    return [item.text async for item in stream]


async def test_streams() -> None:
    workers = Workers(LOG)
    WorkerConnection(workers, {"echo": EchoService()})
    assert await items(workers.stream("echo", "three", None, EchoedText)) == ["0", "1", "2"]
    with refused("unknown_run"):
        await items(workers.stream("echo", "refuse", None, EchoedText))
    assert await call_echo(workers, "echo")


async def test_a_reader_that_does_not_read_holds_the_stream_up() -> None:
    workers, echo = Workers(LOG), EchoService()
    WorkerConnection(workers, {"echo": echo})
    async with aclosing(workers.stream("echo", "endless", None, EchoedText)) as stream:
        assert await anext(stream) == EchoedText("0")
        for _ in range(10 * WINDOW_ITEMS):
            await asyncio.sleep(0)
        assert echo.given == WINDOW_ITEMS
        for number in range(1, 3 * WINDOW_ITEMS):
            assert await anext(stream) == EchoedText(str(number))
        for _ in range(10 * WINDOW_ITEMS):
            await asyncio.sleep(0)
        assert echo.given <= 4 * WINDOW_ITEMS
    assert await call_echo(workers, "echo")  # by then the worker has heard
    assert echo.cancelled == 1


async def test_a_worker_that_is_gone_leaves_nobody_waiting() -> None:
    workers, echo = Workers(LOG), EchoService()
    wire = WorkerConnection(workers, {"echo": echo})
    call = asyncio.create_task(call_echo(workers, "never"))
    await echo.reached.wait()
    stream = workers.stream("echo", "endless", None, EchoedText)
    await anext(stream)
    wire.break_off()
    with refused("worker_lost"):
        await call
    with refused("worker_lost"):
        await items(stream)
    with refused("unknown_service"):
        await call_echo(workers, "echo")
    await asyncio.sleep(0)
    assert echo.cancelled == 2


async def test_the_first_that_serves_it_is_asked_and_another_takes_over() -> None:
    workers, first, second = Workers(LOG), EchoService(), EchoService()
    one = WorkerConnection(workers, {"echo": first}, pid=1)
    WorkerConnection(workers, {"echo": second}, pid=2)
    call = asyncio.create_task(call_echo(workers, "never"))
    await first.reached.wait()
    one.break_off()
    with refused("worker_lost"):
        await call
    call = asyncio.create_task(call_echo(workers, "never"))
    await second.reached.wait()
    call.cancel()


async def test_a_process_that_connects_again_is_asked_there() -> None:
    workers, echo = Workers(LOG), EchoService()
    one = WorkerConnection(workers, {"echo": echo})
    call = asyncio.create_task(call_echo(workers, "never"))
    await echo.reached.wait()
    WorkerConnection(workers, {"echo": echo})
    with refused("worker_lost"):
        await call
    assert one.closed_with is not None
    assert await call_echo(workers, "echo")
    workers.close()


class FakeWorkerStart:
    """Starts a worker of the same loop, or fails as it is told."""

    def __init__(self) -> None:
        self.started = 0
        self.workers: Workers
        self.fails: Exception | None = None
        self.dies = False

    async def start(self) -> asyncio.Future[str]:
        if self.fails:
            raise self.fails
        self.started += 1
        ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        if self.dies:
            asyncio.get_running_loop().call_soon(ended.set_result, "exited with 3")
        elif self.started == 1:
            asyncio.get_running_loop().call_soon(
                WorkerConnection, self.workers, {"echo": EchoService()}
            )
        return ended


async def test_a_worker_is_started_by_who_asks() -> None:
    starter = FakeWorkerStart()
    starter.workers = workers = Workers(LOG, starter)
    assert not workers.is_serving("echo")
    said = await asyncio.gather(*(call_echo(workers, "echo") for _ in range(5)))
    assert said == [EchoedText("hello")] * 5


async def test_a_worker_that_does_not_start_is_said() -> None:
    starter = FakeWorkerStart()
    workers = Workers(LOG, starter)
    starter.fails = OSError("no such file")
    with refused("worker_failed") as caught:
        await call_echo(workers, "echo")
    assert "no such file" in caught.value.message
    starter.fails, starter.dies = None, True
    with refused("worker_failed") as caught:
        await call_echo(workers, "echo")
    assert "exited with 3" in caught.value.message


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{", "malformed"),
        ('{"n": 1, "type": "result", "id": "1", "body": {}}', "hello_expected"),
        (
            '{"n": 1, "type": "hello", "body": {"version": 9, "worker": "w", "pid": 1, "services": []}}',
            "version_mismatch",
        ),
    ],
)
async def test_a_greeting_that_is_none_is_refused(text: str, code: str) -> None:
    heard: list[str] = []

    class Ear:
        def send(self, text: str) -> None:
            heard.append(text)

        def close(self, code: int, reason: str) -> None:
            raise AssertionError

    session = Workers(LOG).connect(Ear())
    session.receive(text)
    assert f'"{code}"' in heard.pop()
    session.receive_binary()
    assert '"binary_frame"' in heard.pop()
    session.on_closed()


@pytest.mark.slow
async def test_a_worker_that_was_ending_as_it_was_asked_for_is_started_again() -> None:
    """Its connection is gone before its process is known to be."""

    starter = FakeWorkerStart()
    starter.workers = workers = Workers(LOG, starter)
    starter.dies = True
    asking = asyncio.create_task(call_echo(workers, "echo"))
    while not starter.started:
        await asyncio.sleep(0)
    starter.dies, starter.started = False, 0
    assert await asking == EchoedText("hello")
