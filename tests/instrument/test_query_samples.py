"""A halted query is asked again by the agent's own client, and any of its answers is taken on."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from openai import AsyncOpenAI, OpenAI
from openai.types.chat import ChatCompletion

from agentstepper_nb import AgentStepper, AgentStepperCore, AsyncAgentStepper
from agentstepper_nb.instrument import trace_request
from agentstepper_nb.models.scripted import (
    ErrorFault,
    Script,
    ScriptedCall,
    ScriptedServer,
    ScriptRule,
    always,
    last_says,
    say,
)
from agentstepper_nb.protocol import query_samples as wire
from agentstepper_nb.protocol import ui
from agentstepper_nb.protocol.data_model import EventKind, SampleTotals
from agentstepper_nb.sdk import query_samples
from tests.instrument.queries import MESSAGES, ask_chat, list_queries
from tests.sdk.person import LiveView
from tests.sdk.scripted_core import TIMEOUT_S

LS, TEXT = ScriptedCall("ls", {"path": "src"}), "I am done."
#: What the model answers, one after the other.
REPLIES = [say(TEXT), LS, LS, say(TEXT), LS]


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    """A model that answers the same request otherwise each time."""
    replies = iter(REPLIES * 20)
    refused = ScriptRule(last_says("refuse me"), say("no"), ErrorFault(status=400, times=99))
    with ScriptedServer(
        Script("unsure", [refused, ScriptRule(always, lambda _: next(replies))])
    ) as s:
        yield s


class Sampled:
    """What a person has asked again at the halt point that waits now."""

    def __init__(self, person: LiveView) -> None:
        self._person = person
        halt_point = person.wait_until_halted()
        self._named = {"run": person.run.id, "halt_point": halt_point}

    def left(self) -> int:
        offer: wire.SamplingOffer = self._person._request(
            wire.GetSampling(**self._named), wire.SamplingOffer
        )
        return offer.left

    def ask(self) -> wire.SampledAnswer:
        answer: wire.SampledAnswer = self._person._request(
            wire.SampleQuery(**self._named), wire.SampledAnswer
        )
        return answer

    def refusal(self, command: type[Any] = wire.SampleQuery) -> str:
        with pytest.raises(AssertionError) as refused:
            self._person._request(command(**self._named))
        error: ui.UiError = refused.value.args[0]
        assert error.code == "resample_refused"
        return error.message


def step_to_next(person: LiveView, revision: int = 1) -> None:
    """Step, and wait for the next halt point."""
    halt_point = person.wait_until_halted()
    person.step(revision=revision)
    person.wait_until(lambda run: bool(run.pending) and run.pending[0] != halt_point)


def skip_with(person: LiveView, sample: wire.SampledAnswer) -> None:
    """Take an answer where the query begins: the text as it came."""
    person._request(ui.SkipCall(**person._meant(), result=sample.data))


# ---- at the HTTP client -----------------------------------------------------------------------------


def test_a_query_is_asked_again_at_its_begin(
    dbg: AgentStepper, server: ScriptedServer, person: LiveView, pool: ThreadPoolExecutor
) -> None:
    working = pool.submit(ask_chat, server)
    sampled = Sampled(person)
    assert sampled.left() == wire.MAX_SAMPLES
    assert not server.exchanges  # to look costs nothing
    first, second, third = (sampled.ask() for _ in range(3))
    assert (first.summary, second.summary) == (TEXT, "Calls ls(src)")
    assert first.action != second.action == third.action
    assert third.left == sampled.left() == wire.MAX_SAMPLES - 3
    bodies = [exchange.json for exchange in server.exchanges]
    assert bodies == [{"model": "m", "messages": MESSAGES}] * 3
    skip_with(person, third)
    person.step()
    message = working.result(TIMEOUT_S).choices[0].message
    assert [call.function.name for call in message.tool_calls] == ["ls"]
    assert len(server.exchanges) == 3  # the query itself was never made
    _, end = list_queries(person)
    assert person.get_data(end)["choices"][0]["message"]["tool_calls"]


def test_what_samples_cost_is_counted_once(
    dbg: AgentStepper, server: ScriptedServer, person: LiveView, pool: ThreadPoolExecutor
) -> None:
    working = pool.submit(ask_chat, server)
    sampled = Sampled(person)
    first, second = sampled.ask(), sampled.ask()
    assert first.usage is not None and second.usage is not None
    assert first.usage.input_tokens is not None and second.usage.input_tokens is not None
    skip_with(person, second)
    person.step()
    working.result(TIMEOUT_S)
    run = person.run
    total = first.usage.input_tokens + second.usage.input_tokens
    assert isinstance(run.samples, SampleTotals) and run.samples.usage is not None
    assert run.samples.count == 2
    assert run.usage is not None
    assert run.usage.input_tokens == run.samples.usage.input_tokens == total
    assert all(row.usage is None for row in list_queries(person))


def test_a_query_is_asked_again_at_its_end(
    dbg: AgentStepper, server: ScriptedServer, person: LiveView, pool: ThreadPoolExecutor
) -> None:
    working = pool.submit(ask_chat, server)
    step_to_next(person)
    answer = Sampled(person).ask()
    assert answer.summary == "Calls ls(src)"
    person._request(ui.StepRun(**person._meant(), edit=answer.data))
    assert working.result(TIMEOUT_S).choices[0].message.tool_calls
    assert len(server.exchanges) == 2


def test_an_edited_request_is_asked_as_edited(
    dbg: AgentStepper, server: ScriptedServer, person: LiveView, pool: ThreadPoolExecutor
) -> None:
    working = pool.submit(ask_chat, server)
    person.wait_until_halted()
    edited = {"model": "m", "messages": [{"role": "user", "content": "edited"}]}
    person.edit(edited)
    Sampled(person).ask()
    assert server.exchanges[-1].json == edited
    step_to_next(person, revision=2)
    Sampled(person).ask()  # at the end the same was asked
    assert server.exchanges[-1].json == edited
    person.step()
    working.result(TIMEOUT_S)


def test_a_stream_is_asked_again_whole_and_taken_as_a_stream(
    dbg: AgentStepper, server: ScriptedServer, person: LiveView, pool: ThreadPoolExecutor
) -> None:
    def stream() -> str:
        with OpenAI(base_url=server.base_url, api_key="any") as client:
            chunks = client.chat.completions.create(model="m", messages=MESSAGES, stream=True)
            return "".join(chunk.choices[0].delta.content or "" for chunk in chunks)

    working = pool.submit(stream)
    answer = Sampled(person).ask()
    assert answer.summary == TEXT
    skip_with(person, answer)
    person.step()
    assert working.result(TIMEOUT_S) == TEXT


def test_a_query_that_fails_is_an_answer_too(
    dbg: AgentStepper, server: ScriptedServer, person: LiveView, pool: ThreadPoolExecutor
) -> None:
    working = pool.submit(ask_chat, server)
    person.edit({"model": "m", "messages": [{"role": "user", "content": "refuse me"}]})
    answer = Sampled(person).ask()
    assert answer.failure is not None and "answered 400" in answer.failure.message
    assert answer.summary.startswith("Failed: ")
    person.stop()
    with pytest.raises(BaseException, match="Stop"):
        working.result(TIMEOUT_S)


def test_to_wait_for_samples_gives_no_numbers(
    live: AgentStepperCore, server: ScriptedServer, person: LiveView, pool: Any
) -> None:
    """A task's number is part of the path by which a replay finds its events."""

    async def main() -> None:
        options = {"stop_on_entry": False}
        async with AsyncAgentStepper("agent", "127.0.0.1", live.client_port, **options) as dbg:

            @dbg.traced_llm
            async def ask() -> str:
                await asyncio.create_task(asyncio.sleep(0))  # of a sample: none either
                return "asked"

            @dbg.traced_tool
            async def look() -> str:
                return "seen"

            await ask()
            await asyncio.create_task(look())

    working = pool.submit(asyncio.run, main())
    sampled = Sampled(person)
    sampled.ask()
    sampled.ask()
    person.resume()
    working.result(TIMEOUT_S)
    (scope,) = {row.scope for row in person.list_rows() if row.name == "look"}
    assert scope == ("task:2",)  # after the one that the query itself made


