"""The ports of the standalone Core: the access check and the handler of each path."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, Final, cast
from weakref import WeakSet

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.protocol import State

from ..discover import CoreTokens
from ..protocol.envelope import MAX_MESSAGE_BYTES
from .access import (
    AGENT_TOKEN,
    CONTROL_TOKEN,
    WORKER_TOKEN,
    AsyncAccessCheck,
    find_chat_id,
    get_bearer_token,
    get_path,
    get_token,
    has_token,
    is_loopback,
    make_chat_check,
    make_logged_check,
    make_metrics_check,
    make_path_check,
    make_program_check,
    make_view_check,
    select_subprotocol,
)
from .connection import VERSION_1_RIGHTS, AccessRights, PeerSession
from .hub import Hub
from .limits import HubLimits
from .runtime import MethodRight
from .runtime_host import RuntimeHost
from .socket_listeners import ACCEPTS_PER_TURN, enlarge_backlog, stop_accepting
from .sockets import FairScheduler, SocketConnection, serve_connection
from .tls_certificate import TlsCertificate, make_tls_options

#: Paths beside the agents' and the UIs': for workers, and for programs that control background agents.
_WORKER_PATH: Final = "/worker"
_RUNTIME_PATH: Final = "/runtime"


class CorePorts:
    """Listens for agents and UIs, on the Core's event loop.

    Args:
        host: The address to listen on. If other machines can reach it, every peer needs a token.
        tokens: The Core's tokens.
        ui_origins: Origins of web pages that may connect as UIs.
        certificate: The TLS certificate of both ports; None: no TLS.
        limits: The time limits for opening and closing, and the size limits of a connection.
        log: Gets one line for each refusal.
    """

    def __init__(
        self,
        host: str,
        tokens: CoreTokens,
        ui_origins: Sequence[str],
        certificate: TlsCertificate | None,
        limits: HubLimits,
        log: logging.Logger,
    ) -> None:
        self._host = host
        self._tokens = tokens
        self._ui_origins = tuple(ui_origins)
        self._certificate = certificate
        self._limits = limits
        self._log = log
        self._is_token_required = not is_loopback(host)
        self._runtime_check = make_program_check((tokens.control,), CONTROL_TOKEN)
        self._servers: list[Server] = []
        self._connections: WeakSet[ServerConnection] = WeakSet()

    async def open_client_port(self, port: int, hub: Hub, host: RuntimeHost) -> int:
        """Listen for agents, and on separate paths for workers, chats and programs that control.

        Args:
            port: The port; 0: any free port.
            hub: Serves agents.
            host: Serves workers, chats and programs.

        Returns:
            The port.

        Raises:
            OSError: The port is in use, or the address isn't this machine's.
        """
        tokens = self._tokens
        others = {
            _WORKER_PATH: make_program_check((tokens.worker,), WORKER_TOKEN),
            _RUNTIME_PATH: self._runtime_check,
        }
        programs = make_program_check(
            (tokens.agent, tokens.control), AGENT_TOKEN, is_token_required=self._is_token_required
        )
        gate = make_chat_check(host.chats, make_path_check(others, programs))
        return await self._serve(
            port,
            make_metrics_check(host.metrics, tokens.control, gate),
            lambda socket: self._on_agents_port(hub, host, socket),
            hub,
        )

    async def open_ui_port(self, port: int, hub: Hub, host: RuntimeHost) -> int:
        """Listen for UIs, and on a path of its own for programs that control; see `open_client_port`."""
        views = make_view_check(
            self._tokens.control, self._ui_origins, is_token_required=self._is_token_required
        )
        gate = make_path_check({_RUNTIME_PATH: self._runtime_check}, views)
        return await self._serve(
            port,
            make_metrics_check(host.metrics, self._tokens.control, gate),
            lambda socket: self._on_ui_port(hub, host, socket),
            hub,
        )

    async def close(self) -> None:
        """Accept no more connections, and close all. Idempotent."""
        await stop_accepting(self._servers)
        for server in self._servers:
            server.close()  # each session has said why by now
        self._abort_silent()
        for server in self._servers:
            await server.wait_closed()
        self._servers.clear()

    def _make_connection(self, *arguments: Any, **options: Any) -> ServerConnection:
        """A connection that is known at once: websockets lists those alone that have shaken hands."""
        connection = ServerConnection(*arguments, **options)
        self._connections.add(connection)
        return connection

    def _abort_silent(self) -> None:
        """Abort connections whose peers have said nothing: a server would wait for them.

        Those that haven't spoken TLS either have no transport yet; the time limit of opening ends them.
        """
        for connection in self._connections:
            is_silent = connection.state is State.CONNECTING and connection.request is None
            if is_silent and hasattr(connection, "transport"):
                connection.transport.abort()

    async def _serve(
        self,
        port: int,
        gate: AsyncAccessCheck,
        connect: Callable[[ServerConnection], PeerSession],
        hub: Hub,
    ) -> int:
        """Listen on a port: returns its number, which is another where `port` is 0."""
        # Two address families would each take a free port of their own.
        host = "127.0.0.1" if self._host == "localhost" and port == 0 else self._host
        server = await serve(
            lambda socket: serve_connection(
                socket, connect(socket), FairScheduler(hub.store.call_when_recorded)
            ),
            host,
            port,
            process_request=make_logged_check(gate, self._log),
            select_subprotocol=select_subprotocol,
            # Only called: the type asks for more.
            create_connection=cast("type[ServerConnection]", self._make_connection),
            compression=None,
            max_size=MAX_MESSAGE_BYTES,
            backlog=ACCEPTS_PER_TURN,
            open_timeout=self._limits.open_timeout_s,
            close_timeout=self._limits.close_timeout_s,
            **make_tls_options(
                self._certificate, self._limits.open_timeout_s, self._limits.close_timeout_s
            ),
            # A busy agent may not answer for long; on this machine the system tells when it is gone.
            ping_timeout=None if is_loopback(self._host) else 60,
        )
        enlarge_backlog(server)
        self._servers.append(server)
        return int(next(iter(server.sockets)).getsockname()[1])

    # The gates have checked the tokens.

    def _on_agents_port(self, hub: Hub, host: RuntimeHost, socket: ServerConnection) -> PeerSession:
        connection = SocketConnection(socket, self._limits.max_backlog_bytes)
        request = connection.request
        path = get_path(request)
        if path == _WORKER_PATH:
            return host.workers.connect(connection)
        if path == _RUNTIME_PATH:
            return host.connect(connection, MethodRight.CONTROL)
        if chat := find_chat_id(path):
            return host.chats.connect(connection, chat, get_bearer_token(request))
        can_control = has_token(request, self._tokens.control)
        rights = AccessRights(can_control, is_local=connection.is_local)
        return hub.connect_agent(connection, connection.version, rights)

    def _on_ui_port(self, hub: Hub, host: RuntimeHost, socket: ServerConnection) -> PeerSession:
        connection = SocketConnection(socket, self._limits.max_backlog_bytes, gathers=True)
        if get_path(connection.request) == _RUNTIME_PATH:
            return host.connect(connection, MethodRight.CONTROL)
        rights = VERSION_1_RIGHTS if get_token(connection.request) is None else AccessRights()
        return hub.connect_view(connection, connection.version, rights)
