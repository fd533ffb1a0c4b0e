"""The Core's end of an RPC connection: the peer says hello, then both sides may send requests."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from .._version import __version__
from ..core.summaries import extract_first_line
from ..errors import ProtocolError
from ..protocol.worker import WORKER_VERSION, WorkerHello, WorkerWelcome, worker_messages
from ..rpc.session import RpcService, RpcSession
from .connection import Connection


class RpcPeerSession:
    """The connection of one RPC peer.

    Args:
        connection: The peer's socket.
        services: The services that the peer may call.
        log: Receives the refusals.
        lost_message: The error message of requests to the peer that its disconnection fails.
        can_control: Whether the peer may change anything. The peer is told; the services enforce it.
        on_hello: Called after the peer's hello.
        on_close: Called after the connection's end.
    """

    def __init__(
        self,
        connection: Connection,
        services: Mapping[str, RpcService],
        log: logging.Logger,
        lost_message: str,
        *,
        can_control: bool = True,
        on_hello: Callable[[WorkerHello], None] = lambda hello: None,
        on_close: Callable[[], None] = lambda: None,
    ) -> None:
        self.connection = connection
        self.rpc_session = RpcSession(connection.send, services, log)
        self._log = log
        self._lost_message = lost_message
        self._can_control = can_control
        self._on_hello = on_hello
        self._on_close: Callable[[], None] | None = on_close
        self._has_sent_hello = False

    def receive(self, text: str) -> None:
        """Handle a text frame."""
        if self._has_sent_hello:
            self.rpc_session.receive(text)
        else:
            self._greet(text)

    def receive_binary(self) -> None:
        """Refuse a binary frame; the connection stays open."""
        self.rpc_session.receive_binary()

    def on_closed(self) -> None:
        """Handle the connection's end. Idempotent."""
        on_close, self._on_close = self._on_close, None
        if on_close is not None:
            on_close()
            self.rpc_session.connection_lost(self._lost_message)

    def _greet(self, text: str) -> None:
        try:
            hello = _hello(text)
        except ProtocolError as error:
            self._log.warning(
                "a worker's or client's message was refused, %s: %s",
                error.code,
                extract_first_line(error.message),
            )
            self.rpc_session.send_error(error)
            return
        self._has_sent_hello = True
        welcome = WorkerWelcome(version=WORKER_VERSION, core=__version__, control=self._can_control)
        self.rpc_session.send_greeting(welcome)
        self._on_hello(hello)


def _hello(text: str) -> WorkerHello:
    _, message = worker_messages.decode(text)
    if not isinstance(message, WorkerHello):
        raise ProtocolError(
            "hello_expected", "The first message on a worker's connection must be hello."
        )
    if message.version != WORKER_VERSION:
        raise ProtocolError(
            "version_mismatch",
            f"The worker speaks version {message.version}, and this Core "
            f"{WORKER_VERSION}. Upgrade the older of the two.",
        )
    return message
