"""The chats that processes serve through a Core, and the clients that come to them from outside.

The Core knows neither sessions nor tokens: it hands on what a client asks, with the client's token, and
the chat's process checks that each time.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager
from typing import Final

from msgspec import Raw, Struct

from ..errors import CommandError
from ..protocol.chat import SERVICE, ForwardedRequest, format_remote_service
from ..rpc.session import RpcSession
from .connection import Connection
from .rpc_sessions import RpcPeerSession
from .workers import Workers

#: Clients of one chat, and what each may have open there: together less than a line may.
MAX_CLIENTS: Final = 30
MAX_OPEN_REQUESTS: Final = 32
#: Bytes of what a client asks with.
MAX_REQUEST_BYTES: Final = 16 * 1024 * 1024
#: Who may be asked about at once, of one chat.
MAX_PENDING_ADMISSIONS: Final = 16
#: Seconds that a chat's process has to say whether a client may come in.
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


class ChatRegistry:
    """All chats of one Core. Used on the Core's event loop.

    Args:
        workers: The Core's workers: chats' processes are among them.
        log: Gets what was refused.
    """

    def __init__(self, workers: Workers, log: logging.Logger) -> None:
        self._workers = workers
        self._log = log
        self._clients: set[RpcPeerSession] = set()
        self._clients_of_chat: Counter[str] = Counter()
        #: Those that a chat's process is asked about just now: nobody knows yet who they are.
        self._pending_admissions: Counter[str] = Counter()

    async def admit(self, id: str, token: str) -> None:
        """Ask a chat's process whether a client may come in.

        Args:
            id: What the chat's address ends with.
            token: The client's.

        Raises:
            CommandError: `unknown_service`: there is no such chat; `invalid_token`; `too_many`;
                `worker_lost`: its process doesn't answer.
        """
        chat = ForwardedChatService(self._workers, id, token)
        if self._clients_of_chat[id] >= MAX_CLIENTS:
            raise CommandError(
                "too_many", f"This chat has its limit of {MAX_CLIENTS} clients. Close one of them."
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
                "The chat's process didn't answer within {_ADMIT_TIMEOUT_S:g} seconds. Try again.",
            ) from None
        finally:
            self._pending_admissions[id] -= 1
            self._pending_admissions += Counter()  # forgets those with none

    def connect(self, connection: Connection, id: str, token: str) -> RpcPeerSession:
        """A client connected.

        Args:
            connection: Its socket.
            id: What the chat's address ends with.
            token: The client's.
        """
        session = RpcPeerSession(
            connection,
            {SERVICE: ForwardedChatService(self._workers, id, token)},
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
    """A chat, as one client asks it; see `rpc.session.RpcService`.

    Args:
        workers: The Core's workers.
        id: What the chat's address ends with.
        token: The client's.
    """

    def __init__(self, workers: Workers, id: str, token: str) -> None:
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
        """The Core ends."""

    @contextmanager
    def _forward(self, params: Raw) -> Iterator[tuple[RpcSession, ForwardedRequest]]:
        """Where to ask and what, within the bounds."""
        rpc_session = self._workers.find(self._service)
        if rpc_session is None:
            raise CommandError("unknown_service", _UNKNOWN_CHAT)
        if self._open >= MAX_OPEN_REQUESTS:
            raise CommandError(
                "too_many",
                f"This client has its limit of {MAX_OPEN_REQUESTS} open requests. Wait "
                "until some are answered.",
            )
        asked = bytes(params)
        if len(asked) > MAX_REQUEST_BYTES:
            raise CommandError(
                "too_large",
                f"The request has {len(asked)} bytes, and a chat accepts "
                f"{MAX_REQUEST_BYTES} at most. Shorten the request.",
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
