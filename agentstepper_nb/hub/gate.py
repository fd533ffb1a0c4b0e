"""Who may open a socket of the standalone Core."""

from __future__ import annotations

import hmac
import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from http import HTTPStatus
from ipaddress import ip_address
from typing import Final
from urllib.parse import parse_qs

from websockets.asyncio.server import ServerConnection
from websockets.http11 import Request, Response
from websockets.typing import Subprotocol

from ..core.summaries import one_line
from ..protocol.frame import SUBPROTOCOL

_LOCAL_ORIGIN: Final = re.compile(r"http://(localhost|127\.0\.0\.1)(:\d+)?")

_THE_TOKEN: Final = "the token as Authorization: Bearer, or set AGENTSTEPPER_TOKEN"
_WORKERS_TOKEN: Final = (
    "the workers' token as Authorization: Bearer, or set AGENTSTEPPER_WORKER_TOKEN; it is in the Core's "
    "runtime file"
)

Gate = Callable[[ServerConnection, Request], Response | None]
#: One that asks somebody before it lets anybody in.
AskingGate = Callable[[ServerConnection, Request], Response | Awaitable[Response | None] | None]


def agent_gate(token: str | None) -> Gate:
    """Lets programs in: callers without an Origin, with the token where one is set.

    Args:
        token: What `Authorization: Bearer` must carry; None asks for nothing.
    """

    def check(connection: ServerConnection, request: Request) -> Response | None:
        if "Origin" in request.headers:
            return connection.respond(
                HTTPStatus.FORBIDDEN, "foreign_origin: agents are programs, not web pages.\n"
            )
        return _check_token(connection, request, token)

    return check


def worker_gate(token: str) -> Gate:
    """Lets workers in: programs with a token of their own.

    Args:
        token: What `Authorization: Bearer` must carry.
    """

    def check(connection: ServerConnection, request: Request) -> Response | None:
        if "Origin" in request.headers:
            return connection.respond(
                HTTPStatus.FORBIDDEN, "foreign_origin: workers are programs, not web pages.\n"
            )
        return _check_token(connection, request, token, _WORKERS_TOKEN)

    return check


def gate_by_path(gates: Mapping[str, Gate], other: Gate) -> Gate:
    """One port with several doors.

    Args:
        gates: By the path of each door.
        other: Of every other path.
    """

    def check(connection: ServerConnection, request: Request) -> Response | None:
        return gates.get(path_of(request), other)(connection, request)

    return check


def logged(gate: AskingGate, log: logging.Logger) -> AskingGate:
    """The same gate, which tells whom it refused.

    Args:
        gate: The gate.
        log: Gets a line for each.
    """

    async def check(connection: ServerConnection, request: Request) -> Response | None:
        answer = gate(connection, request)
        refusal = await answer if isinstance(answer, Awaitable) else answer
        if refusal is not None:
            why = one_line(bytes(refusal.body or b"").decode())
            log.warning("a connection was refused, %s", why)
        return refusal

    return check


def path_of(request: Request) -> str:
    """The path that a request names, without its query."""
    return request.path.partition("?")[0]


def ui_gate(token: str | None, origins: Sequence[str]) -> Gate:
    """Lets programs, pages of this machine and named origins in, with the token where one is set.

    Args:
        token: What `Authorization: Bearer` or `?token=` must carry; None asks for nothing.
        origins: Origins that are let in besides `http://localhost:*` and `http://127.0.0.1:*`.
    """

    def check(connection: ServerConnection, request: Request) -> Response | None:
        for origin in request.headers.get_all("Origin"):
            if origin not in origins and not _LOCAL_ORIGIN.fullmatch(origin):
                named = origin.encode("ascii", "replace").decode()
                return connection.respond(
                    HTTPStatus.FORBIDDEN,
                    f"foreign_origin: {named} may not control agents; --ui-origin would let it in.\n",
                )
        return _check_token(connection, request, token)

    return check


def _check_token(
    connection: ServerConnection, request: Request, token: str | None, which: str = _THE_TOKEN
) -> Response | None:
    # Headers come as ASCII with surrogates for all else.
    if token is None or hmac.compare_digest(
        _sent_token(request).encode(errors="surrogateescape"), token.encode()
    ):
        return None
    return connection.respond(
        HTTPStatus.UNAUTHORIZED,
        f"unauthorized: send {which}.\n",
    )


def bearer(request: Request) -> str:
    """The token that a request's header carries; "" where there is none."""
    for header in request.headers.get_all("Authorization"):
        if header.startswith("Bearer "):
            return header.removeprefix("Bearer ")
    return ""


def _sent_token(request: Request) -> str:
    if token := bearer(request):
        return token
    return parse_qs(request.path.partition("?")[2]).get("token", [""])[0]


def select_subprotocol(
    connection: ServerConnection, offered: Sequence[Subprotocol]
) -> Subprotocol | None:
    """Version 2 where it is offered; none, which is version 1, else."""
    return Subprotocol(SUBPROTOCOL) if SUBPROTOCOL in offered else None


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a host."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
