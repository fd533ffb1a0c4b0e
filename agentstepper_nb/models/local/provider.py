"""The provider of the local model: chat completions whose answers are constrained by a JSON schema."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final

import msgspec

from ...errors import ModelError
from ...llm_wire import chat_completions
from ...llm_wire.conversation import ModelRequest
from ...llm_wire.events import AgentEvent, ResponseCompleted, TraceEvent
from ..http_provider import HTTPProvider, ProviderErrorMessages
from ..openai import OpenAIProvider
from .constrained_answer import ConstrainedAnswerReader
from .constrained_request import constrain_request
from .model_process import KEY_VARIABLE, URL_VARIABLE, ModelFile, ModelProcess, find_local_model


class JsonSchemaProvider(OpenAIProvider):
    """A provider for servers that support `json_schema`, with models that may not support tools."""

    @property
    def name(self) -> str:
        """See `ModelProvider.name`."""
        return "local"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[AgentEvent, None]:
        """Query the model once. See `ModelProvider.stream`."""
        # A conversation grows with each answer, so its length makes ids unique and reproducible.
        answer = ConstrainedAnswerReader(f"call_{len(request.messages)}")
        free = not request.tools or request.tool_choice == "none"
        async with aclosing(super().stream(request)) as events:
            async for event in events:
                for told in (event,) if free else answer.read(event):
                    yield told

    def _encode_body(self, request: ModelRequest) -> tuple[str, bytes]:
        asked = constrain_request(request)
        body = msgspec.json.decode(chat_completions.encode_model_request(asked.request))
        if asked.schema is not None:
            schema = {"name": "answer", "schema": asked.schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return "/chat/completions", msgspec.json.encode(body)

    def _make_error_messages(self, model: str) -> ProviderErrorMessages:
        return ProviderErrorMessages(
            f"The local model at {self._client.base_url}", KEY_VARIABLE, URL_VARIABLE
        )


class LocalProvider:
    """Streams answers of a model on this machine. The first query starts the model's process.

    Args:
        model: The path of a `.gguf` file, or a name for a server that has several models; see
            `find_local_model`.

    Raises:
        ModelError: No local model is installed. The message says how to install one.
    """

    name: Final = "local"

    def __init__(self, model: str | None = None) -> None:
        self._where = find_local_model(model)
        self._process = (
            ModelProcess(self._where.file) if isinstance(self._where, ModelFile) else None
        )
        self._asking: HTTPProvider | None = None
        self._starting = asyncio.Lock()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[AgentEvent, None]:
        """Query the model once. See `ModelProvider.stream`."""
        try:
            asking = await self._started()
        except ModelError as error:
            yield TraceEvent("error", {"kind": error.kind, "message": str(error)})
            yield ResponseCompleted("error", None)
            return
        async with aclosing(asking.stream(request)) as events:
            async for event in events:
                yield event

    async def close(self) -> None:
        """Close the connections, and end the model's process."""
        asking, self._asking = self._asking, None
        if asking is not None:
            await asking.close()
        if self._process is not None:
            await self._process.close()

    async def _started(self) -> HTTPProvider:
        async with self._starting:
            if self._process is not None and not self._process.is_running:
                await self.close()  # it may have ended by itself: for want of memory, say
            if self._asking is None:
                where = self._where if self._process is None else await self._process.start()

                assert not isinstance(where, ModelFile)
                self._asking = JsonSchemaProvider("chat", where.url, where.key)
            return self._asking
