"""The chats that processes serve through a Core, and the clients that connect to the chats.

The Core knows neither the chat's sessions nor its tokens: the Core forwards each client's requests with
the client's token, and the chat's process checks the token each time.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager
from typing import Final, NamedTuple

from msgspec import Raw, Struct

from ..errors import CommandError
from ..protocol.chat import SERVICE, ForwardedRequest, format_remote_service
from ..rpc.session import RpcSession
from .connection import Connection
from .rpc_sessions import RpcPeerSession
from .workers import Workers

#: The most pending admissions of one chat.
MAX_PENDING_ADMISSIONS: Final = 16
#: Seconds that a chat's process has to admit or refuse a client.
_ADMIT_TIMEOUT_S: Final = 10.0
_CLIENT_GONE: Final = "The client has disconnected."
_UNKNOWN_CHAT: Final = (
    "No chat is served at this address: its process has ended, or isn't connected to "
    "this Core. Check that the process runs, and read the address from chat.address."
)
_LOST: Final = (
    "The chat's process ended, or lost its connection to the Core, before it answered. A "
    "process that runs reconnects by itself."
)


class ClientLimits(NamedTuple):
    """The limits of one chat's clients: together below a connection's own limits."""

    #: Clients of one chat.
    max_clients: int = 30
    #: Open requests of each client.
    max_open_requests: int = 32
    #: Bytes of one request.
    max_request_bytes: int = 16 * 1024 * 1024


class ChatRegistry:
    """All chats of one Core. Used on the Core's event loop.

    Args:
        workers: The Core's workers, which include the chats' processes.
        log: Receives the refusals.

    Attributes:
        limits: The limits of clients that connect from now on.
    """

    def __init__(self, workers: Workers, log: logging.Logger) -> None:
        self.limits = ClientLimits()
        self._workers = workers
        self._log = log
        self._clients: set[RpcPeerSession] = set()
        self._clients_of_chat: Counter[str] = Counter()
        #: The number of clients per chat whose admission the chat's process hasn't decided yet.
        self._pending_admissions: Counter[str] = Counter()

    async def admit(self, id: str, token: str) -> None:
        """Ask a chat's process whether a client is admitted.

        Args:
            id: The chat's id, which ends the chat's address.
            token: The client's chat token.

        Raises:
            CommandError: `unknown_service`: there is no such chat; `invalid_token`; `too_many`;
                `worker_lost`: the chat's process doesn't answer.
        """
        chat = ForwardedChatService(self._workers, id, token, self.limits)
        limit = self.limits.max_clients
        if self._clients_of_chat[id] >= limit:
            raise CommandError(
                "too_many", f"This chat has its limit of {limit} clients. Close one of them."
            )
        if self._pending_admissions[id] >= MAX_PENDING_ADMISSIONS:
            raise CommandError(
                "too_many", "Too many clients connect to this chat at once. Try again."
            )
        self._pending_admissions[id] += 1
        try:
            async with asyncio.timeout(_ADMIT_TIMEOUT_S):
                await chat.call("admit", Raw(b"null"))
        except TimeoutError:
            raise CommandError(
                "worker_lost",
                f"The chat's process didn't answer within {_ADMIT_TIMEOUT_S:g} seconds. Try again.",
            ) from None
        finally:
            self._pending_admissions[id] -= 1
            self._pending_admissions += Counter()  # forgets those with none

    def connect(self, connection: Connection, id: str, token: str) -> RpcPeerSession:
        """Open the session of a client that connected.

        Args:
            connection: The client's socket.
            id: The chat's id, which ends the chat's address.
            token: The client's chat token.
        """
        session = RpcPeerSession(
            connection,
            {SERVICE: ForwardedChatService(self._workers, id, token, self.limits)},
            self._log,
            _CLIENT_GONE,
            on_close=lambda: self._remove_client(session, id),
        )
        self._clients.add(session)
        self._clients_of_chat[id] += 1
        return session

    def close(self) -> None:
        """Close every client's connection."""
        for session in list(self._clients):
            session.connection.close(1001, "The Core is stopping.")

    def _remove_client(self, session: RpcPeerSession, id: str) -> None:
        self._clients.discard(session)
        self._clients_of_chat[id] -= 1
        self._clients_of_chat += Counter()  # forgets those with none


class ForwardedChatService:
    """A chat's service for one client; see `rpc.session.RpcService`.

    Args:
        workers: The Core's workers.
        id: The chat's id, which ends the chat's address.
        token: The client's chat token.
        limits: The client's limits.
    """

    def __init__(self, workers: Workers, id: str, token: str, limits: ClientLimits) -> None:
        self._limits = limits
        self._workers = workers
        self._service = format_remote_service(id)
        self._token = token
        self._open = 0

    async def call(self, method: str, params: Raw) -> Raw:
        """Answer once; see `RpcService.call`."""
        with self._forward(params) as (rpc_session, forwarded):
            return await rpc_session.call(self._service, method, forwarded)

    async def stream(self, method: str, params: Raw) -> AsyncGenerator[Struct | Raw, None]:
        """Answer with items; see `RpcService.stream`."""
        with self._forward(params) as (rpc_session, forwarded):
            async with aclosing(rpc_session.stream(self._service, method, forwarded)) as items:
                async for item in items:
                    yield item

    async def close(self) -> None:
        """Do nothing at the Core's end."""

    @contextmanager
    def _forward(self, params: Raw) -> Iterator[tuple[RpcSession, ForwardedRequest]]:
        """Yield the session and the request to forward, within the client's limits."""
        rpc_session = self._workers.find(self._service)
        if rpc_session is None:
            raise CommandError("unknown_service", _UNKNOWN_CHAT)
        limits = self._limits
        if self._open >= limits.max_open_requests:
            raise CommandError(
                "too_many",
                f"This client has its limit of {limits.max_open_requests} open requests. Wait "
                "until some are answered.",
            )
        asked = bytes(params)
        if len(asked) > limits.max_request_bytes:
            raise CommandError(
                "too_large",
                f"The request has {len(asked)} bytes, and a chat accepts "
                f"{limits.max_request_bytes} at most. Shorten the request.",
            )
        self._open += 1
        try:
            yield rpc_session, ForwardedRequest(token=self._token, params=params)
        except CommandError as error:
            if error.code == "worker_lost":
                raise CommandError("worker_lost", _LOST) from None
            raise
        finally:
            self._open -= 1
