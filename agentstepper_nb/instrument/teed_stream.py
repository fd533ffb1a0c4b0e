"""A response's stream that the client reads live, while a copy of the bytes is stored."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

#: Called once with all bytes that were read, and with the exception that ended the stream, if any.
OnRead = Callable[[bytes, BaseException | None], Any]


class _TeedStream:
    """The common part of both stream classes.

    Args:
        stream: The response's own stream.
        on_read: Called at the stream's end, or when the client closes it: clients stop at the last event
            that they need, and never see the end.
    """

    def __init__(self, stream: Any, on_read: OnRead) -> None:
        self._stream = stream
        self._on_read: OnRead | None = on_read
        self._chunks: list[bytes] = []

    def _finish(self, error: BaseException | None = None) -> Any:
        on_read, self._on_read = self._on_read, None
        return None if on_read is None else on_read(b"".join(self._chunks), error)


class TeedStream(_TeedStream):
    """A stream of a synchronous client."""

    def __iter__(self) -> Iterator[bytes]:
        try:
            for chunk in self._stream:
                self._chunks.append(chunk)
                yield chunk
        except GeneratorExit:
            raise
        except BaseException as error:
            self._finish(error)
            raise
        self._finish()

    def close(self) -> None:
        """Close the response's own stream; the query ends with the bytes that were read."""
        try:
            self._stream.close()
        finally:
            self._finish()


class AsyncTeedStream(_TeedStream):
    """A stream of an asynchronous client."""

    def __init__(
        self, stream: Any, on_read: Callable[[bytes, BaseException | None], Awaitable[None]]
    ) -> None:
        super().__init__(stream, on_read)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._stream:
                self._chunks.append(chunk)
                yield chunk
        except GeneratorExit:
            raise
        except BaseException as error:
            await self._end(error)
            raise
        await self._end()

    async def aclose(self) -> None:
        """Close the response's own stream; the query ends with the bytes that were read."""
        try:
            await self._stream.aclose()
        finally:
            await self._end()

    async def _end(self, error: BaseException | None = None) -> None:
        awaited = self._finish(error)
        if awaited is not None:
            await awaited
