"""Server-sent events: one long answer, an event at a time, no faster than its reader takes them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any, Final

import msgspec
from tornado.iostream import StreamClosedError
from tornado.web import RequestHandler

from ..errors import CommandError
from ..protocol.coding_api import CodingTurnFailed, NumberedCodingEvent, ServerEvent

#: Seconds without an event after which a comment says that all is well.
BEAT: Final = 15.0
#: Seconds that a reader may take none of what waits for it, before it is let go; it can come back.
STALLED: Final = 60.0
#: Milliseconds that a client is asked to wait before it comes back.
_RETRY: Final = 1000

_BEAT: Final = b": all is well\n\n"


class EventStreamHandler(RequestHandler):
    """A handler that answers with events."""

    #: As the constants say; tests have less time.
    beat = BEAT
    stalled = STALLED

    _gone: asyncio.Event | None = None

    def on_connection_close(self) -> None:
        """The client hung up; tornado calls this."""
        if self._gone is not None:
            self._gone.set()
        super().on_connection_close()

    async def send_events(self, events: AsyncGenerator[NumberedCodingEvent, None]) -> None:
        """Answer with events until there are no more, or the client is gone.

        Args:
            events: The events; closed in the end.

        Raises:
            CommandError: What the first of them raised: nothing is sent then.
        """
        self._gone = asyncio.Event()
        gone = asyncio.create_task(self._gone.wait())
        coming = asyncio.ensure_future(anext(events))
        try:
            await asyncio.wait((coming, gone), return_when=asyncio.FIRST_COMPLETED)
            if coming.done():
                coming.result()  # raises what refuses the whole request
                self._begin()
            while not gone.done():
                await asyncio.wait(
                    (coming, gone), timeout=self.beat, return_when=asyncio.FIRST_COMPLETED
                )
                if not coming.done():
                    sent = _BEAT
                else:
                    sent = _next(coming)
                    coming = asyncio.ensure_future(anext(events))
                if not await self._push(sent, gone):
                    return
        except StopAsyncIteration:
            self.finish()
        finally:
            for task in (coming, gone):
                task.cancel()
            await asyncio.gather(coming, gone, return_exceptions=True)
            await events.aclose()

    def _begin(self) -> None:
        self.set_header("Content-Type", "text/event-stream")
        self.set_header("Cache-Control", "no-store")
        self.set_header("X-Accel-Buffering", "no")  # proxies pass each event on at once
        self.write(f"retry: {_RETRY}\n\n")

    async def _push(self, data: bytes, gone: asyncio.Task[Any]) -> bool:
        """Send, and wait until the client takes it; False where it is gone, or is let go."""
        if gone.done() or not data:
            return not gone.done()
        self.write(data)
        flushed = asyncio.ensure_future(self.flush())
        await asyncio.wait(
            (flushed, gone), timeout=self.stalled, return_when=asyncio.FIRST_COMPLETED
        )
        if not flushed.done():
            flushed.add_done_callback(_look_away)
            if not gone.done():
                self.detach().close()
            return False
        return not isinstance(flushed.exception(), StreamClosedError)


def _next(coming: asyncio.Future[NumberedCodingEvent]) -> bytes:
    """The next event as it is sent; why there is none is the last one.

    Raises:
        StopAsyncIteration: There are no more.
    """
    try:
        return encode_event(coming.result())
    except CommandError as error:
        return _lines(None, CodingTurnFailed(code=error.code, message=error.message))


def encode_event(item: NumberedCodingEvent) -> bytes:
    """An event as SSE writes it: a line a field, and an empty one.

    One without an event has its id alone: by that a client knows where it stands, and fires nothing.
    """
    return _lines(item.id, item.event)


def _lines(id: str | None, event: ServerEvent | None) -> bytes:
    lines = [] if id is None else [f"id: {id}".encode()]
    if event is not None:
        fields = msgspec.to_builtins(event)
        # JSON has no line breaks of its own, so that `data` is one line.
        lines += [
            f"event: {fields.pop('type')}".encode(),
            b"data: " + msgspec.json.encode(fields),
        ]
    return b"\n".join(lines) + b"\n\n"


def _look_away(done: asyncio.Future[Any]) -> None:
    """The client is let go: what its last write ended with is of no interest."""
    if not done.cancelled():
        done.exception()
