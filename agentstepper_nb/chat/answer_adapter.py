"""Adapts the answers of agents, functions or generators, sync or async, to one async generator."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable, Mapping
from contextlib import aclosing, suppress
from functools import partial
from typing import Any, Final

from ..sdk.drivers import run_in_thread
from .item_sources import (
    END_OF_ITEMS,
    PROCESS_EXIT_MESSAGE,
    AsyncSource,
    ThreadPuller,
    wrap_exit_error,
)

#: Iterable types whose values are single items.
_SINGLE_ITEM_TYPES: Final = (str, bytes, Mapping)


def start_function(function: Callable[..., Any], call: Callable[[], Any]) -> Any:
    """Start a function of any form: sync or async, plain or a generator.

    Args:
        function: The function.
        call: Calls it.

    Returns:
        What the call gave, which may be awaitable. The body of a plain sync function runs on a thread.
    """
    plain = unwrap_callable(function)
    if (
        inspect.iscoroutinefunction(plain)
        or inspect.isgeneratorfunction(plain)
        or inspect.isasyncgenfunction(plain)
    ):
        return call()  # its body runs later, where it is awaited or pulled
    return run_in_thread(partial(_guarded, call))


def unwrap_callable(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function that a call runs: that within a partial one, or of an object that is called like one.

    Args:
        function: What is called.
    """
    while isinstance(function, partial):
        function = function.func
    if inspect.isroutine(function) or inspect.isclass(function):
        return function
    return type(function).__call__


async def iterate_answer(make_answer: Callable[[], object]) -> AsyncGenerator[Any, object]:
    """Iterate over the items of an answer. A value sent to this generator is sent to the answer.

    The answer begins when the first item is requested. An async answer runs in the reader's task. A sync
    answer runs on a thread, which can't be cancelled: the answer is closed at its next `yield`, and its
    output is dropped.

    Args:
        make_answer: Returns the answer: a sync or async iterable, a single item, or a coroutine that
            returns any of these.

    Raises:
        RuntimeError: The answer raised `SystemExit` or the like.
    """
    sent: object = None
    try:
        answer = make_answer()
        while inspect.isawaitable(answer):
            answer = await answer
        if isinstance(answer, AsyncIterable):
            given = _within(answer)
        elif isinstance(answer, Iterable) and not isinstance(answer, _SINGLE_ITEM_TYPES):
            given = _beside(answer)
        else:
            if answer is not None:
                yield answer
            return
        async with aclosing(given):
            with suppress(StopAsyncIteration):
                while True:
                    sent = yield await given.asend(sent)
    except SystemExit as error:  # which would end the loop
        raise RuntimeError(PROCESS_EXIT_MESSAGE.format(error=error)) from None


async def _within(answer: AsyncIterable[Any]) -> AsyncGenerator[Any, object]:
    source, sent = AsyncSource(answer), None
    try:
        with suppress(StopAsyncIteration):
            while True:
                sent = yield await source.next(sent)
    finally:
        await source.close()


async def _beside(answer: Iterable[Any]) -> AsyncGenerator[Any, object]:
    puller, sent = ThreadPuller(answer), None
    try:
        while (item := await asyncio.wrap_future(puller.pull(sent))) is not END_OF_ITEMS:
            sent = yield item
    except asyncio.CancelledError:
        puller.stop()
        raise
    except GeneratorExit:
        await asyncio.wrap_future(puller.stop())
        raise
    await asyncio.wrap_future(puller.stop())


def _guarded(call: Callable[[], Any]) -> Any:
    """Call it on a thread: what would end the loop, or an iteration, is an error like others."""
    try:
        return call()
    except (StopIteration, StopAsyncIteration) as error:
        raise RuntimeError(f"The function raised {error!r}.") from error
    except BaseException as error:
        raise wrap_exit_error(error) from error.__cause__
