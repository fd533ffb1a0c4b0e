"""The interfaces of models: `TextModel` for short texts, `ModelProvider` for streamed answers."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from typing import Final, Protocol, cast

from ..errors import ModelError
from ..llm_wire.conversation import ModelRequest
from ..llm_wire.events import AgentEvent

#: The environment variable with the default model of `agentstepper serve` and the Jupyter extension.
MODEL_VARIABLE: Final = "AGENTSTEPPER_MODEL"
#: The endpoint and API key of the debugger's own requests. The agent's requests may use others.
URL_VARIABLE: Final = "AGENTSTEPPER_BASE_URL"
KEY_VARIABLE: Final = "AGENTSTEPPER_API_KEY"
#: The variables of the openai package, used if `URL_VARIABLE` isn't set.
_OPENAI_URL: Final = "OPENAI_BASE_URL"
_OPENAI_KEY: Final = "OPENAI_API_KEY"
#: The API key that is sent if none is set: local servers need no key, but the client requires one.
_NO_KEY: Final = "none"


class TextModel(Protocol):
    """A model that answers a question with text. Used on one event loop."""

    @property
    def name(self) -> str:
        """The model's name at its endpoint."""

    async def text(self, system: str, prompt: str, max_tokens: int) -> str:
        """Query the model once. Cancelling aborts the request.

        Args:
            system: The system prompt.
            prompt: The user's prompt.
            max_tokens: The most tokens of the answer.

        Returns:
            The answer's text; never empty.

        Raises:
            ModelError: The model gave no answer, or none with text.
        """

    async def close(self) -> None:
        """Close the connections."""


class ModelProvider(Protocol):
    """Streams a model's answers as the standard events. Used on one event loop.

    A provider that sends no temperature has an attribute `takes_temperature`, which is False.
    """

    @property
    def name(self) -> str:
        """The provider's name, as `--provider` takes it."""

    def stream(self, request: ModelRequest) -> AsyncIterator[AgentEvent]:
        """Query the model once, as an async generator. Closing it or cancelling the task aborts it.

        Only cancellation is raised: an HTTP error, a time-out or a broken connection is a
        `TraceEvent("error", {"kind", "message", "status"?})`, followed by
        `ResponseCompleted("error", None)`.

        Args:
            request: The request.
        """

    async def close(self) -> None:
        """Close the connections."""


async def stream_events(
    provider: ModelProvider, request: ModelRequest, idle_timeout_s: float | None
) -> AsyncGenerator[AgentEvent, None]:
    """Query the model once, and yield the events of the answer as they come.

    Args:
        provider: The provider.
        request: The request.
        idle_timeout_s: The most seconds between two events; None: no limit.

    Raises:
        ModelError: `timeout`: no event came for so long.
    """
    stream = cast("AsyncGenerator[AgentEvent, None]", provider.stream(request))
    async with aclosing(stream):
        while (event := await _next(stream, idle_timeout_s)) is not None:
            yield event


async def _next(
    stream: AsyncGenerator[AgentEvent, None], idle_timeout_s: float | None
) -> AgentEvent | None:
    limit = asyncio.timeout(idle_timeout_s)
    try:
        async with limit:
            return await anext(stream, None)
    except TimeoutError:
        if not limit.expired():
            raise
        text = f"The model sent nothing for {idle_timeout_s:g} s. Try again."
        raise ModelError("timeout", text) from None


def find_text_model(model: str | None, environ: Mapping[str, str] = os.environ) -> TextModel | None:
    """Make the model that a person chose, at the endpoint that the environment names.

    A model is chosen by its name only. Without a name no data leaves this machine, whatever keys
    are set, and no client is imported.

    Args:
        model: The model's name.
        environ: The environment variables with the endpoint and the key.

    Returns:
        The model; None without a name, an endpoint or a key.
    """
    if not model:
        return None
    url, key = environ.get(URL_VARIABLE), environ.get(KEY_VARIABLE)
    if not url:  # else OpenAI's key isn't for that address
        url = environ.get(_OPENAI_URL)
        key = key or environ.get(_OPENAI_KEY)
    if not url and not key:
        return None
    from .openai import OpenAITextModel

    return OpenAITextModel(model, url or None, key or _NO_KEY)
