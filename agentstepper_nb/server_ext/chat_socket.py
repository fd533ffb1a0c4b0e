"""`/agentstepper/chat/ID`: a chat's clients from outside, by the chat's own tokens."""

from __future__ import annotations

from typing import Any, Final

from jupyter_server.auth.decorator import allow_unauthenticated

from ..errors import CommandError
from ..hub import Hub, PeerSession
from ..hub.chat_registry import ChatRegistry
from .json_errors import convert_hub_error, make_error
from .sockets import PING_TIMEOUT_MS, CoreSocketHandler, TornadoConnection

#: The HTTP status of a handshake for codes whose status differs from that of other requests.
_STATUS: Final = {"invalid_token": 401, "unknown_service": 404}


class ChatSocketHandler(CoreSocketHandler):
    """The socket of programs with a chat token, which the chat's own process checks.

    Args of `initialize`:
        chats: The Core's chats.
    """

    def initialize(self, hub: Hub, max_message_bytes: int, chats: ChatRegistry) -> None:  # type: ignore[override]
        """Store the extension's settings; tornado calls this for each request."""
        super().initialize(hub, max_message_bytes)
        self._chats = chats

    @property
    def ping_timeout(self) -> int:
        """Milliseconds without a pong after which the connection is closed."""
        return PING_TIMEOUT_MS

    async def prepare(self, *, _redirect_to_login: bool = False) -> None:
        """Skip the identity provider: it must not get a chat token."""
        self.skip_login()

    @allow_unauthenticated
    async def get(self, chat: str, *args: Any, **kwargs: Any) -> None:
        """Ask the chat's process whether it admits the caller, then complete the handshake."""
        if "Origin" in self.request.headers:
            raise make_error(
                403,
                "foreign_origin",
                "This address accepts programs; a web page may not connect here.",
            )
        self._chat, self._token = chat, self._read_bearer_token()
        try:
            await self._chats.admit(self._chat, self._token)
        except CommandError as error:
            if error.code in _STATUS:
                raise make_error(_STATUS[error.code], error.code, error.message) from None
            raise convert_hub_error(error) from None
        await super().get(*args, **kwargs)

    def connect(self, connection: TornadoConnection, version: int) -> PeerSession:
        """Open a client's session."""
        return self._chats.connect(connection, self._chat, self._token)

    def _read_bearer_token(self) -> str:
        scheme, _, token = self.request.headers.get("Authorization", "").partition(" ")
        return token.strip() if scheme.lower() == "bearer" else ""
