"""The connection of a remote client to one chat session, by a chat token."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final, Self, TypeVar

from msgspec import Struct

from ...discover import CoreEndpoint, to_websocket_url
from ...errors import CommandError, ConnectionLostError
from ...protocol.chat import SERVICE, ClientAdmission
from ...rpc.backoff import Backoff
from ...rpc.service_client import ServiceClient

Value = TypeVar("Value")

#: The errors of a request while the chat's process, or the client, has no connection to the Core.
_AWAY_CODES: Final = frozenset({"worker_lost", "unknown_service"})
#: Seconds until a chat that is away is asked again: at first, and at most.
_FIRST_DELAY_S: Final = 0.1
_MAX_DELAY_S: Final = 2.0


class ChatConnection(ServiceClient):
    """A connection to one session that reconnects by itself. Made by `dial_session`.

    Attributes:
        admission: The permissions of the token.
    """

    admission: ClientAdmission

    @classmethod
    async def dial_session(cls, address: str, token: str, timeout_s: float) -> Self:
        """Connect; see `AsyncChatClient.connect`."""
        connection = await cls.connect_endpoint(
            CoreEndpoint(to_websocket_url(address), token), SERVICE, timeout_s
        )
        try:
            connection.admission = await connection.call_method("admit", None, ClientAdmission)
        except BaseException:
            await connection.close()
            raise
        return connection

    async def send_command(
        self, method: str, params: Struct, kind: type[Value], *, can_retry: bool = False
    ) -> Value:
        """Call a method that changes the session, at most once.

        Args:
            method: The method's name.
            params: The parameters.
            kind: The class of the answer.
            can_retry: Whether the service detects a repeated call, so that the call may be retried.

        Raises:
            CommandError: The service refused the call.
            ConnectionLostError: The Core can't be reached; or the connection broke, and the call may or
                may not have been executed.
        """
        try:
            return await self.call_method(method, params, kind, can_retry=can_retry)
        except CommandError as error:
            if error.code != "worker_lost":
                raise
            raise ConnectionLostError(
                f"The connection broke before {method!r} was answered: {error.message} "
                "Look at the conversation before you try again."
            ) from None

    async def stream(
        self, method: str, params: Struct, kind: type[Value]
    ) -> AsyncGenerator[Value, None]:
        """Open a stream. After a lost connection the stream is opened again and starts anew.

        Arguments as of `send_command`.

        Raises:
            CommandError: The service refused the call, or the token isn't valid any more.
            ConnectionLostError: The chat can't be reached.
        """
        clock = asyncio.get_running_loop().time
        away, backoff = clock(), Backoff(_FIRST_DELAY_S, _MAX_DELAY_S)
        while True:
            try:
                async with aclosing(super().stream(method, params, kind)) as items:
                    async for item in items:
                        yield item
                        away = clock()
                        backoff.reset()
            except CommandError as error:
                if error.code not in _AWAY_CODES:
                    raise
                if clock() - away > self._timeout_s:
                    raise ConnectionLostError(error.message) from None
            await asyncio.sleep(backoff.next_delay_s())
