"""A connection on an event loop, the same at both ends: what it serves, and what it asks."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from functools import partial
from typing import Final, Protocol, TypeVar, cast

import msgspec
from msgspec import Raw, Struct

from ..errors import AgentStepperError, CommandError, ProtocolError
from ..protocol.envelope import MAX_MESSAGE_BYTES
from ..protocol.worker import RpcFailure
from .peer import (
    WINDOW_ITEMS,
    CreditGranted,
    ErrorReceived,
    ItemReceived,
    MessageRejected,
    Peer,
    PeerEvent,
    RequestCancelled,
    RequestFailed,
    RequestReceived,
    ResponseReceived,
)

Value = TypeVar("Value")

#: Bytes of a value that still fit into a message, with the envelope.
_MAX_VALUE_BYTES: Final = MAX_MESSAGE_BYTES - 4096
#: Characters of what the other end wrote that the log shows.
_MAX_SHOWN_CHARS: Final = 300

_CANCELLED: Final = RpcFailure(
    code="cancelled", message="The request was cancelled before it was answered."
)

#: What ends a stream that is read here: its result or an error, after its last item.
_Response = ItemReceived | ResponseReceived | RequestFailed


class RpcService(Protocol):
    """Answers requests, on the worker's event loop, which it mustn't block.

    A `CommandError` or `ProtocolError` that it raises goes to who asked; anything else is logged.
    """

    async def call(self, method: str, params: Raw) -> Struct | Raw | None:
        """Answer once; a `Raw` is JSON already. Cancelled where nobody wants the answer any more.

        Args:
            method: What is asked.
            params: With what, as JSON.
        """

    def stream(self, method: str, params: Raw) -> AsyncIterator[Struct | Raw]:
        """Answer with items: an async generator. It is taken from only as far as its reader has room,
        and closed where its reader is gone.

        Args:
            method: What is asked.
            params: With what, as JSON.
        """

    async def close(self) -> None:
        """The worker ends."""


class RpcCaller(Protocol):
    """By which a service asks the Core, over whatever connection of this worker stands."""

    async def wait_connected(self) -> None:
        """Wait until there is a connection; at once where there is one."""

    async def call(
        self, service: str, method: str, params: Struct | None, kind: type[Value]
    ) -> Value:
        """Ask for a result.

        Args:
            service: A service of the Core's.
            method: What.
            params: With what.
            kind: The answer's class; `type(None)` where there is none.

        Raises:
            CommandError: It was refused; `worker_lost`: there is no connection, or it broke before the
                answer came, so that nobody knows whether it was done.
        """

    def stream(
        self, service: str, method: str, params: Struct | None, kind: type[Value]
    ) -> AsyncGenerator[Value, None]:
        """Ask for a stream of items; closing it cancels. Arguments and errors as `call`."""


class RpcSession:
    """Asks the other end, and has it served.

    Args:
        send: Sends a text frame in order; never blocks.
        services: What the other end may ask for.
        log: Gets what was not understood, and what failed here.
    """

    def __init__(
        self,
        send: Callable[[str], None],
        services: Mapping[str, RpcService],
        log: logging.Logger,
    ) -> None:
        self._send = send
        self._services = services
        self._log = log
        self._peer = Peer()
        self._responses: dict[str, asyncio.Queue[_Response]] = {}
        self._serving: dict[str, asyncio.Task[Raw | RpcFailure]] = {}
        self._credit_events: dict[str, asyncio.Event] = {}
        self._lost_reason: str | None = None

    # ---- the connection -----------------------------------------------------------------------------

    def send_greeting(self, message: Struct) -> None:
        """Send a message of the greeting."""
        self._peer.send_greeting(message)
        self._flush()

    def send_error(self, error: ProtocolError) -> None:
        """Say that a message of the greeting was refused."""
        self.send_greeting(RpcFailure(code=error.code, message=error.message))

    def receive(self, text: str) -> None:
        """A text frame came, after the greeting. Nothing is raised for what it holds."""
        self._react(self._peer.receive(text))
        self._flush()

    def receive_binary(self) -> None:
        """A binary frame came."""
        self._react(self._peer.refuse_binary())
        self._flush()

    def connection_lost(self, why: str) -> None:
        """The connection is gone: what was asked breaks off, and what is served here is cancelled.

        Args:
            why: For who asked, what happened.
        """
        self._lost_reason = why
        for id, responses in self._responses.items():
            responses.put_nowait(RequestFailed(id, "worker_lost", why))
        for task in self._serving.values():
            task.cancel()

    # ---- asking -------------------------------------------------------------------------------------

    async def call(self, service: str, method: str, params: Struct | None = None) -> Raw:
        """Ask for a result.

        Args:
            service: Whom.
            method: What.
            params: With what.

        Returns:
            The result, as JSON.

        Raises:
            CommandError: It was refused, or the connection is gone (`worker_lost`).
        """
        id, responses = self._send_request(service, method, params, 0)
        try:
            return self._unwrap(await responses.get())
        finally:
            self._forget(id)

    async def stream(
        self, service: str, method: str, params: Struct | None = None
    ) -> AsyncGenerator[Raw, None]:
        """Ask for a stream of items, as JSON; closing it cancels. Arguments and errors as `call`."""
        id, responses = self._send_request(service, method, params, WINDOW_ITEMS)
        try:
            while isinstance(response := await responses.get(), ItemReceived):
                yield response.value
                self._peer.accept_item(id)
                self._flush()
            self._unwrap(response)
        finally:
            self._forget(id)

    def _send_request(
        self, service: str, method: str, params: Struct | None, window: int
    ) -> tuple[str, asyncio.Queue[_Response]]:
        if self._lost_reason is not None:
            raise CommandError("worker_lost", self._lost_reason)
        id = self._peer.send_request(service, method, _encode(params), window)
        responses = self._responses[id] = asyncio.Queue()  # bounded by the window
        self._flush()
        return id, responses

    def _unwrap(self, response: _Response) -> Raw:
        if isinstance(response, RequestFailed):
            raise CommandError(
                response.code, response.message, retry_after_s=response.retry_after_s
            )
        return response.value

    def _forget(self, id: str) -> None:
        del self._responses[id]
        self._peer.cancel(id)
        self._flush()

    # ---- being asked --------------------------------------------------------------------------------

    async def _serve(self, received: RequestReceived) -> Raw | RpcFailure:
        """Carry a request out, and give what it is answered with."""
        request = received.request
        try:
            service = self._services.get(request.service)
            if service is None:
                raise CommandError(
                    "unknown_service",
                    f"There is no service {request.service[:80]!r} on this connection.",
                )
            if request.window:
                return await self._serve_stream(received.id, service, received)
            return _encode(await service.call(request.method, request.params))
        except CommandError as error:
            return RpcFailure(
                code=error.code, message=error.message, retry_after_s=error.retry_after_s
            )
        except ProtocolError as error:
            return RpcFailure(code=error.code, message=error.message)
        except Exception as error:
            what = f"{request.service}.{request.method}"[:_MAX_SHOWN_CHARS]
            self._log.error("%r failed", what, exc_info=error)
            reason = (
                str(error) if isinstance(error, AgentStepperError) else type(error).__qualname__
            )
            return RpcFailure(
                code="internal",
                message=f"The worker failed, and its log has the traceback: {reason}",
            )

    def _served(self, id: str, task: asyncio.Task[Raw | RpcFailure]) -> None:
        """Answer a request once all that served it is over; where that was cancelled, it is the peer's
        to know that nobody is told.
        """
        del self._serving[id]
        answer = _CANCELLED if task.cancelled() else task.result()
        if isinstance(answer, RpcFailure):
            self._peer.send_failure(id, answer.code, answer.message, answer.retry_after_s)
        else:
            self._peer.send_result(id, answer)
        self._flush()

    async def _serve_stream(self, id: str, service: RpcService, received: RequestReceived) -> Raw:
        credit_event = self._credit_events[id] = asyncio.Event()
        generator = service.stream(received.request.method, received.request.params)
        try:
            async with aclosing(cast(AsyncGenerator[Struct | Raw, None], generator)) as items:
                async for item in items:
                    while not self._peer.remaining_credit(id):
                        credit_event.clear()
                        await credit_event.wait()
                    self._peer.send_item(id, _encode(item))
                    self._flush()
        finally:
            del self._credit_events[id]
        return _encode(None)

    # ---- what comes ---------------------------------------------------------------------------------

    def _react(self, event: PeerEvent | None) -> None:
        match event:
            case ItemReceived(id=id) | ResponseReceived(id=id) | RequestFailed(id=id):
                if id in self._responses:
                    self._responses[id].put_nowait(event)
            case RequestReceived(id=id):
                task = asyncio.get_running_loop().create_task(self._serve(event))
                self._serving[id] = task
                task.add_done_callback(partial(self._served, id))
            case RequestCancelled(id=id) if id in self._serving:
                self._serving[id].cancel()
            case CreditGranted(id=id) if id in self._credit_events:
                self._credit_events[id].set()
            case MessageRejected() | ErrorReceived():
                self._warn(event)

    def _warn(self, event: MessageRejected | ErrorReceived) -> None:
        if isinstance(event, MessageRejected):
            said = "a message between Core and worker was refused, %s: %r"
        else:
            said = "the other end refused a message, %r: %r"
        self._log.warning(said, event.code[:_MAX_SHOWN_CHARS], event.message[:_MAX_SHOWN_CHARS])

    def _flush(self) -> None:
        for text in self._peer.drain():
            if self._lost_reason is None:
                self._send(text)


def _encode(value: Struct | Raw | None) -> Raw:
    encoded = msgspec.json.encode(value)
    if len(encoded) > _MAX_VALUE_BYTES:
        raise CommandError(
            "too_large",
            f"The message has {len(encoded)} bytes, and {MAX_MESSAGE_BYTES} are the "
            "limit. Send less at once.",
        )
    return Raw(encoded)
