"""The Core's service `runtime`, as one connection is served it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final

import msgspec
from msgspec import Raw, Struct

from ...errors import CommandError, StoreError
from ...protocol.forms import wrong_form
from ...protocol.runtime_methods import CALLS, STREAMS, Method, Request, Result, Right
from ...protocol.runtime_wire import Wakes
from .runtime import Runtime


class RuntimeService:
    """What one connection may ask of the runtime.

    Args:
        runtime: The runtime.
        right: What this connection may do.

    Attributes:
        owners: Who has read `wakes` here: the workers at the other end.
    """

    def __init__(self, runtime: Runtime, right: Right) -> None:
        self.owners: set[str] = set()
        self._runtime = runtime
        self._right = right

    async def call(self, method: str, params: Raw) -> Struct | None:
        """Answer once.

        Raises:
            CommandError: `unknown_service`: there is no such method; `watch_only`; `store_failed`: a
                full disk, say; the runtime's.
            ProtocolError: `invalid_message`: a parameter has another form; the runtime's.
        """
        known = CALLS.get(method)
        if known is None:
            raise _unknown(method)
        ask = self._read(known, params)
        try:
            answer: Struct | None = await getattr(self._runtime, method)(ask)
        except StoreError as error:
            raise CommandError("store_failed", str(error)) from error
        return answer

    async def stream(self, method: str, params: Raw) -> AsyncGenerator[Struct, None]:
        """Answer with items; errors as `call`."""
        known = STREAMS.get(method)
        if known is None:
            raise _unknown(method)
        ask = self._read(known, params)
        if isinstance(ask, Wakes):
            self.owners.add(ask.owner)
        async with aclosing(getattr(self._runtime, method)(ask)) as items:
            async for item in items:
                yield item

    async def close(self) -> None:
        """The connection is gone: the workers that were at its other end may come back."""
        for owner in self.owners:
            await self._runtime.left(owner, dead=False)

    def _read(self, method: Method[Request, Result], params: Raw) -> Request:
        if self._right < method.right:
            raise CommandError("watch_only", _MAY_NOT[method.right])
        try:
            return msgspec.json.decode(params, type=method.request)
        except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
            raise wrong_form(error) from None


_MAY_NOT: Final = {
    Right.CONTROL: (
        "This connection may watch, not control: that takes a login that may execute, or the "
        "server's control token."
    ),
    Right.WORK: "Only workers may ask this: it takes the token of the workers.",
}


def _unknown(method: str) -> CommandError:
    known = ", ".join((*CALLS, *STREAMS))
    return CommandError(
        "unknown_service", f"The runtime has no method {method[:80]!r}; it has: {known}."
    )
