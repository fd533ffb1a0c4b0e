"""The WebSockets: agents and workers authenticate with tokens, views with a login."""

from __future__ import annotations

from collections.abc import Awaitable
from hmac import compare_digest
from typing import Any, cast

from jupyter_server.auth.decorator import allow_unauthenticated, ws_authenticated
from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.base.websocket import WebSocketMixin
from jupyter_server.utils import ensure_async
from tornado.websocket import WebSocketHandler, WebSocketProtocol, WebSocketProtocol13

from ..hub import AccessRights, Hub, PeerSession
from ..hub.connection import cut_close_reason, is_same_machine
from ..hub.sockets import FairScheduler
from ..hub.workers import Workers
from ..protocol.envelope import SUBPROTOCOL
from .json_errors import AUTH_RESOURCE, JsonErrorHandler, make_error
from .oversize_messages import OversizeProtocol
from .socket_outbox import SocketOutbox, WriteFuture

#: Milliseconds without a pong that a program may take: a busy one may not answer pings. On this machine
#: the system reports its end at once.
PING_TIMEOUT_MS = 10 * 60 * 1000


class TornadoConnection:
    """The Hub's `Connection` over a tornado WebSocket.

    Args:
        handler: The handler whose handshake is done.
    """

    def __init__(self, handler: WebSocketHandler) -> None:
        self._handler = handler
        self._outbox = SocketOutbox(
            # tornado's type leaves out that the future is one that takes callbacks.
            lambda message: cast(WriteFuture, handler.write_message(message)),
            lambda: self.close(1013, "too slow: read faster, or connect again"),
        )

    def send(self, text: str) -> None:
        """Queue one message in order; never blocks."""
        self._outbox.send(text)

    @property
    def waiting_bytes(self) -> int:
        """Bytes that wait behind the message on its way."""
        return self._outbox.waiting_bytes

    def close(self, code: int, reason: str) -> None:
        """Close after the queued messages, with a reason."""
        self._outbox.stop_sending()
        self._handler.close(code, cut_close_reason(reason))

    def stop_sending(self) -> None:
        """Stop sending: the peer is gone."""
        self._outbox.stop_sending()


class CoreSocketHandler(JsonErrorHandler, WebSocketMixin, WebSocketHandler, JupyterHandler):
    """One WebSocket of the Core, which forwards messages to a session of the Hub.

    Args of `initialize`:
        hub: The Core's Hub.
        max_message_bytes: The largest accepted message, in bytes.
    """

    _session: PeerSession | None = None

    def initialize(self, hub: Hub, max_message_bytes: int) -> None:
        """Store the extension's settings; tornado calls this for each request."""
        self.hub = hub
        self._max_message_bytes = max_message_bytes

    @property
    def max_message_size(self) -> int:
        """The largest accepted message; a larger one closes the connection with 1009."""
        return self._max_message_bytes

    def get_websocket_protocol(self) -> WebSocketProtocol | None:
        """The protocol that closes over too large a message so that the peer hears why."""
        found = super().get_websocket_protocol()
        if not isinstance(found, WebSocketProtocol13):
            return found
        return OversizeProtocol(self, False, found.params)

    def select_subprotocol(self, subprotocols: list[str]) -> str | None:
        """Choose version 2 where it is offered; none chosen is version 1."""
        return SUBPROTOCOL if SUBPROTOCOL in subprotocols else None

    def open(self, *args: str, **kwargs: str) -> None:
        """Introduce the peer to the Hub."""
        super().open(*args, **kwargs)
        self.set_nodelay(True)
        self._connection = TornadoConnection(self)
        self._turns = FairScheduler(self.hub.store.call_when_recorded)
        self._session = self.connect(self._connection, 2 if self.selected_subprotocol else 1)

    def connect(self, connection: TornadoConnection, version: int) -> PeerSession:
        """Open the session; subclasses choose its class."""
        raise NotImplementedError

    def has_bearer_token(self, token: str) -> bool:
        """Whether the caller sends this token as a bearer token; an empty token never matches."""
        scheme, _, sent = self.request.headers.get("Authorization", "").partition(" ")
        right = bool(token) and compare_digest(sent.strip().encode(), token.encode())
        return right and scheme.lower() == "bearer"

    def skip_login(self) -> None:
        """Set no user for the caller, and check the host name in the request."""
        self.current_user = self._jupyter_current_user = None
        if not self.check_host():
            raise make_error(
                403,
                "unauthorized",
                "This server doesn't accept requests for this host name. Use the address "
                "that Jupyter prints.",
            )

    def on_message(self, message: str | bytes) -> Awaitable[None] | None:
        """Pass one message to the session. The returned awaitable precedes the next message."""
        if self._session is None:
            return None
        if isinstance(message, bytes):
            self._session.receive_binary()
        else:
            self._session.receive(message)
        return self._turns.count_message()

    def on_close(self) -> None:
        """Notify the Hub, once."""
        session, self._session = self._session, None
        if session is not None:
            self._connection.stop_sending()
            session.on_closed()
        super().on_close()


