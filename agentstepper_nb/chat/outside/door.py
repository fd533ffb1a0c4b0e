"""The way into a chat from outside: its process dials the Core, and clients come to the Core's port."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
from typing import TYPE_CHECKING, Final

from ... import discover
from ...protocol.chat import outside_service
from ...rpc.dialing import open_line
from ...rpc.reconnecting import KeptConnection
from .service import OutsideService
from .tokens import TokenDesk

if TYPE_CHECKING:
    from ..interpreter import Interpreter

#: Bytes of what an address can't be guessed by.
_ID_BYTES: Final = 16
#: Tokens for workers that were found in the environment: they are taken out of there, once.
_inherited: Final[dict[str, str]] = {}

#: Its own, so that what it notes goes to who set up logging, and not below some cell.
_log: Final = logging.getLogger("agentstepper_nb.chat.outside.door")
_log.addHandler(logging.NullHandler())


class Outside:
    """Lets clients into an interpreter's sessions by tokens, once it is opened. Used on its event loop.

    No port is opened. The Core is dialled as workers do, and again where the connection breaks; it hands
    on what clients ask, and every request's token is checked here.

    Args:
        interpreter: The interpreter.
        tokens: Issues and checks the tokens.
        log: Gets a line for each connection.

    Attributes:
        tokens: Issues and checks the tokens.
    """

    def __init__(
        self, interpreter: Interpreter, tokens: TokenDesk, log: logging.Logger = _log
    ) -> None:
        self.tokens = tokens
        self._log = log
        self._id = secrets.token_urlsafe(_ID_BYTES)
        self._services = {outside_service(self._id): OutsideService(interpreter, tokens)}
        self._address: str | None = None
        self._connection: KeptConnection | None = None
        self._opening = asyncio.Lock()

    @property
    def address(self) -> str | None:
        """Where clients come to; None where it wasn't opened."""
        return self._address

    async def open(self) -> str:
        """Be reachable from now on. Nothing where it is already, or comes back by itself.

        Returns:
            Where clients come to.

        Raises:
            DiscoveryError: There is no Core, or there are several.
            ConnectionLostError: It can't be reached now, or doesn't take this connection.
        """
        async with self._opening:
            if self._connection is None or self._connection.life.done():
                await self._dial()
            assert self._address is not None
            return self._address

    async def close(self) -> None:
        """Let nobody in any more, and end what clients have under way. Idempotent."""
        async with self._opening:
            connection, self._connection = self._connection, None
            self._address = None
            if connection is not None:
                await connection.close()

    async def _dial(self) -> None:
        first = _endpoint(discover.worker_endpoint())
        opened = await open_line(first, self._services, self._log)

        def find() -> discover.Endpoint:
            """Where it is, by the token of today: it may have been started again."""
            return _endpoint(discover.worker_endpoint(first.url))

        self._connection = KeptConnection(opened, find, self._services, self._log)
        self._connection.life.add_done_callback(self._ended)
        self._address = discover.chat_url(first.url, self._id)

    def _ended(self, life: asyncio.Task[None]) -> None:
        if not life.cancelled() and (error := life.exception()) is not None:
            self._log.warning("nobody gets into this chat from outside any more: %s", error)


def _endpoint(found: discover.Endpoint) -> discover.Endpoint:
    """The same, with the token that the environment had for it before."""
    if found.token is None:
        return discover.Endpoint(found.url, _inherited.get(found.url))
    if os.environ.get(discover.WORKER_URL_VARIABLE):
        _inherited[found.url] = found.token
    return found
