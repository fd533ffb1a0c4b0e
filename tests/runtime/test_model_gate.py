"""Model calls that wait for the Core's budget: turns, portions, what is shown, and cancelling."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb.errors import CommandError
from agentstepper_nb.hub.runtime.model_rates import ModelRate, ModelRates
from agentstepper_nb.llm_wire.conversation import ModelRequest, UserMessage
from agentstepper_nb.llm_wire.events import AgentEvent, ResponseCompleted, TextDelta, TraceEvent
from agentstepper_nb.models.provider import ModelProvider
from agentstepper_nb.protocol.data_model import Usage
from agentstepper_nb.protocol.runtime_requests import ModelCredit, TakeModelCredit
from agentstepper_nb.runtime.model_gate import ModelGate, RateLimitedProvider
from agentstepper_nb.runtime.moniker import MonikerContext

LOG = logging.getLogger("agentstepper_nb.test")


class Worker:
    """A gate over a Core's budgets, whose sleeps move the clock that both have."""

    def __init__(self, **rate: int) -> None:
        self.now = 1000.0
        self.requests: list[TakeModelCredit] = []
        self.sleeps: list[float] = []
        self.sleeping = asyncio.Event()
        self.is_stopped = False  # whether a sleep lasts for ever
        self._rates = ModelRates({"m": ModelRate(**rate)} if rate else {}, lambda: self.now)
        self.gate = ModelGate(self, LOG, now=lambda: self.now, sleep=self._sleep)

    async def take_model_credit(self, request: TakeModelCredit) -> ModelCredit:
        self.requests.append(request)
        return await self._rates.take_model_credit(request)

    async def _sleep(self, wait_s: float) -> None:
        self.sleeps.append(wait_s)
        self.sleeping.set()
        if self.is_stopped:
            await asyncio.Event().wait()
        self.now += wait_s
        await asyncio.sleep(0)

    async def admit(self, model: str = "m") -> None:
        async with aclosing(self.gate.admit(model)) as waits:
            async for _ in waits:
                pass


class Model:
    """A model that answers at once, and counts."""

    name = "test"

    def __init__(self, tokens: int = 10) -> None:
        self.calls = 0
        self._tokens = tokens

    async def stream(self, request: ModelRequest) -> AsyncIterator[AgentEvent]:
        self.calls += 1
        yield TextDelta("tea")
        yield ResponseCompleted("stop", Usage(input_tokens=self._tokens, output_tokens=1))

    async def close(self) -> None:
        pass


class Shown:
    """A run that shows messages."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    async def post_debug_message(self, message: str) -> None:
        self.messages.append(message)


async def ask(provider: ModelProvider) -> list[AgentEvent]:
    request = ModelRequest(model="m", system="", messages=(UserMessage(content="tea?"),))
    return [event async for event in provider.stream(request)]


async def test_model_without_a_limit_is_asked_for_once_a_minute() -> None:
    worker = Worker()
    for _ in range(100):
        await worker.admit()
    assert len(worker.requests) == 1
    worker.now += 61
    await worker.admit()
    assert (len(worker.requests), worker.sleeps) == (2, [])


async def test_calls_are_taken_in_portions_and_go_as_the_rate_says() -> None:
    worker = Worker(requests=600)
    for _ in range(300):
        await worker.admit()
    # 100 at once, then 10 a second; ten of them asked for together.
    assert worker.now - 1000 == pytest.approx(20, abs=1.1)
    await asyncio.gather(*(worker.admit() for _ in range(50)))
    assert worker.now - 1000 == pytest.approx(25, abs=1.1)
    assert max(each.wanted for each in worker.requests) > 10


async def test_wait_is_logged_shown_and_part_of_the_answer(
    caplog: pytest.LogCaptureFixture,
) -> None:
    worker, model, shown = Worker(requests=60), Model(), Shown()
    provider = RateLimitedProvider(model, worker.gate, lambda: shown, LOG)
    caplog.set_level("INFO")
    for _ in range(10):
        assert isinstance((await ask(provider))[0], TextDelta)
    assert shown.messages == []
    events = await ask(provider)
    assert events[0] == TraceEvent("rate_limit", {"model": "m", "wait_s": pytest.approx(1)})
    assert model.calls == 11
    assert shown.messages == [
        "The call of m waits for the Core's rate limit, 1.0 s at least.",
    ]
    assert shown.messages[0] in caplog.text


async def test_long_wait_is_told_in_parts() -> None:
    worker = Worker(requests=1)
    provider = RateLimitedProvider(Model(), worker.gate, lambda: None, LOG)
    await ask(provider)
    events = await ask(provider)
    assert [each.kind for each in events if isinstance(each, TraceEvent)] == ["rate_limit"] * 2
    assert worker.sleeps == pytest.approx([30, 30])


async def test_cancelled_wait_gives_its_turn_to_the_next() -> None:
    worker = Worker(requests=1)
    await worker.admit()
    worker.is_stopped = True
    first = asyncio.create_task(worker.admit())
    await worker.sleeping.wait()
    second = asyncio.create_task(worker.admit())
    await asyncio.sleep(0)
    first.cancel()
    worker.is_stopped = False
    await asyncio.wait({first})
    assert first.cancelled()
    await second
    assert worker.requests[-1].wanted == 1


async def test_tokens_that_were_used_are_told_with_the_next_request() -> None:
    worker = Worker(tokens=600)
    provider = RateLimitedProvider(Model(499), worker.gate, lambda: None, LOG)
    await ask(provider)
    await ask(provider)
    assert sum(each.used_tokens for each in worker.requests) == 500
    assert worker.now - 1000 >= 40  # 500 tokens at ten a second, of which 100 were there


async def test_call_that_breaks_off_is_settled() -> None:
    worker = Worker(tokens=60_000)
    provider = RateLimitedProvider(Model(), worker.gate, lambda: None, LOG)
    request = ModelRequest(model="m", system="", messages=(UserMessage(content="tea?"),))
    async with aclosing(provider.stream(request)) as events:
        await anext(events)
    await ask(provider)
    assert [each.settled for each in worker.requests] == [0, 1]


async def test_core_of_an_earlier_version_limits_nothing() -> None:
    class Old:
        async def take_model_credit(self, request: TakeModelCredit) -> ModelCredit:
            raise CommandError("unknown_service", "The runtime has no such method.")

    gate = ModelGate(Old(), LOG)
    assert [wait async for wait in gate.admit("m")] == []


async def test_monikers_call_through_the_gate(tmp_path: Path) -> None:
    def make_context(gate: ModelGate | None) -> MonikerContext:
        given: dict[str, Any] = {"config": None, "data_dir": tmp_path, "dbg": None, "log": LOG}
        return MonikerContext("a", "s", **given, model_gate=gate)

    model = Model()
    assert make_context(None).limit_calls(model) is model
    assert make_context(Worker().gate).limit_calls(model).name == "test"
