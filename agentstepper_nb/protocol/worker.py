"""Between the Core and its workers: processes that dial in and serve what the Core's own must not run.

Requests go both ways, each with an id of its sender's, and are answered by a result, an error or a
stream of items that a result ends. The requester may cancel. The sender sends at most as many items as
the requester granted: the request grants the first, each `more` grants further ones.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Raw, Struct

from .envelope import MessageTable
from .field_types import Count, Name

#: The version spoken.
WORKER_VERSION = 1
#: A number of a stream's items that one message grants.
Window = Annotated[int, Meta(ge=0, le=10_000)]


class WorkerHello(Struct, frozen=True, kw_only=True):
    """Opens a worker's connection."""

    version: int
    worker: str  # its name and version
    pid: Count
    host: str = ""  # that the pid is of: containers have hosts of their own
    services: Annotated[tuple[Name, ...], Meta(max_length=100)]


class WorkerWelcome(Struct, frozen=True, kw_only=True):
    """Answers hello."""

    version: int
    core: str
    control: bool = True  # whether this connection may change anything, or only watch


class RpcRequest(Struct, frozen=True, kw_only=True):
    """Ask a service of the other side; the envelope's id names the request."""

    service: Name
    method: Name
    params: Raw = Raw(b"null")
    window: Window = 0  # items that may come before any `more`; 0 asks for a result alone


class RpcCancel(Struct, frozen=True, kw_only=True):
    """The requester cancels the request of the envelope's id."""


class RpcCredit(Struct, frozen=True, kw_only=True):
    """The requester grants further items of the stream under the envelope's id."""

    items: Window


class RpcItem(Struct, frozen=True, kw_only=True):
    """An item of a stream, under the request's id."""

    value: Raw


class RpcResult(Struct, frozen=True, kw_only=True):
    """The answer to a request, or the end of its stream, under its id."""

    value: Raw = Raw(b"null")


class RpcFailure(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A request was refused or broke off, under its id; without an id: a message was refused."""

    code: str
    message: str
    retry_after_s: float | None = None  # after which the request may be sent again


#: One table for both directions; only workers send hello, only the Core sends welcome.
worker_messages = MessageTable(
    hello=WorkerHello,
    welcome=WorkerWelcome,
    request=RpcRequest,
    cancel=RpcCancel,
    more=RpcCredit,
    item=RpcItem,
    result=RpcResult,
    failed=RpcFailure,
)