class TokenSocketHandler(CoreSocketHandler):
    """A socket for programs of this machine, which have no login.

    Args of `initialize`:
        token: The token that a program must send.
    """

    #: The error message for a caller without the token.
    refusal_message = ""

    def initialize(self, hub: Hub, max_message_bytes: int, token: str) -> None:  # type: ignore[override]
        """Store the extension's settings; tornado calls this for each request."""
        super().initialize(hub, max_message_bytes)
        self._token = token

    @property
    def ping_timeout(self) -> int:
        """Milliseconds without a pong after which the connection is closed."""
        return PING_TIMEOUT_MS

    async def prepare(self, *, _redirect_to_login: bool = False) -> None:
        """Skip the identity provider: it must not get a program's token.

        JupyterHub's provider would send the token to its hub to identify the user.
        """
        self.skip_login()

    @allow_unauthenticated
    async def get(self, *args: Any, **kwargs: Any) -> None:
        """Check the caller, then shake hands."""
        if "Origin" in self.request.headers:
            raise make_error(
                403,
                "foreign_origin",
                "This address accepts programs; a web page may not connect here.",
            )
        if not self.is_admitted():
            self.set_header("WWW-Authenticate", "Bearer")
            raise make_error(401, "unauthorized", self.refusal_message)
        await super().get(*args, **kwargs)

    def is_admitted(self) -> bool:
        """Whether the caller sends the required token."""
        return self.has_bearer_token(self._token)


class AgentSocketHandler(TokenSocketHandler):
    """`/agentstepper/agent`.

    Args of `initialize`:
        control_token: The token that a program may send instead of the agent token, to control.
    """

    refusal_message = (
        "The agent token is missing or wrong. Send it as `Authorization: Bearer TOKEN`; "
        "it is AGENTSTEPPER_TOKEN (for breakpoints and prices AGENTSTEPPER_CONTROL_TOKEN), or in the "
        "server's data folder, which its runtime file names."
    )

    def initialize(  # type: ignore[override]
        self, hub: Hub, max_message_bytes: int, token: str, control_token: str
    ) -> None:
        """Store the extension's settings; tornado calls this for each request."""
        super().initialize(hub, max_message_bytes, token)
        self._control_token = control_token

    def is_admitted(self) -> bool:
        """Whether the caller sends one of the two tokens; the control token grants control."""
        can_control = self.has_bearer_token(self._control_token)
        is_local = is_same_machine(self.request.remote_ip, None)
        self._rights = AccessRights(can_control, is_local=is_local)
        return self._rights.can_control or super().is_admitted()

    def connect(self, connection: TornadoConnection, version: int) -> PeerSession:
        """Open an agent's session."""
        return self.hub.connect_agent(connection, version, self._rights)


class WorkerSocketHandler(TokenSocketHandler):
    """`/agentstepper/worker`: the server's own workers.

    Args of `initialize`:
        workers: The Core's.
    """

    refusal_message = (
        "The worker token is missing or wrong. It is AGENTSTEPPER_WORKER_TOKEN, or in the server's data "
        "folder, which its runtime file names."
    )

    def initialize(  # type: ignore[override]
        self, hub: Hub, max_message_bytes: int, token: str, workers: Workers
    ) -> None:
        """Store the extension's settings; tornado calls this for each request."""
        super().initialize(hub, max_message_bytes, token)
        self._workers = workers

    def connect(self, connection: TornadoConnection, version: int) -> PeerSession:
        """Open a worker's session."""
        return self._workers.connect(connection)


class LoginSocketHandler(CoreSocketHandler):
    """A socket for people with a login, whose rights Jupyter's authorizer decides."""

    auth_resource = AUTH_RESOURCE

    async def find_rights(self) -> AccessRights:
        """Find the login's rights; refuse a login without the right to watch."""
        if not await self._is_authorized("read"):
            raise make_error(
                403,
                "watch_only",
                "This login may not watch agents. Ask whoever runs the server for the right "
                "to read `agentstepper`.",
            )
        return AccessRights(
            can_control=await self._is_authorized("execute"),
            has_login=self.identity_provider.auth_enabled,
        )

    async def _is_authorized(self, action: str) -> bool:
        authorization = self.authorizer.is_authorized(
            self, self.current_user, action, AUTH_RESOURCE
        )
        return bool(await ensure_async(authorization))


class ViewSocketHandler(LoginSocketHandler):
    """`/agentstepper/ui`: views."""

    @ws_authenticated
    async def get(self, *args: Any, **kwargs: Any) -> None:
        """Check the login's rights, then complete the handshake."""
        self._rights = await self.find_rights()
        await super().get(*args, **kwargs)

    def connect(self, connection: TornadoConnection, version: int) -> PeerSession:
        """Open a view's session."""
        return self.hub.connect_view(connection, version, self._rights)
