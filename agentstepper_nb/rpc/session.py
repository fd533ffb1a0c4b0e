"""A connection on an event loop, equal at both ends: the services it offers, and its requests."""

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
#: Characters of the other end's message that the log shows.
_MAX_SHOWN_CHARS: Final = 300

_CANCELLED: Final = RpcFailure(
    code="cancelled", message="The request was cancelled before it was answered."
)

#: A message of a requested stream: an item, or its end by a result or an error.
_Response = ItemReceived | ResponseReceived | RequestFailed


class RpcService(Protocol):
    """Answers requests, on the worker's event loop, which it must not block.

    A `CommandError` or `ProtocolError` is sent to the caller; other exceptions are logged.
    """

    async def call(self, method: str, params: Raw) -> Struct | Raw | None:
        """Answer a request once; a `Raw` is JSON already. Cancelled with the request.

        Args:
            method: The method's name.
            params: The parameters, as JSON.
        """

    def stream(self, method: str, params: Raw) -> AsyncIterator[Struct | Raw]:
        """Answer a request with items: an async generator. Items are requested only while the reader has
        room, and the generator is closed when the reader has gone.

        Args:
            method: The method's name.
            params: The parameters, as JSON.
        """

    async def close(self) -> None:
        """Release resources at the worker's end."""


class RpcCaller(Protocol):
    """Sends a service's requests to the Core, over the worker's present connection."""

    async def wait_connected(self) -> None:
        """Wait until there is a connection; returns at once if there is one."""

    async def call(
        self, service: str, method: str, params: Struct | None, kind: type[Value]
    ) -> Value:
        """Request a result.

        Args:
            service: The name of a service of the Core.
            method: The method's name.
            params: The parameters.
            kind: The answer's class; `type(None)` if there is none.

        Raises:
            CommandError: The service refused; `worker_lost`: there is no connection, or it broke before
                the answer, so that the request may have been executed or not.
        """

    def stream(
        self, service: str, method: str, params: Struct | None, kind: type[Value]
    ) -> AsyncGenerator[Value, None]:
        """Request a stream of items; closing it cancels. Arguments and errors as `call`."""


class RpcSession:
    """Sends requests to the other end, and serves the other end's requests.

    Args:
        send: Sends a text frame in order; never blocks.
        services: The services that the other end may call.
        log: Receives invalid messages, and failures of services.
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
        """Answer a message before the hello with an error."""
        self.send_greeting(RpcFailure(code=error.code, message=error.message))

    def receive(self, text: str) -> None:
        """Handle a text frame after the hello. Raises nothing for its contents."""
        self._react(self._peer.receive(text))
        self._flush()

    def receive_binary(self) -> None:
        """Handle a binary frame."""
        self._react(self._peer.refuse_binary())
        self._flush()

    def connection_lost(self, why: str) -> None:
        """Handle the connection's end: open requests fail, and served requests are cancelled.

        Args:
            why: The reason, for the callers.
        """
        self._lost_reason = why
        for id, responses in self._responses.items():
            responses.put_nowait(RequestFailed(id, "worker_lost", why))
        for task in self._serving.values():
            task.cancel()

    # ---- asking -------------------------------------------------------------------------------------

    async def call(self, service: str, method: str, params: Struct | None = None) -> Raw:
        """Request a result.

        Args:
            service: The service's name.
            method: The method's name.
            params: The parameters.

        Returns:
            The result, as JSON.

        Raises:
            CommandError: The service refused, or the connection is lost (`worker_lost`).
        """
        id, responses = self._send_request(service, method, params, 0)
        try:
            return self._unwrap(await responses.get())
        finally:
            self._forget(id)

    async def stream(
        self, service: str, method: str, params: Struct | None = None
    ) -> AsyncGenerator[Raw, None]:
        """Request a stream of items, as JSON; closing it cancels. Arguments and errors as `call`."""
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
        """Execute a request, and return its answer."""
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
        """Answer a request after its task has ended. If the task was cancelled, the peer decides whether
        an answer is sent.
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
