"""One end of an RPC connection, without I/O: converts received text to events, and requests to text.

Both ends are equal after their hellos: each may send requests. A request is open until it is answered,
refused or cancelled. Messages that cross a cancellation are ignored.

A stream can't flood its reader: its sender has credit, granted by the request and by `more`, and each
item uses one credit. So the window bounds the items that wait at the reader; the sender must bound what
it holds back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import msgspec
from msgspec import Raw, Struct

from .. import typed_json
from ..errors import CommandError, ProtocolError
from ..protocol.text_escaping import replace_surrogates
from ..protocol.worker import (
    RpcCancel,
    RpcCredit,
    RpcFailure,
    RpcItem,
    RpcRequest,
    RpcResult,
    worker_messages,
)

#: Requests that one end may have open at the other.
MAX_OPEN_REQUESTS: Final = 1000
#: Items of a stream that may be on their way to its reader, or wait there.
WINDOW_ITEMS: Final = 64

_NULL: Final = Raw(b"null")


class RequestReceived(Struct, frozen=True):
    """A request of the other end; answer with `item`s if it has a window, and `result` or `fail`."""

    id: str
    request: RpcRequest


class RequestCancelled(Struct, frozen=True):
    """The other end has cancelled its request."""

    id: str


class CreditGranted(Struct, frozen=True):
    """The other end has granted credit for items of a stream."""

    id: str


class ItemReceived(Struct, frozen=True):
    """An item of a requested stream; `accept_item` acknowledges it."""

    id: str
    value: Raw


class ResponseReceived(Struct, frozen=True):
    """A request is answered, or its stream has ended."""

    id: str
    value: Raw


class RequestFailed(Struct, frozen=True):
    """A request was refused or interrupted."""

    id: str
    code: str
    message: str
    retry_after_s: float | None = None


class MessageRejected(Struct, frozen=True):
    """An invalid message, which was answered with an error; for the log."""

    code: str
    message: str


class ErrorReceived(Struct, frozen=True):
    """The other end didn't understand a message of ours; for the log."""

    code: str
    message: str


PeerEvent = (
    RequestReceived
    | RequestCancelled
    | CreditGranted
    | ItemReceived
    | ResponseReceived
    | RequestFailed
    | MessageRejected
    | ErrorReceived
)


@dataclass
class _OpenRequest:
    """A request of ours.

    Args:
        window: The most items that may be under way to us.
    """

    window: int
    items_left: int  # items that may still come
    accepted_items: int = 0  # since we said `more` last


@dataclass
class _ServedRequest:
    """A request of the other end in progress, also after its cancellation.

    Args:
        credit: Items that may be sent.
    """

    credit: int
    cancelled: bool = False


class _MessageHeader(Struct):
    """The fields of an unreadable message that identify its request."""

    type: str = ""
    id: str | None = None


