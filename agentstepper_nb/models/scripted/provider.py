"""A model provider that answers from a script: the model of demos, tutorials and tests of agents."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final, Literal

from ...errors import ModelError
from ...llm_wire.conversation import ModelRequest
from ...llm_wire.events import AgentEvent
from ..http_provider import HTTPProvider
from .script import Script, load_script
from .server import ScriptedServer

ModelApiName = Literal["chat", "responses", "messages"]

#: The API key that clients send, since they require one. A `ScriptedServer` accepts any key.
_KEY: Final = "scripted"


class ScriptedProvider:
    """Streams a script's answers over HTTP from a `ScriptedServer` in this process.

    Args:
        script: A script, the name of a script (see `list_named_scripts`), or the path of a Python file.
        api: The API between the provider and its server. The events don't depend on the API.

    Raises:
        ModelError: There is no such script, or the script's file raises an error.
    """

    name: Final = "scripted"

    def __init__(self, script: Script | str, api: ModelApiName = "chat") -> None:
        self.server = ScriptedServer(script if isinstance(script, Script) else _loaded(script))
        """The server that answers. The first call of `stream` starts the server."""
        self._api = api
        self._asking: HTTPProvider | None = None

    async def stream(self, request: ModelRequest) -> AsyncGenerator[AgentEvent, None]:
        """Query the script once. See `ModelProvider.stream`."""
        if self._asking is None:
            self._asking = _provider(self._api, self.server.start())
        async with aclosing(self._asking.stream(request)) as events:
            async for event in events:
                yield event

    async def close(self) -> None:
        """Close the client and the server."""
        asking, self._asking = self._asking, None
        if asking is not None:
            await asking.close()
        await asyncio.to_thread(self.server.close)  # it waits for its threads


def _loaded(name: str) -> Script:
    try:
        return load_script(name)
    except Exception as error:  # a file's own code may do anything
        raise ModelError("invalid", f"The script {name!r} can't be used: {error}") from error


def _provider(api: ModelApiName, server: ScriptedServer) -> HTTPProvider:
    """Make the client of an API. The client's package is imported on first use."""
    if api == "messages":
        from ..anthropic import AnthropicProvider

        return AnthropicProvider(server.root_url, _KEY)
    from ..openai import OpenAIProvider

    return OpenAIProvider(api, server.base_url, _KEY)
