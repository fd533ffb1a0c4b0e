"""`/agentstepper/runtime`: the socket that watches and controls background agents, by login or token."""

from __future__ import annotations

from typing import Any

from jupyter_server.auth.decorator import allow_unauthenticated, ws_authenticated

from ..hub import Hub, PeerSession
from ..hub.runtime import MethodRight
from ..hub.runtime_host import RuntimeHost
from .json_errors import make_error
from .sockets import PING_TIMEOUT_MS, LoginSocketHandler, TornadoConnection

_REFUSAL_MESSAGE = (
    "The agent token doesn't grant access here. Log in to the Jupyter server, or send "
    "the control token (AGENTSTEPPER_CONTROL_TOKEN, or in the server's data folder) as "
    "`Authorization: Bearer TOKEN`."
)


class RuntimeSocketHandler(LoginSocketHandler):
    """The socket of views with a login, whose rights the authorizer decides, and of programs with a
    token.

    Args of `initialize`:
        token: The agent token, which is refused before the identity provider is asked.
        control_token: The control token, for programs.
        host: The Core's background agents.
    """

    def initialize(  # type: ignore[override]
        self, hub: Hub, max_message_bytes: int, token: str, control_token: str, host: RuntimeHost
    ) -> None:
        """Store the extension's settings; tornado calls this for each request."""
        super().initialize(hub, max_message_bytes)
        self._token = token
        self._control_token = control_token
        self._host = host

    @property
    def ping_timeout(self) -> int:
        """Milliseconds without a pong after which the connection is closed."""
        return PING_TIMEOUT_MS if self._is_program else int(super().ping_timeout)

    async def prepare(self, *, _redirect_to_login: bool = False) -> None:
        """Skip the identity provider for a program: it must not get the program's token."""
        self._is_program = "Origin" not in self.request.headers and self.has_bearer_token(
            self._control_token
        )
        if self._is_program:
            self.skip_login()
        elif self.has_bearer_token(self._token):
            raise make_error(401, "unauthorized", _REFUSAL_MESSAGE)
        else:
            await super().prepare()

    @allow_unauthenticated
    async def get(self, *args: Any, **kwargs: Any) -> None:
        """Check the caller's rights, then complete the handshake."""
        if self._is_program:
            self._right = MethodRight.CONTROL
            await super().get(*args, **kwargs)
        else:
            await self._get_by_login(*args, **kwargs)

    @ws_authenticated
    async def _get_by_login(self, *args: Any, **kwargs: Any) -> None:
        rights = await self.find_rights()
        self._right = MethodRight.CONTROL if rights.can_control else MethodRight.WATCH
        await super().get(*args, **kwargs)

    def connect(self, connection: TornadoConnection, version: int) -> PeerSession:
        """Open a client's session."""
        return self._host.connect(connection, self._right)
