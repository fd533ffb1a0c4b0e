"""The official clients of the three APIs, asked for the same and heard in the same words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from anthropic import Anthropic
from openai import OpenAI

from agentstepper_nb.models.scripted import ScriptedServer


@dataclass(frozen=True)
class CollectedAnswer:
    """An answer, as a client of any API understands it."""

    text: str
    calls: list[tuple[str, str, Any]]
    """Of each its id, its name and its arguments, parsed."""
    ended: str
    usage: tuple[int, int]


class ApiClient(Protocol):
    """Asks through one client. A conversation is a list of (role, text)."""

    def __init__(self, server: ScriptedServer, max_retries: int) -> None: ...

    def whole(self, talk: list[tuple[str, str]]) -> CollectedAnswer: ...

    def streamed(self, talk: list[tuple[str, str]]) -> CollectedAnswer: ...

    def events(self, talk: list[tuple[str, str]]) -> Iterator[Any]: ...

    def close(self) -> None: ...


class _ChatClient:
    def __init__(self, server: ScriptedServer, max_retries: int) -> None:
        self._client = OpenAI(base_url=server.base_url, api_key="any", max_retries=max_retries)

    def close(self) -> None:
        self._client.close()

    def _request(self, talk: list[tuple[str, str]]) -> dict[str, Any]:
        return {"model": "m", "messages": [{"role": r, "content": t} for r, t in talk]}

    def whole(self, talk: list[tuple[str, str]]) -> CollectedAnswer:
        return self._collect(self._client.chat.completions.create(**self._request(talk)))

    def streamed(self, talk: list[tuple[str, str]]) -> CollectedAnswer:
        options: Any = {"stream_options": {"include_usage": True}}
        with self._client.chat.completions.stream(**self._request(talk), **options) as stream:
            return self._collect(stream.get_final_completion())

    def events(self, talk: list[tuple[str, str]]) -> Iterator[Any]:
        return iter(self._client.chat.completions.create(**self._request(talk), stream=True))

    def _collect(self, said: Any) -> CollectedAnswer:
        (choice,) = said.choices
        calls = choice.message.tool_calls or ()
        return CollectedAnswer(
            choice.message.content or "",
            [(call.id, call.function.name, json.loads(call.function.arguments)) for call in calls],
            choice.finish_reason,
            (said.usage.prompt_tokens, said.usage.completion_tokens),
        )


class _ResponsesClient:
    def __init__(self, server: ScriptedServer, max_retries: int) -> None:
        self._client = OpenAI(base_url=server.base_url, api_key="any", max_retries=max_retries)

    def close(self) -> None:
        self._client.close()

    def _request(self, talk: list[tuple[str, str]]) -> dict[str, Any]:
        return {"model": "m", "input": [{"role": r, "content": t} for r, t in talk]}

    def whole(self, talk: list[tuple[str, str]]) -> CollectedAnswer:
        return self._collect(self._client.responses.create(**self._request(talk)))

    def streamed(self, talk: list[tuple[str, str]]) -> CollectedAnswer:
        with self._client.responses.stream(**self._request(talk)) as stream:
            return self._collect(stream.get_final_response())

    def events(self, talk: list[tuple[str, str]]) -> Iterator[Any]:
        return iter(self._client.responses.create(**self._request(talk), stream=True))

    def _collect(self, said: Any) -> CollectedAnswer:
        calls = [item for item in said.output if item.type == "function_call"]
        assert said.status == "completed"
        return CollectedAnswer(
            said.output_text,
            [(call.call_id, call.name, json.loads(call.arguments)) for call in calls],
            "tool_calls" if calls else "stop",
            (said.usage.input_tokens, said.usage.output_tokens),
        )


class _MessagesClient:
    def __init__(self, server: ScriptedServer, max_retries: int) -> None:
        self._client = Anthropic(base_url=server.root_url, api_key="any", max_retries=max_retries)

    def close(self) -> None:
        self._client.close()

    def _request(self, talk: list[tuple[str, str]]) -> dict[str, Any]:
        return {
            "model": "m",
            "max_tokens": 100,
            "messages": [{"role": r, "content": t} for r, t in talk],
        }

    def whole(self, talk: list[tuple[str, str]]) -> CollectedAnswer:
        return self._collect(self._client.messages.create(**self._request(talk)))

    def streamed(self, talk: list[tuple[str, str]]) -> CollectedAnswer:
        with self._client.messages.stream(**self._request(talk)) as stream:
            return self._collect(stream.get_final_message())

    def events(self, talk: list[tuple[str, str]]) -> Iterator[Any]:
        return iter(self._client.messages.create(**self._request(talk), stream=True))

    def _collect(self, said: Any) -> CollectedAnswer:
        return CollectedAnswer(
            "".join(block.text for block in said.content if block.type == "text"),
            [(b.id, b.name, b.input) for b in said.content if b.type == "tool_use"],
            {"end_turn": "stop", "tool_use": "tool_calls"}[said.stop_reason],
            (said.usage.input_tokens, said.usage.output_tokens),
        )


CLIENTS: dict[str, type[ApiClient]] = {
    "chat": _ChatClient,
    "responses": _ResponsesClient,
    "messages": _MessagesClient,
}


@contextmanager
def open_client(api: str, server: ScriptedServer, max_retries: int = 0) -> Iterator[ApiClient]:
    """The client of an API, at a server."""
    client = CLIENTS[api](server, max_retries)
    try:
        yield client
    finally:
        client.close()
