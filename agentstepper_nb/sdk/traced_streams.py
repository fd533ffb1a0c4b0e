"""Streams that traced calls give: generators, iterators and stream objects, and how they halt.

If nothing may halt at the end of the call, the reader gets each item as it comes, and the event ends
with the last item. Otherwise the stream is read whole first, halts, and then gives its items.
"""

from __future__ import annotations

import inspect
import io
from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import wrapt

from ..errors import ConnectionLostError
from ..protocol.data_model import EventKind, EventSide
from .drivers import run_flow, run_flow_async
from .flow_effects import CallEffect, CallResult, Flow
from .halt_flow import HaltFlow
from .run_events import OpenEvent
from .run_link import RunLink
from .stream_answers import join_items

if TYPE_CHECKING:
    _ObjectProxy = wrapt.ObjectProxy[Any]
else:  # version 1 of wrapt has no generic types
    _ObjectProxy = wrapt.ObjectProxy

#: Methods of objects that have other ways to be read, as files and database cursors: no streams.
_OTHER_WAYS: Final = ("read", "readline", "fetchone", "fetchall")


def find_stream_kind(value: Any) -> Literal["sync", "async"] | None:
    """Whether a value is a stream, and how it is read.

    An iterator is one, synchronous or asynchronous, where it can only be read by its items.
    """
    kind = type(value)
    if isinstance(value, io.IOBase) or any(hasattr(kind, name) for name in _OTHER_WAYS):
        return None
    if hasattr(kind, "__next__") and hasattr(kind, "__iter__"):
        return "sync"
    return "async" if hasattr(kind, "__anext__") and hasattr(kind, "__aiter__") else None


def list_items(given: Any) -> list[Any]:
    """The items that a person gave in place of a generator's call; a value but a list is one item."""
    return given if isinstance(given, list) else [given]


class DrainedStream(NamedTuple):
    """A stream that was read whole, for its reader.

    Attributes:
        items: The items, perhaps edited.
        error: The exception that the stream raised after the items.
        returned: The return value of a generator.
    """

    items: list[Any]
    error: BaseException | None = None
    returned: Any = None


@dataclass(eq=False)
class StreamEvent:
    """The event of one stream, which ends with the stream.

    Args:
        flow: The flows of the event's run.
        link: The link of the event's run.
        kind: The event's kind.
        event: The event, which has begun.
        items: The items that were read so far.
    """

    flow: HaltFlow
    link: RunLink
    kind: EventKind
    event: OpenEvent
    items: list[Any] = field(default_factory=list)

    @property
    def may_halt(self) -> bool:
        """Whether its end may halt, as breakpoints and mode are now."""
        return self.link.may_halt(self.kind, EventSide.END, self.event.name)

    @contextmanager
    def as_current(self) -> Iterator[None]:
        """Inside, what begins is part of the event: the stream's own code runs between two items."""
        self.event.push()
        try:
            yield
        finally:
            self.event.detach()

    def drain_and_halt(self, drain: Callable[[], Any]) -> Flow[DrainedStream]:
        """Read the stream whole, and halt.

        Args:
            drain: Reads all items into `items`; gives what a generator returned.
        """
        self.event.push()
        drained: CallResult = yield CallEffect(drain, (), {})
        joined = join_items(self.items)
        if drained.error is None:
            ended = yield from self.flow.end(
                self.kind, joined.answer, event=self.event, convert_edit=joined.split_edit
            )
            return DrainedStream(
                ended.value if ended.is_edited else self.items, None, drained.value
            )
        try:
            mended = yield from self.flow.fail(self.event, drained.error, joined.split_edit)
        except ConnectionLostError:
            mended = None  # the stream's own error says more
        return (
            DrainedStream(self.items, drained.error)
            if mended is None
            else DrainedStream(mended.value)
        )

    def finish(self, error: BaseException | None = None) -> Flow[None]:
        """End the event with the items that were read, unless it has ended; never halts.

        Args:
            error: The exception that the stream raised.
        """
        if self.event.ended:
            return
        if error is None:
            answer = join_items(self.items).answer
            yield from self.flow.end(self.kind, answer, event=self.event, waits=False)
        else:
            with suppress(ConnectionLostError):  # the stream's own error says more
                yield from self.flow.give_up(self.event, error)

    def close(self) -> Flow[None]:
        """End the event of a stream that its reader left early."""
        with suppress(ConnectionLostError):  # the run is over, and nobody waits for the rest
            yield from self.finish()


# ---- synchronous streams ----------------------------------------------------------------------------


def read_stream(source: Any, event: StreamEvent) -> Generator[Any, Any, Any]:
    """Yield the items of a stream to its reader.

    Args:
        source: The stream; a generator's `send`, `throw` and returned value pass through where its items
            are given as they come.
        event: The stream's event.
    """
    if event.may_halt:
        held = run_flow(event.link, event.drain_and_halt(partial(_drain, source, event.items)))
        yield from held.items
        if held.error is not None:
            raise held.error
        return held.returned
    try:
        return (yield from _read_live(source, event))
    finally:
        try:
            if inspect.isgenerator(source) and not event.event.ended:
                with event.as_current():
                    source.close()
        finally:
            run_flow(event.link, event.close())


