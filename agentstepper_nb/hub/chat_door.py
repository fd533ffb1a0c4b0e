"""The door of the standalone Core for a chat's clients: beside the agents', by the chat's own tokens."""

from __future__ import annotations

import re
from collections.abc import Awaitable
from http import HTTPStatus
from typing import Final

from websockets.asyncio.server import ServerConnection
from websockets.http11 import Request, Response

from ..errors import CommandError
from ..protocol.chat import CHAT_PATH
from .chats import Chats
from .gate import AskingGate, Gate, bearer, path_of

_PATH: Final = re.compile(rf"/{CHAT_PATH}([\w-]{{1,100}})", re.ASCII)
#: What a handshake is answered with; all else is that the chat can't be asked now.
_STATUS: Final = {
    "invalid_token": HTTPStatus.UNAUTHORIZED,
    "unknown_service": HTTPStatus.NOT_FOUND,
    "too_many": HTTPStatus.TOO_MANY_REQUESTS,
}


def chat_of(path: str) -> str | None:
    """Which chat a path names; None where it names none."""
    found = _PATH.fullmatch(path)
    return None if found is None else found[1]


def chat_gate(chats: Chats, other: Gate) -> AskingGate:
    """Lets clients in that a chat's own process lets in: programs, with a token of the chat's.

    Args:
        chats: The Core's.
        other: Of every other path.
    """

    def check(
        connection: ServerConnection, request: Request
    ) -> Response | Awaitable[Response | None] | None:
        chat = chat_of(path_of(request))
        return other(connection, request) if chat is None else ask(connection, request, chat)

    async def ask(connection: ServerConnection, request: Request, chat: str) -> Response | None:
        if "Origin" in request.headers:
            return connection.respond(
                HTTPStatus.FORBIDDEN, "foreign_origin: a web page may not connect here.\n"
            )
        try:
            await chats.admit(chat, bearer(request))
        except CommandError as error:
            status = _STATUS.get(error.code, HTTPStatus.SERVICE_UNAVAILABLE)
            return connection.respond(status, f"{error.code}: {error.message}\n")
        return None

    return check
