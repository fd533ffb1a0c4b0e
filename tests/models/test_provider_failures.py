"""What goes wrong between a provider and its service, and cancelling, over real HTTP."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Final

import pytest

from agentstepper_nb.llm_wire.conversation import ModelRequest, UserMessage
from agentstepper_nb.llm_wire.events import AgentEvent, TextDelta, ToolCallStarted
from agentstepper_nb.models.http_provider import TimeoutPolicy
from tests.models.byte_server import AnswerEnding, BytesAnswer, PieceServer
from tests.models.provider_calls import (
    ONCE,
    REQUEST,
    collect_events,
    collect_from,
    every_api,
    failure,
    open_provider,
)
from tests.models.recorded import recorded

# ---- failures ----------------------------------------------------------------------------------------


STATUSES: Final = [
    (400, b'{"error":{"message":"No."}}', "refused", "answered 400: No."),
    (400, b'{"error":{"message":"prompt is too long: 9"}}', "refused", "Begin a new conversation"),
    (401, b'{"error":{"message":"Bad key"}}', "refused", "answered 401: Bad key. Set "),
    (403, b'{"error":"Forbidden"}', "refused", "answered 403: Forbidden. The key in "),
    (404, b'{"detail":"Not Found"}', "refused", "answered 404: Not Found. Choose a model "),
    (413, b"", "refused", "answered 413. The conversation is longer"),
    (
        429,
        b'{"error":{"message":"Slow"}}',
        "overloaded",
        "answered 429: Slow. There were too many ",
    ),
    (500, b"<h1>Oh</h1>", "overloaded", "answered 500: <h1>Oh</h1>. The service is overloaded "),
    (
        529,
        b'{"error":{"message":"Busy"}}',
        "overloaded",
        "answered 529: Busy. The service is overloaded ",
    ),
    (500, b"x" * 5000, "overloaded", f"answered 500: {'x' * 1000}…. The service is overloaded "),
]


@every_api
async def test_what_a_status_means(api: str) -> None:
    answers = [
        BytesAnswer([body], status, content_type="application/json")
        for status, body, _, _ in STATUSES
    ]
    async with PieceServer(*answers) as server, open_provider(api, server.url, ONCE) as provider:
        for status, _, kind, words in STATUSES:
            problem = failure(await collect_events(provider))
            assert (problem["kind"], problem["status"]) == (kind, status)
            assert problem["message"].startswith(f"The model some-model at {server.url}")
            assert words in problem["message"]


@every_api
def test_the_variable_to_set_is_named(api: str) -> None:
    problem = failure(collect_from(api, BytesAnswer([b"{}"], 401, content_type="application/json")))
    assert ("ANTHROPIC_API_KEY" if api == "messages" else "OPENAI_API_KEY") in problem["message"]


@every_api
def test_silence_before_the_answer(api: str) -> None:
    timeouts = TimeoutPolicy(idle_timeout_s=0.05, max_retries=0)
    problem = failure(
        collect_from(api, BytesAnswer(silent=True, after=AnswerEnding.HOLD), timeouts=timeouts)
    )
    assert problem["kind"] == "timeout"


@pytest.mark.slow
@every_api
def test_silence_in_the_midst_of_an_answer(api: str) -> None:
    async def ask() -> list[AgentEvent]:
        first = recorded(api, "length").partition(b"write_file")[0]
        # Long enough for the first piece to come on a busy machine.
        timeouts = TimeoutPolicy(idle_timeout_s=0.5, max_retries=0)
        async with PieceServer(BytesAnswer([first], after=AnswerEnding.HOLD)) as server:
            async with open_provider(api, server.url, timeouts) as provider:
                events = await collect_events(provider)
                await server.left.wait()
                return events

    events = asyncio.run(ask())
    assert TextDelta("I write it.") in events
    assert failure(events)["kind"] == "timeout"


@every_api
@pytest.mark.parametrize("length", [0, 200, 700])
def test_a_connection_that_breaks(api: str, length: int) -> None:
    broken = BytesAnswer([recorded(api, "text")[:length]], after=AnswerEnding.BREAK)
    assert failure(collect_from(api, broken))["kind"] == "cut"


@every_api
def test_a_stream_that_ends_in_the_midst(api: str) -> None:
    half = recorded(api, "calls").partition(b"search")[0]
    events = collect_from(api, BytesAnswer([half]))
    assert failure(events)["kind"] == "cut"
    assert [event.name for event in events if isinstance(event, ToolCallStarted)] == ["read_file"]


@every_api
def test_nobody_there(api: str) -> None:
    async def ask() -> list[AgentEvent]:
        async with PieceServer(BytesAnswer()) as server:
            url = server.url
        async with open_provider(api, url, ONCE) as provider:
            return await collect_events(provider)

    problem = failure(asyncio.run(ask()))
    assert problem["kind"] == "unreachable"
    assert "can't be reached: " in problem["message"]


@every_api
def test_a_web_page_is_no_model(api: str) -> None:
    problem = failure(
        collect_from(api, BytesAnswer([b"<html>"], content_type="text/html; charset=utf-8"))
    )
    assert problem["kind"] == "invalid"
    assert (
        "answered with text/html; charset=utf-8, which isn't a model's answer."
        in problem["message"]
    )


@every_api
def test_what_cannot_be_sent(api: str) -> None:
    """Half a character, as a tool may have read it from a file."""

    async def ask() -> list[AgentEvent]:
        request = ModelRequest(model="m", messages=(UserMessage(content="\ud83d"),))
        async with open_provider(api, "http://127.0.0.1:9") as provider:
            return [event async for event in provider.stream(request)]

    assert failure(asyncio.run(ask()))["kind"] == "invalid"


# ---- cancelling --------------------------------------------------------------------------------------

BEFORE_THE_ANSWER: Final = BytesAnswer(silent=True, after=AnswerEnding.HOLD)


@every_api
@pytest.mark.parametrize("answering", [True, False])
async def test_cancelling_reaches_the_socket(api: str, answering: bool) -> None:
    half = BytesAnswer([recorded(api, "text")[:-50]], after=AnswerEnding.HOLD)
    async with PieceServer(half if answering else BEFORE_THE_ANSWER) as server:
        async with open_provider(api, server.url) as provider:
            told = asyncio.Event()

            async def listen() -> None:
                async for _ in provider.stream(REQUEST):
                    told.set()

            listening = asyncio.create_task(listen())
            await (told if answering else server.asked).wait()
            listening.cancel()
            with pytest.raises(asyncio.CancelledError):
                await listening
            await server.left.wait()


@every_api
async def test_closing_the_stream_reaches_the_socket(api: str) -> None:
    half = BytesAnswer([recorded(api, "text")[:-50]], after=AnswerEnding.HOLD)
    async with PieceServer(half) as server:
        async with open_provider(api, server.url) as provider:
            async with aclosing(provider.stream(REQUEST)) as events:
                await anext(events)
            await server.left.wait()


@every_api
async def test_a_retry_can_be_cancelled(api: str) -> None:
    later = BytesAnswer([b"{}"], 503, {"retry-after": "60"}, "application/json")
    async with PieceServer(later) as server:
        async with open_provider(api, server.url) as provider:
            asking = asyncio.create_task(collect_events(provider))
            await server.asked.wait()
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