def _drain(source: Any, items: list[Any]) -> Any:
    while True:
        try:
            items.append(next(source))
        except StopIteration as end:
            return end.value


def _read_live(source: Any, event: StreamEvent) -> Generator[Any, Any, Any]:
    step = partial(next, source)
    while True:
        try:
            with event.as_current():
                item = step()
        except StopIteration as end:
            run_flow(event.link, event.finish())
            return end.value
        except BaseException as error:
            run_flow(event.link, event.finish(error))
            raise
        event.items.append(item)
        try:
            sent = yield item
            step = partial(next, source) if sent is None else partial(source.send, sent)
        except Exception as thrown:
            if not inspect.isgenerator(source):
                raise
            step = partial(source.throw, thrown)


class TracedStream(_ObjectProxy):
    """A stream object whose items are the answer of an event; otherwise it behaves as the original.

    Args:
        source: The original stream.
        event: The stream's event.
    """

    def __init__(self, source: Any, event: StreamEvent) -> None:
        super().__init__(source)
        self._self_event = event
        self._self_items = read_stream(source, event)

    def __iter__(self) -> TracedStream:
        return self

    def __next__(self) -> Any:
        return next(self._self_items)

    def __enter__(self) -> Any:
        entered = self.__wrapped__.__enter__()
        return self if entered is self.__wrapped__ else entered

    def __exit__(self, *raised: Any) -> Any:
        try:
            return self.__wrapped__.__exit__(*raised)
        finally:
            self._self_end()

    def close(self) -> Any:
        """Close the stream; its event ends with the items that were read."""
        try:
            return self.__wrapped__.close()
        finally:
            self._self_end()

    def _self_end(self) -> None:
        self._self_items.close()
        run_flow(self._self_event.link, self._self_event.close())


# ---- asynchronous streams ---------------------------------------------------------------------------


async def read_async_stream(source: Any, event: StreamEvent) -> AsyncGenerator[Any, None]:
    """Give the items of an asynchronous stream to its reader; as `read_stream`."""
    if event.may_halt:
        drain = partial(_drain_async, source, event.items)
        held = await run_flow_async(event.link, event.drain_and_halt(drain))
        for item in held.items:
            yield item
        if held.error is not None:
            raise held.error
        return
    live = _read_live_async(source, event)
    try:
        async with aclosing(live):
            async for item in live:
                yield item
    finally:
        try:
            if inspect.isasyncgen(source) and not event.event.ended:
                with event.as_current():
                    await source.aclose()
        finally:
            await run_flow_async(event.link, event.close())


async def _read_live_async(source: Any, event: StreamEvent) -> AsyncGenerator[Any, None]:
    while True:
        try:
            with event.as_current():
                item = await anext(source)
        except StopAsyncIteration:
            await run_flow_async(event.link, event.finish())
            return
        except BaseException as error:
            await run_flow_async(event.link, event.finish(error))
            raise
        event.items.append(item)
        yield item


async def _drain_async(source: Any, items: list[Any]) -> None:
    async for item in source:
        items.append(item)


class TracedAsyncStream(_ObjectProxy):
    """An asynchronous stream object whose items are the answer of an event; as `TracedStream`."""

    def __init__(self, source: Any, event: StreamEvent) -> None:
        super().__init__(source)
        self._self_event = event
        self._self_items = read_async_stream(source, event)

    def __aiter__(self) -> TracedAsyncStream:
        return self

    async def __anext__(self) -> Any:
        return await anext(self._self_items)

    async def __aenter__(self) -> Any:
        entered = await self.__wrapped__.__aenter__()
        return self if entered is self.__wrapped__ else entered

    async def __aexit__(self, *raised: Any) -> Any:
        try:
            return await self.__wrapped__.__aexit__(*raised)
        finally:
            await self._self_end()

    async def close(self) -> Any:
        """Close the stream; its event ends with the items that were read."""
        return await self._self_close("close")

    async def aclose(self) -> Any:
        """The form of `close` of an asynchronous generator."""
        return await self._self_close("aclose")

    async def _self_close(self, name: str) -> Any:
        try:
            closed = getattr(self.__wrapped__, name)()
            return await closed if inspect.isawaitable(closed) else closed
        finally:
            await self._self_end()

    async def _self_end(self) -> None:
        await self._self_items.aclose()
        await run_flow_async(self._self_event.link, self._self_event.close())


def trace_stream(source: Any, kind: Literal["sync", "async"], event: StreamEvent) -> Any:
    """Wrap a stream: the wrapper is read in the stream's place.

    Args:
        source: The stream.
        kind: The kind of the stream.
        event: The stream's event, which contains no events of the stream's reader.
    """
    event.event.detach()
    if inspect.isgenerator(source):
        return read_stream(source, event)
    if inspect.isasyncgen(source):
        return read_async_stream(source, event)
    return TracedStream(source, event) if kind == "sync" else TracedAsyncStream(source, event)
