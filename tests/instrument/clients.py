"""The vendors' clients that agents query models with, in each of their modes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx
import httpx2
import pytest
from anthropic import Anthropic, AsyncAnthropic
from openai import AsyncOpenAI, OpenAI

from agentstepper_nb.models.scripted import ScriptedServer


@dataclass(frozen=True)
class ClientMode:
    """One way in which a client queries a model.

    Args:
        api: "chat", "responses" or "messages".
        is_async: Whether by the asynchronous client.
        is_streamed: Whether the answer is read as a stream.
        library: The HTTP library of the client.
    """

    api: str
    is_async: bool
    is_streamed: bool
    library: Any = httpx2

    def __str__(self) -> str:
        words = ("async" if self.is_async else "sync", "stream" if self.is_streamed else "json")
        return "-".join((self.api, *words, self.library.__name__))

    def query(self, server: ScriptedServer, text: str = "hello", max_retries: int = 2) -> str:
        """Query once; gives the text of the answer, as the client's own types have it."""
        if self.is_async:
            return asyncio.run(self._query_async(server, text, max_retries))
        with self._client(server, max_retries) as client:
            call, read = _CALLS[self.api, self.is_streamed]
            return "".join(read(each) for each in _each(call(client, text), self.is_streamed))

    async def _query_async(self, server: ScriptedServer, text: str, max_retries: int) -> str:
        async with self._client(server, max_retries) as client:
            call, read = _CALLS[self.api, self.is_streamed]
            answer = await call(client, text)
            if not self.is_streamed:
                return read(answer)
            return "".join([read(each) async for each in answer])

    def _client(self, server: ScriptedServer, max_retries: int) -> Any:
        kinds = (AsyncAnthropic, Anthropic) if self.api == "messages" else (AsyncOpenAI, OpenAI)
        kind: Any = kinds[0] if self.is_async else kinds[1]
        url = server.root_url if self.api == "messages" else server.base_url
        http = self.library.AsyncClient if self.is_async else self.library.Client
        options = {} if self.library is httpx2 else {"http_client": http()}
        return kind(base_url=url, api_key="any", max_retries=max_retries, **options)


def _each(answer: Any, is_streamed: bool) -> Any:
    return answer if is_streamed else [answer]


def _chat(stream: bool) -> Callable[[Any, str], Any]:
    def call(client: Any, text: str) -> Any:
        messages = [{"role": "user", "content": text}]
        return client.chat.completions.create(model="m", messages=messages, stream=stream)

    return call


def _responses(stream: bool) -> Callable[[Any, str], Any]:
    return lambda client, text: client.responses.create(model="m", input=text, stream=stream)


def _messages(stream: bool) -> Callable[[Any, str], Any]:
    def call(client: Any, text: str) -> Any:
        messages = [{"role": "user", "content": text}]
        return client.messages.create(model="m", max_tokens=99, messages=messages, stream=stream)

    return call


def _read_chunk(chunk: Any) -> str:
    return "".join(choice.delta.content or "" for choice in chunk.choices)


def _read_response_event(event: Any) -> str:
    return str(event.delta) if event.type == "response.output_text.delta" else ""


def _read_message_event(event: Any) -> str:
    is_text = event.type == "content_block_delta" and event.delta.type == "text_delta"
    return str(event.delta.text) if is_text else ""


_CALLS: dict[tuple[str, bool], tuple[Callable[[Any, str], Any], Callable[[Any], str]]] = {
    ("chat", False): (_chat(False), lambda answer: answer.choices[0].message.content),
    ("chat", True): (_chat(True), _read_chunk),
    ("responses", False): (_responses(False), lambda answer: answer.output_text),
    ("responses", True): (_responses(True), _read_response_event),
    ("messages", False): (_messages(False), lambda answer: answer.content[0].text),
    ("messages", True): (_messages(True), _read_message_event),
}

#: The clients that each run asks by: together each API, its streams, and each client of each library.
_IN_EACH_RUN = (
    ClientMode("chat", is_async=False, is_streamed=True, library=httpx),
    ClientMode("chat", is_async=True, is_streamed=False, library=httpx),
    ClientMode("responses", is_async=False, is_streamed=True),
    ClientMode("messages", is_async=True, is_streamed=True),
)

CLIENT_MODES = [
    pytest.param(mode, id=str(mode), marks=() if mode in _IN_EACH_RUN else pytest.mark.soak)
    for mode in (
        *(
            ClientMode(api, is_async, is_streamed)
            for api in ("chat", "responses", "messages")
            for is_async in (False, True)
            for is_streamed in (False, True)
        ),
        *(
            ClientMode("chat", is_async, is_streamed, httpx)
            for is_async in (False, True)
            for is_streamed in (False, True)
        ),
    )
]
