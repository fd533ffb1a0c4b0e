"""A Core's end of sockets, as a test wants it: it greets, refuses, or isn't there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.http11 import Request, Response

from agentstepper_nb.discover import CoreEndpoint
from agentstepper_nb.hub.rpc_sessions import RpcPeerSession
from agentstepper_nb.hub.socket_listeners import stop_accepting
from agentstepper_nb.hub.sockets import FairScheduler, SocketConnection, serve_connection
from agentstepper_nb.rpc.session import RpcService
from tests.worker.worker_pair import LOG, EchoService

#: What a test's Core answers a handshake with; None: it takes it.
RefuseHandler = Callable[[ServerConnection, Request], Response | None]


def refuse(status: int, text: str) -> RefuseHandler:
    """Answer each handshake so."""
    return lambda connection, request: connection.respond(HTTPStatus(status), text)


class WorkerPortCore:
    """Listens on a port that stays its own.

    Args:
        services: What it serves; an echo where nothing is given.

    Attributes:
        echo: What it serves.
        tokens: What came as `Authorization`, in order.
        refuse: What handshakes are answered with.
        greets: Whether it answers hello as it should, else by this text.
    """

    def __init__(self, services: Mapping[str, RpcService] | None = None) -> None:
        self.echo = EchoService()
        self._services = services or {"echo": self.echo}
        self.tokens: list[str | None] = []
        self.refuse: RefuseHandler = lambda connection, request: None
        self.greets: str | None = None
        self.sessions: list[RpcPeerSession] = []
        self.arrived = asyncio.Event()
        self._server: Server | None = None
        self.port = 0

    @property
    def endpoint(self) -> CoreEndpoint:
        return CoreEndpoint(f"ws://127.0.0.1:{self.port}/worker", "the token")

    async def start(self) -> None:
        self._server = await serve(self._serve, "127.0.0.1", self.port, process_request=self._check)
        self.port = next(iter(self._server.sockets)).getsockname()[1]

    async def stop(self) -> None:
        assert self._server is not None
        await stop_accepting([self._server])
        self._server.close(reason="The Core is stopping.")
        await self._server.wait_closed()

    async def __aenter__(self) -> WorkerPortCore:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def connected(self) -> RpcPeerSession:
        """Wait for the next connection that has greeted."""
        await self.arrived.wait()
        self.arrived.clear()
        return self.sessions[-1]

    def _check(self, connection: ServerConnection, request: Request) -> Response | None:
        self.tokens.append(request.headers.get("Authorization"))
        return self.refuse(connection, request)

    async def _serve(self, socket: ServerConnection) -> None:
        if self.greets is not None:
            await socket.recv()
            await socket.send(self.greets)
            await socket.wait_closed()
            return
        session = RpcPeerSession(
            SocketConnection(socket), self._services, LOG, "gone", on_hello=self._hello
        )
        self.sessions.append(session)
        await serve_connection(socket, session, FairScheduler())

    def _hello(self, hello: Any) -> None:
        self.hello = hello
        self.arrived.set()
