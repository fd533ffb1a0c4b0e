"""Asks a local model: as any that speaks chat completions, with its answers held to a schema."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

import msgspec

from ...llm_wire import chat
from ...llm_wire.conversation import ModelRequest
from ...llm_wire.events import AgentEvent
from ..openai import OpenAIProvider
from ..problems import Problems
from .constrained import question
from .reading import Answer
from .where import KEY_VARIABLE, URL_VARIABLE


class LocalAsking(OpenAIProvider):
    """A provider for servers that know `json_schema`, whether or not their model knows tools."""

    @property
    def name(self) -> str:
        """See `ModelProvider.name`."""
        return "local"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[AgentEvent, None]:
        """Ask once; see `ModelProvider.stream`."""
        # A conversation grows with each answer: the same question has the same id, another one another.
        answer = Answer(f"call_{len(request.messages)}")
        free = not request.tools or request.tool_choice == "none"
        async with aclosing(super().stream(request)) as events:
            async for event in events:
                for told in (event,) if free else answer.read(event):
                    yield told

    def _question(self, request: ModelRequest) -> tuple[str, bytes]:
        asked = question(request)
        body = msgspec.json.decode(chat.encode_model_request(asked.request))
        if asked.schema is not None:
            schema = {"name": "answer", "schema": asked.schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return "/chat/completions", msgspec.json.encode(body)

    def _problems(self, model: str) -> Problems:
        return Problems(f"The local model at {self._client.base_url}", KEY_VARIABLE, URL_VARIABLE)
