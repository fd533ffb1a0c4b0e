"""The end of a run whose Core is away."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest

from agentstepper_nb import AgentStepper
from agentstepper_nb.protocol.agent import (
    AgentError,
    Bye,
    HaltPointReached,
    MessagesAcknowledged,
)
from agentstepper_nb.sdk import async_stepper, on_closing, stepper
from agentstepper_nb.sdk.connection_state import LinkLimits
from agentstepper_nb.sdk.send_queue import ResendBuffer
from tests.sdk.both_steppers import both, limited_stepper
from tests.sdk.resume.agents import (
    FINISHED,
    ThreadAgent,
)
from tests.sdk.scripted_core import TIMEOUT_S, AgentPeer, ScriptedCore


@pytest.fixture
def closing() -> Iterator[threading.Event]:
    """Set once an AgentStepper is about to say goodbye."""
    begun = threading.Event()
    take_back = on_closing(lambda stepper_kind, bye: begun.set())
    yield begun
    take_back()


SHORT_GOODBYES = LinkLimits(bye_timeout_s=0.2)


@both
def test_a_goodbye_waits_for_a_core_that_is_away(
    agent: ThreadAgent,
    core: ScriptedCore,
    closing: threading.Event,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scenario(dbg: Any) -> None:
        await agent.wait_for_step(0)

    working = agent.run(scenario)
    core.wait_for_peer().receive(HaltPointReached)
    core.stop()
    agent.release_step()
    assert closing.wait(TIMEOUT_S)
    core.start()
    working.result(TIMEOUT_S)
    assert core.wait_for_peer().wait_until_gone() == FINISHED
    assert "delivered" not in caplog.text


@both
def test_a_goodbye_that_finds_no_core_says_what_is_lost(
    agent: ThreadAgent, core: ScriptedCore, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(dbg: Any) -> str:
        await agent.wait_for_step(0)
        await dbg.post_debug_message("m")
        return str(getattr(dbg, "dbg", dbg).run_id)

    working = agent.run(scenario, limits=SHORT_GOODBYES)
    core.wait_for_peer().receive(HaltPointReached)
    core.stop()
    agent.release_step()
    run_id = working.result(TIMEOUT_S)
    core.start()
    said = [record.getMessage() for record in caplog.records if "delivered" in record.getMessage()]
    assert len(said) == 1
    assert said[0].startswith(f"2 messages of run {run_id} weren't delivered: No Core listens at")


@both
def test_a_goodbye_that_isn_t_kept_is_said_again(agent: ThreadAgent, core: ScriptedCore) -> None:
    """A Core that dies after it took the bye, before it had it on its disk."""

    async def scenario(dbg: Any) -> None:
        await agent.wait_for_step(0)
        core.acknowledges = False

    working = agent.run(scenario)
    first = core.wait_for_peer()
    agent.release_step()
    first.receive(Bye)
    assert first.hello is not None
    core.stop()
    core.received_counts[first.hello.run] -= 1
    core.acknowledges = True
    core.start()
    working.result(TIMEOUT_S)
    assert core.wait_for_peer().wait_until_gone() == FINISHED


class SlowCore:
    """A Core that is behind what an agent told as it went on, and catches up as time goes by."""

    def __init__(self) -> None:
        self.peer: AgentPeer | None = None
        self.heard = threading.Event()
        self.waits = 0
        self.awaited: dict[Any, Future[None]] = {}

    def advance_time(self, closed: Future[None]) -> bool:
        """Whether the agent is done after as long as a Core may keep nothing."""
        assert self.peer is not None
        self.waits += 1
        if self.waits == 1:
            self.peer.receive(Bye)
            self.peer.send(MessagesAcknowledged(received=len(self.peer.received)))
            assert self.heard.wait(TIMEOUT_S)
            return False
        self.peer.send(MessagesAcknowledged(received=1 + len(self.peer.received)))
        closed.result(TIMEOUT_S)
        return True

    def wait(self, futures: list[Future[None]], seconds: float) -> Any:
        return SimpleNamespace(done=[each for each in futures if self.advance_time(each)])

    async def wait_for(self, future: Any, seconds: float) -> None:
        if not await asyncio.to_thread(self.advance_time, self.awaited[future]):
            raise TimeoutError

    def wrap(self, closed: Future[None]) -> Any:
        future = asyncio.get_running_loop().create_future()
        self.awaited[future] = closed
        return future


@both
def test_a_goodbye_waits_while_the_core_keeps_more(
    agent: ThreadAgent,
    core: ScriptedCore,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    slow, acknowledge = SlowCore(), ResendBuffer.acknowledge

    async def scenario(dbg: Any) -> None:
        await agent.wait_for_step(0)
        core.acknowledges = False
        for _ in range(3):
            await dbg.post_debug_message("m")
        monkeypatch.setattr(stepper, "wait", slow.wait)
        steps = SimpleNamespace(wait_for=slow.wait_for, wrap_future=slow.wrap)
        monkeypatch.setattr(async_stepper, "asyncio", steps)

    def hear(buffer: ResendBuffer, number: int) -> None:
        acknowledge(buffer, number)
        if slow.waits:
            slow.heard.set()

    monkeypatch.setattr(ResendBuffer, "acknowledge", hear)
    working = agent.run(scenario)
    slow.peer = core.wait_for_peer()
    agent.release_step()
    working.result(TIMEOUT_S)
    assert slow.waits == 2
    assert slow.peer.wait_until_gone() == FINISHED
    assert "delivered" not in caplog.text


@both
def test_a_goodbye_that_was_kept_but_not_acknowledged(
    agent: ThreadAgent, core: ScriptedCore, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(dbg: Any) -> None:
        await agent.wait_for_step(0)
        core.acknowledges = False

    working = agent.run(scenario)
    first = core.wait_for_peer()
    agent.release_step()
    first.receive(Bye)
    core.welcome = AgentError(code="run_ended", message="This run has ended.")
    first.break_connection()
    working.result(TIMEOUT_S)
    assert caplog.records == []


def test_a_garbage_collection_while_the_core_is_away_says_goodbye_later(
    core: ScriptedCore,
) -> None:
    dbg = AgentStepper("T", "127.0.0.1", core.port)
    core.wait_for_peer()
    core.stop()
    del dbg
    gc.collect()
    core.start()
    assert core.wait_for_peer().wait_until_gone() == FINISHED


def test_a_garbage_collection_is_no_wait(core: ScriptedCore) -> None:
    dbg = limited_stepper(SHORT_GOODBYES)("T", "127.0.0.1", core.port)
    link = dbg._current_session().link
    core.wait_for_peer()
    core.stop()
    del dbg
    gc.collect()
    link.closed.result(TIMEOUT_S)
    core.start()
