"""What lives in a worker is known until it ends, however badly that goes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from agentstepper_nb.runtime.session_registry import SessionRegistry
from tests.helpers.loops import settle
from tests.runtime.queues import LOG


def run(test: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(test())  # type: ignore[arg-type]


class StubSession:
    """An agent that ends when it is told, by an error where a test wants it."""

    def __init__(self, session_id: str = "s", epoch: int = 1) -> None:
        self.session_id = session_id
        self.epoch = epoch
        self.started = 0
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.error: Exception | None = None

    def start(self) -> None:
        self.started += 1

    async def suspend(self) -> None:
        if not self.ended.done():
            self.ended.set_result(None)
        if self.error is not None:
            raise self.error

    async def join(self) -> None:
        await self.ended

    async def _never(self, *args: Any) -> None:
        raise AssertionError(args)

    record_created = pause = resume = interrupt = input = destroy = _never


def test_who_ends_is_forgotten(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        registry = SessionRegistry(LOG)
        good, bad = StubSession("good", 3), StubSession("bad")
        for agent in (good, bad):
            registry.start_agent(agent)
        assert (good.started, len(registry)) == (1, 2)
        assert registry.local_epochs() == {"good": 3, "bad": 1}
        good.ended.set_result(None)
        bad.ended.set_exception(ZeroDivisionError("a bug"))
        await settle()
        assert registry.local_epochs() == {}

    with caplog.at_level(logging.ERROR):
        run(test)
    assert "the agent of bad failed as it ended" in caplog.text


def test_an_older_one_that_ends_late_takes_nobody_with_it() -> None:
    async def test() -> None:
        registry = SessionRegistry(LOG)
        old, new = StubSession(epoch=1), StubSession(epoch=2)
        registry.start_agent(old)
        registry.start_agent(new)
        await registry.suspend_agent(old)
        assert registry.get("s") is new
        await registry.suspend_agent(new)
        await registry.suspend_agent(new)  # once more is nothing
        assert registry.get("s") is None

    run(test)


def test_one_that_wont_end_keeps_nobody_waiting() -> None:
    """Leases are renewed by who drops it: those of all others would be over meanwhile."""

    async def test() -> None:
        registry = SessionRegistry(LOG)
        stubborn, other = StubSession("stubborn"), StubSession("other")
        end, asked = asyncio.Event(), []

        async def suspend() -> None:
            asked.append("stubborn")
            await end.wait()

        stubborn.suspend = suspend  # type: ignore[method-assign]
        for agent in (stubborn, other):
            registry.start_agent(agent)
        for _ in range(2):
            for agent in (stubborn, other):
                registry.drop(agent)
            await settle()
        assert (asked, registry.local_epochs()) == (["stubborn"], {"stubborn": 1})
        end.set()
        await settle()
        assert registry.local_epochs() == {}
        await registry.close()

    run(test)


def test_the_end_is_for_all_of_them(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        registry = SessionRegistry(LOG)
        agents = [StubSession(f"s{number}") for number in range(3)]
        agents[1].error = ZeroDivisionError("a bug")
        for agent in agents:
            registry.start_agent(agent)
        await registry.close()
        assert all(agent.ended.done() for agent in agents)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    with caplog.at_level(logging.ERROR):
        run(test)
    assert "the agent of s1 could not be ended" in caplog.text


def test_who_is_about_to_begin_is_found_and_begins_unless_that_fails() -> None:
    async def test() -> None:
        registry = SessionRegistry(LOG)
        good, bad, gone = StubSession("good"), StubSession("bad"), StubSession("gone")
        with registry.register_pending(good):
            assert (registry.get("good"), good.started) == (good, 0)
        assert (registry.get("good"), good.started) == (good, 1)
        with pytest.raises(ZeroDivisionError):
            with registry.register_pending(bad):
                raise ZeroDivisionError
        with registry.register_pending(gone):
            await registry.suspend_agent(gone)
        assert (registry.local_epochs(), bad.started, gone.started) == ({"good": 1}, 0, 0)
        await registry.close()

    run(test)