class Peer:
    """The rules of one end, after the greeting."""

    def __init__(self) -> None:
        self._requests: dict[str, _OpenRequest] = {}
        self._serving: dict[str, _ServedRequest] = {}
        self._last_id = 0
        self._last_n = 0
        self._outgoing: list[str] = []

    # ---- in and out ---------------------------------------------------------------------------------

    def receive(self, text: str) -> PeerEvent | None:
        """Process a received message.

        Args:
            text: The message.

        Returns:
            The event; None if the message has no effect any more.
        """
        try:
            envelope, message = worker_messages.decode(text)
            id = envelope.id if isinstance(envelope.id, str) else None
            return self._dispatch(id, message)
        except ProtocolError as error:
            return self._refuse(error, text)

    def refuse_binary(self) -> MessageRejected:
        """Refuse a binary frame: only text frames are accepted."""
        refused = MessageRejected(
            "binary_frame", "The message came as a binary frame. Send text frames."
        )
        self._send(RpcFailure(code=refused.code, message=refused.message))
        return refused

    def drain(self) -> list[str]:
        """Return the waiting messages in order, and remove them from the queue."""
        outgoing, self._outgoing = self._outgoing, []
        return outgoing

    def send_greeting(self, message: Struct) -> None:
        """Send a message of the greeting."""
        self._send(message)

    # ---- as who asks --------------------------------------------------------------------------------

    def send_request(self, service: str, method: str, params: Raw = _NULL, window: int = 0) -> str:
        """Send a request to the other end.

        Args:
            service: The service's name.
            method: The method's name.
            params: The parameters, as JSON.
            window: The most items in transit; 0: the request has a single result.

        Returns:
            The request's id.

        Raises:
            CommandError: `too_many`.
        """
        if len(self._requests) >= MAX_OPEN_REQUESTS:
            raise CommandError(
                "too_many",
                f"This connection has its limit of {MAX_OPEN_REQUESTS} open requests. "
                "Wait until some are answered.",
            )
        self._last_id += 1
        id = str(self._last_id)
        self._requests[id] = _OpenRequest(window, window)
        self._send(RpcRequest(service=service, method=method, params=params, window=window), id)
        return id

    def accept_item(self, id: str) -> None:
        """Acknowledge an item, which grants credit for another. Does nothing if the stream has ended."""
        open = self._requests.get(id)
        if open is None:
            return
        open.accepted_items += 1
        # Half a window at a time: few messages, and no standstill.
        if open.accepted_items * 2 >= open.window:
            self._send(RpcCredit(items=open.accepted_items), id)
            open.items_left += open.accepted_items
            open.accepted_items = 0

    def cancel(self, id: str) -> None:
        """Want no more of it. Nothing where it is over."""
        if self._requests.pop(id, None) is not None:
            self._send(RpcCancel(), id)

    # ---- as who is asked ----------------------------------------------------------------------------

    def remaining_credit(self, id: str) -> int:
        """The number of items that may be sent now."""
        return self._serving[id].credit

    def send_item(self, id: str, value: Raw) -> None:
        """Send one of a stream, for which there has to be credit."""
        served = self._serving[id]
        if served.credit < 1:
            raise ValueError(f"Request {id} has no credit for another item.")
        served.credit -= 1
        if not served.cancelled:
            self._send(RpcItem(value=value), id)

    def send_result(self, id: str, value: Raw = _NULL) -> None:
        """Answer a request, or end its stream."""
        self._answer(id, RpcResult(value=value))

    def send_failure(
        self, id: str, code: str, message: str, retry_after_s: float | None = None
    ) -> None:
        """Refuse a request, or break its stream off."""
        said = replace_surrogates(message)  # of a file's name, with which it couldn't be sent
        self._answer(id, RpcFailure(code=code, message=said, retry_after_s=retry_after_s))

    def _answer(self, id: str, answer: RpcResult | RpcFailure) -> None:
        if not self._serving.pop(id).cancelled:
            self._send(answer, id)

    # ---- each message -------------------------------------------------------------------------------

    def _dispatch(self, id: str | None, message: Struct) -> PeerEvent | None:
        if isinstance(message, RpcFailure):
            return self._receive_failure(id, message)
        if id is None:
            raise ProtocolError(
                "invalid_message", "The envelope has no `id`. Send the request's `id`."
            )
        match message:
            case RpcRequest():
                return self._receive_request(id, message)
            case RpcCancel():
                return self._receive_cancel(id)
            case RpcCredit():
                return self._receive_credit(id, message.items)
            case RpcItem():
                return self._receive_item(id, message.value)
            case RpcResult():
                return (
                    None
                    if self._requests.pop(id, None) is None
                    else ResponseReceived(id, message.value)
                )
        raise ProtocolError("already_open", "This connection has sent hello already.")

    def _receive_failure(self, id: str | None, failed: RpcFailure) -> PeerEvent | None:
        if id is None:
            return ErrorReceived(failed.code, failed.message)
        known = self._requests.pop(id, None)
        if known is None:
            return None
        return RequestFailed(id, failed.code, failed.message, failed.retry_after_s)

    def _receive_request(self, id: str, request: RpcRequest) -> PeerEvent:
        if id in self._serving:
            raise ProtocolError("duplicate", f"A request with the id {id[:80]} is open already.")
        if len(self._serving) >= MAX_OPEN_REQUESTS:
            raise ProtocolError(
                "too_many",
                f"At most {MAX_OPEN_REQUESTS} requests may be open. Wait until some are answered.",
            )
        self._serving[id] = _ServedRequest(request.window)
        return RequestReceived(id, request)

    def _receive_cancel(self, id: str) -> PeerEvent | None:
        served = self._serving.get(id)
        if served is None or served.cancelled:
            return None
        served.cancelled = True
        return RequestCancelled(id)

    def _receive_credit(self, id: str, items: int) -> PeerEvent | None:
        if id not in self._serving:
            return None
        self._serving[id].credit += items
        return CreditGranted(id)

    def _receive_item(self, id: str, value: Raw) -> PeerEvent | None:
        open = self._requests.get(id)
        if open is None:
            return None
        if open.items_left < 1:
            self.cancel(id)
            return RequestFailed(id, "invalid_message", "An item came without credit for it.")
        open.items_left -= 1
        return ItemReceived(id, value)

    def _refuse(self, error: ProtocolError, text: str) -> PeerEvent:
        """Answer an invalid message with an error, and fail the request that it concerns."""
        try:
            kind = typed_json.decode(text, _MessageHeader)
        except (msgspec.DecodeError, RecursionError, UnicodeError):
            kind = _MessageHeader()
        refused = kind.type == "request" and kind.id not in self._serving
        # A failure under an id is for the request of that id, and of its sender.
        failed = RpcFailure(code=error.code, message=error.message)
        self._send(failed, kind.id if refused else None)
        answers = kind.type in ("item", "result", "failed")
        if answers and kind.id is not None and self._requests.pop(kind.id, None) is not None:
            return RequestFailed(kind.id, error.code, error.message)
        return MessageRejected(error.code, error.message)

    def _send(self, message: Struct, id: str | None = None) -> None:
        self._last_n += 1
        self._outgoing.append(worker_messages.encode(message, self._last_n, id))
