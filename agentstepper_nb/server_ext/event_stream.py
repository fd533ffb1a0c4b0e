"""Server-sent events: one long response, no faster than its reader accepts events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any, Final

import msgspec
from tornado.iostream import StreamClosedError
from tornado.web import RequestHandler

from ..errors import CommandError
from ..protocol.coding_api import CodingTurnFailed, NumberedCodingEvent, ServerEvent

#: Seconds without an event after which a comment is sent to keep the connection alive.
HEARTBEAT_S: Final = 15.0
#: Seconds for which a reader may accept no data before it is disconnected; it can reconnect.
STALL_TIMEOUT_S: Final = 60.0
#: Milliseconds that a client is asked to wait before it reconnects.
_RETRY_MS: Final = 1000

_HEARTBEAT: Final = b": all is well\n\n"


class EventStreamHandler(RequestHandler):
    """A handler that answers with events."""

    #: The constants' values; tests use less time.
    heartbeat_s = HEARTBEAT_S
    stall_timeout_s = STALL_TIMEOUT_S

    _disconnected: asyncio.Event | None = None

    def on_connection_close(self) -> None:
        """The client hung up; tornado calls this."""
        if self._disconnected is not None:
            self._disconnected.set()
        super().on_connection_close()

    async def send_events(self, events: AsyncGenerator[NumberedCodingEvent, None]) -> None:
        """Answer with events until there are no more, or the client has disconnected.

        Args:
            events: The events; closed in the end.

        Raises:
            CommandError: The error of the first event: then nothing is sent.
        """
        self._disconnected = asyncio.Event()
        disconnected = asyncio.create_task(self._disconnected.wait())
        next_event = asyncio.ensure_future(anext(events))
        try:
            await asyncio.wait((next_event, disconnected), return_when=asyncio.FIRST_COMPLETED)
            if next_event.done():
                next_event.result()  # raises what refuses the whole request
                self._begin()
            while not disconnected.done():
                await asyncio.wait(
                    (next_event, disconnected),
                    timeout=self.heartbeat_s,
                    return_when=asyncio.FIRST_COMPLETED,
                )
                if not next_event.done():
                    sent = _HEARTBEAT
                else:
                    sent = _encode_next(next_event)
                    next_event = asyncio.ensure_future(anext(events))
                if not await self._write_and_flush(sent, disconnected):
                    return
        except StopAsyncIteration:
            self.finish()
        finally:
            for task in (next_event, disconnected):
                task.cancel()
            await asyncio.gather(next_event, disconnected, return_exceptions=True)
            await events.aclose()

    def _begin(self) -> None:
        self.set_header("Content-Type", "text/event-stream")
        self.set_header("Cache-Control", "no-store")
        self.set_header("X-Accel-Buffering", "no")  # proxies pass each event on at once
        self.write(f"retry: {_RETRY_MS}\n\n")

    async def _write_and_flush(self, data: bytes, disconnected: asyncio.Task[Any]) -> bool:
        """Send data, and wait until the client accepts it; False if the client is disconnected."""
        if disconnected.done() or not data:
            return not disconnected.done()
        self.write(data)
        flushed = asyncio.ensure_future(self.flush())
        await asyncio.wait(
            (flushed, disconnected),
            timeout=self.stall_timeout_s,
            return_when=asyncio.FIRST_COMPLETED,
        )
        if not flushed.done():
            flushed.add_done_callback(_ignore_result)
            if not disconnected.done():
                self.detach().close()
            return False
        return not isinstance(flushed.exception(), StreamClosedError)


def _encode_next(next_event: asyncio.Future[NumberedCodingEvent]) -> bytes:
    """Encode the next event; an error becomes the last event.

    Raises:
        StopAsyncIteration: There are no more events.
    """
    try:
        return encode_event(next_event.result())
    except CommandError as error:
        return _lines(None, CodingTurnFailed(code=error.code, message=error.message))


def encode_event(item: NumberedCodingEvent) -> bytes:
    """Encode an event for SSE: one line per field, and an empty line.

    An item without an event has only its id: the client stores its position, and dispatches nothing.
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


def _ignore_result(done: asyncio.Future[Any]) -> None:
    """Ignore the result of the last write to a client that was disconnected."""
    if not done.cancelled():
        done.exception()
