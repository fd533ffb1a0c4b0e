"""What the package asks of a model, whoever serves it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from typing import Final, Protocol, cast

from ..errors import ModelError
from ..llm_wire.conversation import ModelRequest
from ..llm_wire.events import AgentEvent

#: Names a model for `agentstepper serve` and the Jupyter extension, where nothing else does.
MODEL_VARIABLE: Final = "AGENTSTEPPER_MODEL"
#: Where our own requests go, with their key: the agent's may go elsewhere.
URL_VARIABLE: Final = "AGENTSTEPPER_BASE_URL"
KEY_VARIABLE: Final = "AGENTSTEPPER_API_KEY"
#: What the openai package itself reads; one of all these has to be set.
_OPENAI_URL: Final = "OPENAI_BASE_URL"
_OPENAI_KEY: Final = "OPENAI_API_KEY"
#: Sent as the key where there is none: servers on this machine ask for nothing, the client insists.
_NO_KEY: Final = "none"


class TextModel(Protocol):
    """Answers a question with text. Used on one event loop."""

    @property
    def name(self) -> str:
        """What it is called where it is served."""

    async def text(self, system: str, prompt: str, max_tokens: int) -> str:
        """Ask it once. Cancelling takes the request back.

        Args:
            system: What it is told to do.
            prompt: What it is told to do that with.
            max_tokens: The longest answer.

        Returns:
            What it said; never empty.

        Raises:
            ModelError: It didn't answer, or not with text.
        """

    async def close(self) -> None:
        """Close its connections."""


class ModelProvider(Protocol):
    """Streams a model's answers as the standard events. Used on one event loop.

    A provider that sends no temperature says so by an attribute `takes_temperature`, which is False.
    """

    @property
    def name(self) -> str:
        """Its name, as `--provider` takes it."""

    def stream(self, request: ModelRequest) -> AsyncIterator[AgentEvent]:
        """Ask once. An async generator: closing it, or cancelling the task, takes the request back.

        Nothing is raised but cancellation: an HTTP error, a time-out or a broken connection is a
        `TraceEvent("error", {"kind", "message", "status"?})`, then `ResponseCompleted("error", None)`.

        Args:
            request: The question.
        """

    async def close(self) -> None:
        """Close its connections."""


async def stream_events(
    provider: ModelProvider, request: ModelRequest, idle_timeout_s: float | None
) -> AsyncGenerator[AgentEvent, None]:
    """Ask once, and give the events of the answer as they come.

    Args:
        provider: Whom to ask.
        request: The question.
        idle_timeout_s: Seconds that the model may let pass between two events; None is without end.

    Raises:
        ModelError: `timeout`: the model said nothing for so long.
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
    """The model that a person has chosen, at the endpoint that the environment names.

    A model is chosen by its name alone: without one nothing leaves this machine, whatever keys there
    are, and no client is imported.

    Args:
        model: Its name.
        environ: Where the endpoint and the key stand.

    Returns:
        The model; None without a name, or without an endpoint or key.
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
