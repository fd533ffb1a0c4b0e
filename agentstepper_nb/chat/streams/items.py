"""Reads what an agent answers, in whatever way it does."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable, Mapping
from contextlib import aclosing, suppress
from typing import Any, Final

from .pulling import OVER, ThreadPuller
from .sources import ENDED, aclose, apart, next_of

#: What is iterable, and yet one item.
_ITEMS: Final = (str, bytes, Mapping)


def items(answer: object) -> AsyncGenerator[Any, object]:
    """The items of an answer, whoever gives it; what this is sent, the answer is sent where it stands.

    An async answer runs within the task that reads, a sync one on a thread, to which cancelling doesn't
    reach: it is closed where it yields next, and nobody hears it.

    Args:
        answer: Sync or async, a single item, or a coroutine that gives any of these.

    Raises:
        RuntimeError: What gives it wants to end the process.
    """
    return begun(lambda: answer)


async def begun(begin: Callable[[], object]) -> AsyncGenerator[Any, object]:
    """As `items`, of an answer that begins when the first item is asked for.

    Args:
        begin: Gives the answer.
    """
    sent: object = None
    try:
        answer = begin()
        while inspect.isawaitable(answer):
            answer = await answer
        async with aclosing(_given(answer)) as given:
            with suppress(StopAsyncIteration):
                while True:
                    sent = yield await given.asend(sent)
    except SystemExit as error:  # which would end the loop
        raise RuntimeError(ENDED.format(error=error)) from None


def _given(answer: object) -> AsyncGenerator[Any, object]:
    if isinstance(answer, AsyncIterable):
        return _within(answer)
    if isinstance(answer, Iterable) and not isinstance(answer, _ITEMS):
        return _beside(answer)
    return _alone(answer)


async def _alone(answer: object) -> AsyncGenerator[Any, object]:
    if answer is not None:
        yield answer


async def _within(source: AsyncIterable[Any]) -> AsyncGenerator[Any, object]:
    iterator = aiter(source)
    sent: object = None
    try:
        with suppress(StopAsyncIteration):
            while True:
                sent = yield await next_of(iterator, sent)
    finally:
        for each in apart((iterator, source)):
            await aclose(each)


async def _beside(source: Iterable[Any]) -> AsyncGenerator[Any, object]:
    puller = ThreadPuller(source)
    sent: object = None
    try:
        while (item := await asyncio.wrap_future(puller.pull(sent))) is not OVER:
            sent = yield item
    except asyncio.CancelledError:
        puller.stop()
        raise
    except GeneratorExit:
        await asyncio.wrap_future(puller.stop())
        raise
    await asyncio.wrap_future(puller.stop())
