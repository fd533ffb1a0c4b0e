"""What the package asks of a model, whoever serves it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from typing import Final, Protocol

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


def from_environment(
    model: str | None, environ: Mapping[str, str] = os.environ
) -> TextModel | None:
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
    from .openai import OpenAIText

    return OpenAIText(model, url or None, key or _NO_KEY)
