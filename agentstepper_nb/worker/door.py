"""The Core, as whoever is connected asks it: over the line that stands just now."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TypeVar

import msgspec
from msgspec import Raw, Struct

from ..errors import CommandError, ProtocolError
from .line import Line

Value = TypeVar("Value")


class Door:
    """Asks the Core; see `service.CoreDoor`. Lines come and go, the door stays.

    Attributes:
        away: Why there is no connection, where there is none.
        breaks: How many have broken.
    """

    def __init__(self) -> None:
        self.away = "There is no connection to the Core yet."
        self.breaks = 0
        self._line: Line | None = None
        self._connected = asyncio.Event()

    def open(self, line: Line) -> None:
        """There is a connection from now on.

        Args:
            line: Its.
        """
        self._line = line
        self._connected.set()

    def shut(self) -> None:
        """There is none any more. Idempotent."""
        self.away = "The connection to the Core is gone."
        self.breaks += 1
        self._line = None
        self._connected.clear()

    @property
    def is_open(self) -> bool:
        """Whether there is a connection."""
        return self._line is not None

    async def connected(self) -> None:
        """Wait until there is a connection; at once where there is one."""
        await self._connected.wait()

    async def call(
        self, service: str, method: str, params: Struct | None, kind: type[Value]
    ) -> Value:
        """Ask for a result; see `service.CoreDoor`."""
        return _read(await self._present().call(service, method, params), kind)

    async def stream(
        self, service: str, method: str, params: Struct | None, kind: type[Value]
    ) -> AsyncGenerator[Value, None]:
        """Ask for a stream of items; see `service.CoreDoor`."""
        async with aclosing(self._present().stream(service, method, params)) as items:
            async for item in items:
                yield _read(item, kind)

    def _present(self) -> Line:
        if self._line is None:
            raise CommandError("worker_lost", self.away)
        return self._line


def _read(value: Raw, kind: type[Value]) -> Value:
    try:
        return msgspec.json.decode(value, type=kind)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise ProtocolError(
            "invalid_message",
            f"The Core's answer can't be read, are both of one version? It says: {error}.",
        ) from None
