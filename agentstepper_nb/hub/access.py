"""Access checks of the standalone Core's sockets."""

from __future__ import annotations

import hmac
import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from http import HTTPStatus
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs

from websockets.asyncio.server import ServerConnection
from websockets.http11 import Request, Response
from websockets.typing import Subprotocol

from ..core.summaries import extract_first_line
from ..errors import CommandError
from ..protocol.envelope import SUBPROTOCOL
from .chat_registry import ChatRegistry

if TYPE_CHECKING:
    from .metrics import RuntimeMetrics

#: The token that a refused client needs, and where it is: a part of the error message.
AGENT_TOKEN: Final = (
    "the agent token as Authorization: Bearer, or set AGENTSTEPPER_TOKEN; it is in the file agent-token "
    "of the Core's data folder"
)
CONTROL_TOKEN: Final = (
    "the control token as Authorization: Bearer, or in the address as ?token=, or set "
    "AGENTSTEPPER_CONTROL_TOKEN; it is in the file control-token of the Core's data folder"
)
WORKER_TOKEN: Final = (
    "the worker token as Authorization: Bearer, or set AGENTSTEPPER_WORKER_TOKEN; it is in the file "
    "worker-token of the Core's data folder"
)

AccessCheck = Callable[[ServerConnection, Request], Response | None]
#: An access check that may await another process before it admits a connection.
AsyncAccessCheck = Callable[
    [ServerConnection, Request], Response | Awaitable[Response | None] | None
]


def make_program_check(
    tokens: Sequence[str], required_token: str, *, is_token_required: bool = True
) -> AccessCheck:
    """Make the check that admits programs: callers without an Origin header, with one of the tokens.

    Args:
        tokens: The tokens that the check accepts.
        required_token: The error message for a caller with another token.
        is_token_required: Whether a caller must send a token. Without one, it speaks version 1.
    """

    def check(connection: ServerConnection, request: Request) -> Response | None:
        if "Origin" in request.headers:
            return connection.respond(
                HTTPStatus.FORBIDDEN,
                "foreign_origin: this address accepts programs, not web pages.\n",
            )
        return _check_token(connection, request, tokens, required_token, is_token_required)

    return check


def make_view_check(token: str, origins: Sequence[str], *, is_token_required: bool) -> AccessCheck:
    """Make the check that admits programs, and web pages of the given origins.

    Args:
        token: The control token.
        origins: The origins of web pages that are admitted.
        is_token_required: Whether a caller must send the token. Without it, a caller speaks version 1.
    """

    def check(connection: ServerConnection, request: Request) -> Response | None:
        for origin in request.headers.get_all("Origin"):
            if origin not in origins:
                named = origin.encode("ascii", "replace").decode()
                return connection.respond(
                    HTTPStatus.FORBIDDEN,
                    f"foreign_origin: web pages of {named} may not connect here. To allow "
                    "the pages, start the Core with: agentstepper serve --ui-origin "
                    f"{named}\n",
                )
        return _check_token(connection, request, (token,), CONTROL_TOKEN, is_token_required)

    return check


def make_path_check(checks: Mapping[str, AccessCheck], fallback: AccessCheck) -> AccessCheck:
    """Combine the access checks of a port's paths to one check.

    Args:
        checks: The check of each path.
        fallback: The check of every other path.
    """

    def check(connection: ServerConnection, request: Request) -> Response | None:
        return checks.get(get_path(request), fallback)(connection, request)

    return check


def make_logged_check(check: AsyncAccessCheck, log: logging.Logger) -> AsyncAccessCheck:
    """The same check, which logs each refusal.

    Args:
        check: The check.
        log: Gets a line for each.
    """

    async def logged_check(connection: ServerConnection, request: Request) -> Response | None:
        answer = check(connection, request)
        refusal = await answer if isinstance(answer, Awaitable) else answer
        if refusal is not None and refusal.status_code >= HTTPStatus.BAD_REQUEST:
            why = extract_first_line(bytes(refusal.body or b"").decode())
            log.warning("a connection was refused, %s", why)
        return refusal

    return logged_check


def get_path(request: Request) -> str:
    """The path that a request names, without its query."""
    return request.path.partition("?")[0]


def get_bearer_token(request: Request) -> str:
    """The token in a request's header; "" if there is none."""
    for header in request.headers.get_all("Authorization"):
        if header.startswith("Bearer "):
            return header.removeprefix("Bearer ")
    return ""


