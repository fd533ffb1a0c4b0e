"""One suite for all providers, over real HTTP: answers, retries, keys and addresses."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import aclosing
from typing import Any, Final

import pytest
from anthropic.resources.messages import AsyncMessages
from openai.resources.chat.completions import AsyncCompletions
from openai.resources.responses import AsyncResponses

from agentstepper_nb.errors import ModelError
from agentstepper_nb.llm_wire import chat_completions, messages, responses
from agentstepper_nb.llm_wire.conversation import ModelRequest
from agentstepper_nb.llm_wire.events import AgentEvent, TextDelta
from agentstepper_nb.models.anthropic import AnthropicProvider
from agentstepper_nb.models.http_provider import HTTPProvider, TimeoutPolicy
from agentstepper_nb.models.openai import OpenAIProvider
from tests.models.byte_server import AnswerEnding, BytesAnswer, PieceServer
from tests.models.provider_calls import (
    REQUEST,
    collect_events,
    collect_from,
    every_api,
    failure,
    open_provider,
)
from tests.models.recorded import NAMES, READERS, collect_output, expected, recorded

PATHS: Final = {
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "messages": "/v1/messages",
}
BODIES: Final[dict[str, Callable[[ModelRequest], bytes]]] = {
    "chat": chat_completions.encode_model_request,
    "responses": responses.encode_request,
    "messages": messages.encode_request,
}


def pieces(stream: bytes, size: int = 100) -> list[bytes]:
    return [stream[at : at + size] for at in range(0, len(stream), size)]


# ---- answers -----------------------------------------------------------------------------------------


@every_api
async def test_every_recording_over_http(api: str) -> None:
    streams = {name: recorded(api, name) for name in NAMES}
    answers = [BytesAnswer(pieces(stream)) for stream in streams.values()]
    async with PieceServer(*answers) as server, open_provider(api, server.url) as provider:
        for name, stream in streams.items():
            events, reader = await collect_events(provider), READERS[api]()
            assert events == [*reader.feed(stream), *reader.close()]
            assert collect_output(events) == expected(api, name)


@every_api
async def test_what_is_asked(api: str) -> None:
    async with PieceServer(BytesAnswer([recorded(api, "text")])) as server:
        async with open_provider(api, server.url) as provider:
            await collect_events(provider)
    (question,) = server.questions
    assert question.path == PATHS[api]
    assert json.loads(BODIES[api](REQUEST)) == question.body
    assert question.headers["authorization"] == "Bearer a-key"
    assert question.headers["content-type"] == "application/json"


@every_api
def test_events_come_before_the_answer_is_over(api: str) -> None:
    """While the server still holds back the rest."""
    half = recorded(api, "text")[: recorded(api, "text").index("🙂".encode())]

    async def ask() -> AgentEvent:
        async with PieceServer(BytesAnswer([half], after=AnswerEnding.HOLD)) as server:
            async with open_provider(api, server.url) as provider:
                async with aclosing(provider.stream(REQUEST)) as events:
                    return await anext(events)

    assert asyncio.run(ask()) == TextDelta("Grüße")


@every_api
async def test_one_connection_for_many_answers(api: str) -> None:
    async with PieceServer(BytesAnswer(pieces(recorded(api, "text")))) as server:
        async with open_provider(api, server.url) as provider:
            for _ in range(3):
                assert collect_output(await collect_events(provider)) == expected(api, "text")
        assert (len(server.questions), server.connections) == (3, 1)


@every_api
def test_a_server_that_knows_no_streams(api: str) -> None:
    error = b'{"error": {"message": "no such engine", "type": "invalid"}, "type": "error"}'
    events = collect_from(api, BytesAnswer(pieces(error, 7), content_type="application/json"))
    assert failure(events)["message"].endswith("no such engine")


@every_api
def test_an_agent_that_is_traced_sees_nothing(api: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def traced(*args: object, **kwargs: object) -> None:
        raise AssertionError("this is the agent's")

    for resource in (AsyncCompletions, AsyncResponses, AsyncMessages):
        monkeypatch.setattr(resource, "create", traced)
    assert collect_output(collect_from(api, BytesAnswer([recorded(api, "text")]))) == expected(
        api, "text"
    )


# ---- retries -----------------------------------------------------------------------------------------


@every_api
async def test_it_asks_again_where_the_service_asks_for_it(api: str) -> None:
    soon = {"retry-after-ms": "1", "x-should-retry": "true"}
    refusals = [
        BytesAnswer([b"{}"], status, soon, "application/json") for status in (429, 500, 503)
    ]
    async with PieceServer(*refusals, BytesAnswer([recorded(api, "text")])) as server:
        async with open_provider(api, server.url) as provider:
            assert collect_output(await collect_events(provider)) == expected(api, "text")
        assert len(server.questions) == 4
        first, *again = (question.body for question in server.questions)
        assert again == [first] * 3


@every_api
async def test_it_doesnt_ask_again_where_that_is_of_no_use(api: str) -> None:
    refusal = BytesAnswer([b"{}"], 503, {"x-should-retry": "false"}, "application/json")
    async with PieceServer(refusal) as server:
        async with open_provider(api, server.url, TimeoutPolicy(max_retries=5)) as provider:
            assert failure(await collect_events(provider))["status"] == 503
        assert len(server.questions) == 1


# ---- keys and addresses ------------------------------------------------------------------------------


@pytest.fixture
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for vendor in ("OPENAI", "ANTHROPIC"):
        monkeypatch.delenv(f"{vendor}_API_KEY", raising=False)
        monkeypatch.delenv(f"{vendor}_BASE_URL", raising=False)
    return monkeypatch


def made(vendor: str) -> HTTPProvider:
    return OpenAIProvider() if vendor == "OPENAI" else AnthropicProvider()


@pytest.mark.parametrize(
    ("vendor", "url"),
    [("OPENAI", "https://api.openai.com/v1/"), ("ANTHROPIC", "https://api.anthropic.com")],
)
def test_the_environment_says_where_to_ask(
    nothing_set: pytest.MonkeyPatch, vendor: str, url: str
) -> None:
    with pytest.raises(ModelError, match=f"There is no key for .*: set {vendor}_API_KEY"):
        made(vendor)
    nothing_set.setenv(f"{vendor}_API_KEY", "k")
    client: Any = made(vendor)._client  # type: ignore[attr-defined]
    assert (str(client.base_url), client.api_key) == (url, "k")
    nothing_set.setenv(f"{vendor}_BASE_URL", "http://127.0.0.1:9/x/")
    nothing_set.delenv(f"{vendor}_API_KEY")
    client = made(vendor)._client  # type: ignore[attr-defined]
    assert (str(client.base_url), client.api_key) == ("http://127.0.0.1:9/x/", "none")
    nothing_set.setenv(f"{vendor}_BASE_URL", "http://127.0.0.1:many/")
    with pytest.raises(
        ModelError, match=r"The address http://127\.0\.0\.1:many/ can't be used for a model: "
    ):
        made(vendor)


@pytest.mark.usefixtures("nothing_set")
@pytest.mark.parametrize("provider", [OpenAIProvider, AnthropicProvider])
def test_the_environments_key_goes_to_no_other_address(
    provider: type[OpenAIProvider | AnthropicProvider], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    assert provider(base_url="http://127.0.0.1:9")._client.api_key == "none"
    assert provider(base_url="http://127.0.0.1:9", api_key="theirs")._client.api_key == "theirs"


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://api.openai.com/v1", "max_completion_tokens"),
        ("http://127.0.0.1:9/v1", "max_tokens"),
    ],
)
def test_openais_own_takes_the_limit_by_its_newer_name(url: str, name: str) -> None:
    provider = OpenAIProvider("chat", url, "k")
    request = ModelRequest(model="m", messages=(), max_tokens=7)
    path, body = provider._encode_body(request)
    assert (path, f'"{name}":7' in body.decode()) == ("/chat/completions", True)


@pytest.mark.parametrize(
    ("url", "cached"), [("https://api.anthropic.com", True), ("http://127.0.0.1:9", False)]
)
def test_anthropics_own_keeps_what_it_read(url: str, cached: bool) -> None:
    sent = json.loads(AnthropicProvider(url, "k")._encode_body(REQUEST))
    assert ("cache_control" in sent) == cached
    assert sent.pop("cache_control", None) in (None, {"type": "ephemeral"})
    assert sent == json.loads(messages.encode_request(REQUEST))
