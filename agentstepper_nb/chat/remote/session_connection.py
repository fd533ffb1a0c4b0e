"""How a client from outside asks one chat session, by its token."""

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

#: How a request ends where the chat's process is away from its Core, or the client from it.
_AWAY_CODES: Final = frozenset({"worker_lost", "unknown_service"})
#: Seconds until a chat that is away is asked again: at first, and at most.
_FIRST_DELAY_S: Final = 0.1
_MAX_DELAY_S: Final = 2.0


class ChatConnection(ServiceClient):
    """One session, wherever the connections stand. Made by `dial_session`.

    Attributes:
        admitted: What the token lets its bearer do.
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
        """Ask for what changes something; once.

        Args:
            method: What.
            params: With what.
            kind: The answer's class.
            can_retry: Whether it is known there, where it comes twice.

        Raises:
            CommandError: It was refused.
            ConnectionLostError: The Core is away; or it broke off, and nobody knows whether it was done.
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
        """Ask for a stream. Where it breaks off, it is asked for again, and so begins again. Arguments
        as `ask`.

        Raises:
            CommandError: It was refused, or the token counts no longer.
            ConnectionLostError: The chat is away.
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