async def ask_async(server: ScriptedServer) -> Any:
    async with AsyncOpenAI(base_url=server.base_url, api_key="any") as client:
        return await client.chat.completions.create(model="m", messages=MESSAGES)


def test_an_async_client_is_asked_in_its_loop(
    live: AgentStepperCore, seams: None, server: ScriptedServer, person: LiveView, pool: Any
) -> None:
    ticks = 0

    async def main() -> Any:
        nonlocal ticks
        options = {"stop_on_entry": False}
        async with AsyncAgentStepper("agent", "127.0.0.1", live.client_port, **options):
            asked = asyncio.ensure_future(ask_async(server))
            while not asked.done():
                ticks += 1
                await asyncio.sleep(0.001)
            return await asked

    working = pool.submit(asyncio.run, main())
    sampled = Sampled(person)
    sampled.ask()
    before = ticks
    answer = sampled.ask()
    assert ticks > before  # the loop goes on meanwhile
    skip_with(person, answer)
    person.step()
    assert working.result(TIMEOUT_S).choices[0].message.tool_calls


def test_no_more_than_twenty(
    dbg: AgentStepper, server: ScriptedServer, person: LiveView, pool: ThreadPoolExecutor
) -> None:
    working = pool.submit(ask_chat, server)
    sampled = Sampled(person)
    for _ in range(wire.MAX_SAMPLES):
        sampled.ask()
    assert sampled.left() == 0
    assert sampled.refusal() == query_samples.NO_MORE
    assert len(server.exchanges) == wire.MAX_SAMPLES
    person.resume()
    working.result(TIMEOUT_S)


