"""Sources of streams that are watched, and readers of either kind."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from agentstepper_nb.chat.streams import StreamWrapper

GIVEN = ["one", "two", "three"]


class WatchedIterator:
    """A sync source that counts how often it is closed, and may end with an error."""

    def __init__(self, given: list[Any], error: BaseException | None = None) -> None:
        self.given = iter(given)
        self.error = error
        self.closed = 0
        self.pulled = 0

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        self.pulled += 1
        try:
            return next(self.given)
        except StopIteration:
            if self.error is not None:
                raise self.error from None
            raise

    def close(self) -> None:
        self.closed += 1


class WatchedAsyncIterator:
    """An async source likewise; it may wait for ever after its items."""

    def __init__(
        self, given: list[Any], error: BaseException | None = None, *, waits: bool = False
    ) -> None:
        self._of = WatchedIterator(given, error)
        self._waits = waits
        self.waiting = threading.Event()

    @property
    def closed(self) -> int:
        return self._of.closed

    @property
    def pulled(self) -> int:
        return self._of.pulled

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        await asyncio.sleep(0)
        try:
            return next(self._of)
        except StopIteration:
            if self._waits:
                self.waiting.set()
                await asyncio.Event().wait()
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        await asyncio.sleep(0)
        self._of.close()


Source = Callable[..., Any]
both_sources = pytest.mark.parametrize("source", [WatchedIterator, WatchedAsyncIterator])


def read(stream: StreamWrapper[Any]) -> list[Any]:
    return list(stream)


def aread(stream: StreamWrapper[Any]) -> list[Any]:
    async def reading() -> list[Any]:
        return [item async for item in stream]

    return asyncio.run(reading())


both_readers = pytest.mark.parametrize("reader", [read, aread])
