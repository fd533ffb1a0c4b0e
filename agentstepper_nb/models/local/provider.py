"""The local model as a provider."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final

from ...errors import ModelError
from ...llm_wire.conversation import ModelRequest
from ...llm_wire.events import AgentEvent, ResponseCompleted, TraceEvent
from ..streaming import HTTPProvider
from .process import ModelProcess
from .where import Weights, resolve


class LocalProvider:
    """Streams answers of a model on this machine, which is started with the first question.

    Args:
        model: A `.gguf` file, or a name for where a server has several; see `where.resolve`.

    Raises:
        ModelError: There is no model; says how to get one.
    """

    name: Final = "local"

    def __init__(self, model: str | None = None) -> None:
        self._where = resolve(model)
        self._process = ModelProcess(self._where.file) if isinstance(self._where, Weights) else None
        self._asking: HTTPProvider | None = None
        self._starting = asyncio.Lock()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[AgentEvent, None]:
        """Ask it once; see `ModelProvider.stream`."""
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
        """End its process, and close the connections to it."""
        asking, self._asking = self._asking, None
        if asking is not None:
            await asking.close()
        if self._process is not None:
            await self._process.close()

    async def _started(self) -> HTTPProvider:
        async with self._starting:
            if self._process is not None and not self._process.running:
                await self.close()  # it may have ended by itself: for want of memory, say
            if self._asking is None:
                where = self._where if self._process is None else await self._process.start()
                # On use: the process that serves imports this package too, and needs no client.
                from .asking import LocalAsking

                assert not isinstance(where, Weights)
                self._asking = LocalAsking("chat", where.url, where.key)
            return self._asking