def test_an_own_transport_is_asked_again(
    dbg: AgentStepper, person: LiveView, pool: ThreadPoolExecutor
) -> None:
    replies = iter(["one", "two", "three"])

    def send(body: Any) -> Any:
        message = {"role": "assistant", "content": next(replies)}
        return {"choices": [{"message": message}], "asked": body["messages"][0]["content"]}

    working = pool.submit(trace_request, {"model": "m", "messages": MESSAGES}, send)
    sampled = Sampled(person)
    assert [sampled.ask().summary for _ in range(2)] == ["one", "two"]
    person.resume()
    assert working.result(TIMEOUT_S)["choices"][0]["message"]["content"] == "three"


# ---- wrapped functions ------------------------------------------------------------------------------


def test_a_wrapped_client_is_asked_on_the_halted_thread_and_gives_its_own_type(
    dbg: AgentStepper, server: ScriptedServer, person: LiveView, pool: ThreadPoolExecutor
) -> None:
    """The HTTP client inside is seen, too: neither of the two makes an event of a sample."""
    threads: list[threading.Thread] = []

    def run() -> Any:
        with OpenAI(base_url=server.base_url, api_key="any") as client:

            @dbg.traced_llm
            def ask(messages: Any) -> ChatCompletion:
                threads.append(threading.current_thread())
                return client.chat.completions.create(model="m", messages=messages)

            return threading.current_thread(), ask(MESSAGES)

    working = pool.submit(run)
    sampled = Sampled(person)
    answers = [sampled.ask() for _ in range(2)]
    skip_with(person, answers[1])
    person.step()
    thread, completion = working.result(TIMEOUT_S)
    assert isinstance(completion, ChatCompletion)
    assert completion.choices[0].message.tool_calls
    assert threads == [thread] * 2
    assert [row.kind for row in list_queries(person)] == [EventKind.LLM_QUERY] * 2


def test_a_wrapped_generator_is_asked_again(
    dbg: AgentStepper, person: LiveView, pool: ThreadPoolExecutor
) -> None:
    numbers = iter(range(100))

    @dbg.traced_llm
    def ask() -> Iterator[int]:
        yield next(numbers)
        yield 7

    working = pool.submit(lambda: list(ask()))
    sampled = Sampled(person)
    answers = [json.loads(sampled.ask().data) for _ in range(2)]
    assert answers == [[0, 7], [1, 7]]
    skip_with(person, sampled.ask())
    person.step()
    assert working.result(TIMEOUT_S) == [2, 7]


def test_the_answer_of_the_halt_point_ends_a_sample_of_an_async_function(
    live: AgentStepperCore, person: LiveView, pool: Any
) -> None:
    begun, ended = threading.Event(), threading.Event()
    calls = 0

    async def main() -> Any:
        options = {"stop_on_entry": False}
        async with AsyncAgentStepper("agent", "127.0.0.1", live.client_port, **options) as dbg:

            @dbg.traced_llm
            async def ask() -> str:
                nonlocal calls
                calls += 1
                if calls > 1:
                    return "asked"
                begun.set()
                try:
                    return str(await asyncio.get_running_loop().create_future())
                finally:
                    ended.set()

            return await ask()

    working = pool.submit(asyncio.run, main())
    halt_point = person.wait_until_halted()
    named = {"run": person.run.id, "halt_point": halt_point}
    person._socket.send(ui.from_ui.encode(wire.SampleQuery(**named), 1000, "s"))
    assert begun.wait(TIMEOUT_S)
    person.step()
    assert ended.wait(TIMEOUT_S)
    person.step()
    assert working.result(TIMEOUT_S) == "asked"


# ---- refusals ---------------------------------------------------------------------------------------


def ask_by_hand(dbg: AgentStepper) -> None:
    with dbg.llm("hello", model="m") as block:
        block.output = "hi"


def call_tool(dbg: AgentStepper) -> None:
    dbg.traced_tool(lambda: 1, name="one")()


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (ask_by_hand, query_samples.CANNOT_SAMPLE),
        (call_tool, "The agent is halted at no LLM query: nothing else can be asked again."),
    ],
)
def test_what_cannot_be_asked_again_says_why(
    dbg: AgentStepper,
    person: LiveView,
    pool: ThreadPoolExecutor,
    act: Callable[[AgentStepper], None],
    said: str,
) -> None:
    working = pool.submit(act, dbg)
    sampled = Sampled(person)
    assert sampled.refusal() == said
    assert sampled.refusal(wire.GetSampling) == said
    person.resume()
    working.result(TIMEOUT_S)
    assert "doesn't wait at this query" in sampled.refusal()
