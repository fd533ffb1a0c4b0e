"""Between the Core and its workers: processes that dial in and serve what the Core's own must not run.

Requests go both ways, each with an id of its sender's, and are answered by a result, an error or a
stream of items that a result ends. Who asked may cancel.
"""

from __future__ import annotations

from msgspec import Raw, Struct

from .frame import Table
from .values import Count, Name


class WorkerHello(Struct, frozen=True, kw_only=True):
    """Opens a worker's connection."""

    version: int
    worker: str  # its name and version
    pid: Count
    services: tuple[Name, ...]


class WorkerWelcome(Struct, frozen=True, kw_only=True):
    """Answers hello."""

    version: int
    core: str


class Request(Struct, frozen=True, kw_only=True):
    """Ask a service of the other side; the envelope's id names the request."""

    service: Name
    method: Name
    params: Raw = Raw(b"null")


class Cancel(Struct, frozen=True, kw_only=True):
    """Who asked under the envelope's id wants no more."""


class Item(Struct, frozen=True, kw_only=True):
    """One of a stream, under the request's id."""

    value: Raw


class Result(Struct, frozen=True, kw_only=True):
    """The answer to a request, or the end of its stream, under its id."""

    value: Raw = Raw(b"null")


class Failed(Struct, frozen=True, kw_only=True):
    """A request was refused or broke off, under its id; without an id: a message was refused."""

    code: str
    message: str


WorkerMessage = WorkerHello | WorkerWelcome | Request | Cancel | Item | Result | Failed
#: One table for both directions; hello comes from workers alone, welcome from the Core.
both_ways = Table(
    hello=WorkerHello,
    welcome=WorkerWelcome,
    request=Request,
    cancel=Cancel,
    item=Item,
    result=Result,
    failed=Failed,
)