def get_token(request: Request) -> str | None:
    """The token in a request's header or URL; None if the request has none.

    A malformed header or URL yields an empty token, which matches no token.
    """
    if "Authorization" in request.headers:
        return get_bearer_token(request)
    query = parse_qs(request.path.partition("?")[2], keep_blank_values=True)
    return query["token"][0] if "token" in query else None


def has_token(request: Request, token: str) -> bool:
    """Whether a request carries a token, which isn't empty."""
    # Headers come as ASCII with surrogates for all else.
    sent = (get_token(request) or "").encode(errors="surrogateescape")
    return bool(token) and hmac.compare_digest(sent, token.encode())


def select_subprotocol(
    connection: ServerConnection, offered: Sequence[Subprotocol]
) -> Subprotocol | None:
    """Version 2 where it is offered with a token, which the gate has checked; none, version 1, else."""
    assert connection.request is not None  # the gate has seen it
    if SUBPROTOCOL in offered and get_token(connection.request) is not None:
        return Subprotocol(SUBPROTOCOL)
    return None


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a host."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _check_token(
    connection: ServerConnection,
    request: Request,
    tokens: Sequence[str],
    required_token: str,
    is_token_required: bool,
) -> Response | None:
    if get_token(request) is None and not is_token_required:
        return None
    if any(has_token(request, token) for token in tokens):
        return None
    return connection.respond(HTTPStatus.UNAUTHORIZED, f"unauthorized: send {required_token}.\n")


#: The path of a chat on the Core's port.
_CHAT_PATH: Final = re.compile(r"/chat/([\w-]{1,100})", re.ASCII)
#: The HTTP status for each error code of a chat's admission; other codes mean "unavailable".
_STATUS: Final = {
    "invalid_token": HTTPStatus.UNAUTHORIZED,
    "unknown_service": HTTPStatus.NOT_FOUND,
    "too_many": HTTPStatus.TOO_MANY_REQUESTS,
}


def find_chat_id(path: str) -> str | None:
    """Find the id of the chat that a path names; None where the path names no chat."""
    found = _CHAT_PATH.fullmatch(path)
    return None if found is None else found[1]


def make_chat_check(chats: ChatRegistry, fallback: AccessCheck) -> AsyncAccessCheck:
    """Make the check that asks a chat's own process to admit each client, a program with a chat token.

    Args:
        chats: The Core's chats.
        fallback: The check of every other path.
    """

    def check(
        connection: ServerConnection, request: Request
    ) -> Response | Awaitable[Response | None] | None:
        chat = find_chat_id(get_path(request))
        return (
            fallback(connection, request) if chat is None else check_chat(connection, request, chat)
        )

    async def check_chat(
        connection: ServerConnection, request: Request, chat: str
    ) -> Response | None:
        if "Origin" in request.headers:
            return connection.respond(
                HTTPStatus.FORBIDDEN, "foreign_origin: a web page may not connect here.\n"
            )
        try:
            await chats.admit(chat, get_bearer_token(request))
        except CommandError as error:
            status = _STATUS.get(error.code, HTTPStatus.SERVICE_UNAVAILABLE)
            return connection.respond(status, f"{error.code}: {error.message}\n")
        return None

    return check


#: The path of the metrics for Prometheus, on each of a Core's ports.
METRICS_PATH: Final = "/agentstepper/metrics"


def make_metrics_check(
    metrics: RuntimeMetrics | None, token: str, fallback: AsyncAccessCheck
) -> AsyncAccessCheck:
    """Make the check that answers requests for metrics and passes all others to another check.

    Args:
        metrics: The Core's metrics; None: the path isn't served.
        token: The control token, which every request for metrics must carry.
        fallback: The check of every other path.
    """
    if metrics is None:
        return fallback
    program_check = make_program_check((token,), CONTROL_TOKEN)

    async def answer(connection: ServerConnection, request: Request) -> Response:
        refusal = program_check(connection, request)
        if refusal is not None:
            return refusal
        response = connection.respond(HTTPStatus.OK, (await metrics.render()).decode())
        del response.headers["Content-Type"]
        response.headers["Content-Type"] = metrics.content_type
        return response

    def check(
        connection: ServerConnection, request: Request
    ) -> Response | Awaitable[Response | None] | None:
        is_metrics = get_path(request) == METRICS_PATH
        return answer(connection, request) if is_metrics else fallback(connection, request)

    return check
