"""An async client for programs without an event loop: on a thread of its own, whose callers wait."""

from __future__ import annotations

import weakref
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from functools import partial, wraps
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from .thread import LoopThread

P = ParamSpec("P")
T = TypeVar("T")
Client = TypeVar("Client")
Client_co = TypeVar("Client_co", covariant=True)


class Waiter(Generic[Client_co]):
    """Waits for what an async client does. The base of clients whose methods are made by `blocking`.

    Args:
        thread: Where the client lives: it ends with `close`, with the last reference to this, or with
            the process.
        client: The client.
    """

    def __init__(self, thread: LoopThread, client: Client_co) -> None:
        self._thread = thread
        self._client = client
        self._end = weakref.finalize(self, thread.close)

    @classmethod
    def _connected(cls, thread: str, connect: Callable[[], Awaitable[Client_co]]) -> Self:
        """Connect a client, on a thread of this name; errors as it has them."""
        own = LoopThread(thread)
        try:
            return cls(own, own.run(connect))
        except BaseException:
            own.close()
            raise

    def _items(self, items: AsyncGenerator[T, None]) -> Iterator[T]:
        """What a stream gives. Closing the iterator ends it."""
        try:
            while (item := self._thread.run(partial(_next, items))) is not None:
                yield item
        finally:
            if self._thread.lives:
                self._thread.run(items.aclose)

    def close(self) -> None:
        """Close the connection, and end the thread. Idempotent."""
        self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def blocking(
    method: Callable[Concatenate[Client, P], Awaitable[T]],
) -> Callable[Concatenate[Waiter[Client], P], T]:
    """The same method, which waits."""

    @wraps(method)
    def wait(self: Waiter[Client], /, *args: P.args, **named: P.kwargs) -> T:
        return self._thread.run(partial(method, self._client, *args, **named))

    return wait


async def _next(items: AsyncGenerator[Any, None]) -> Any:
    return await anext(items, None)
