"""The Core's service `runtime` for one connection."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final

import msgspec
from msgspec import Raw, Struct

from ... import typed_json
from ...errors import CommandError, StoreError
from ...protocol.field_errors import make_field_error
from ...protocol.runtime_methods import CALLS, STREAMS, MethodRight, Request, Result, RuntimeMethod
from ...protocol.runtime_requests import SubscribeWakes
from .runtime import Runtime


class RuntimeService:
    """The runtime's service for one connection.

    Args:
        runtime: The runtime.
        right: The connection's right.

    Attributes:
        owners: The workers at the other end, which have read `wakes` on this connection.
    """

    def __init__(self, runtime: Runtime, right: MethodRight) -> None:
        self.owners: set[str] = set()
        self._runtime = runtime
        self._right = right

    async def call(self, method: str, params: Raw) -> Struct | None:
        """Answer a request once.

        Raises:
            CommandError: `unknown_service`: there is no such method; `watch_only`; `store_failed`:
                for example, a full disk; the runtime's errors.
            ProtocolError: `invalid_message`: a parameter has another form; the runtime's errors.
        """
        known = CALLS.get(method)
        if known is None:
            raise _unknown(method)
        request = self._read(known, params)
        try:
            answer: Struct | None = await getattr(self._runtime, method)(request)
        except StoreError as error:
            raise CommandError("store_failed", str(error)) from error
        return answer

    async def stream(self, method: str, params: Raw) -> AsyncGenerator[Struct, None]:
        """Answer with items; errors as `call`."""
        known = STREAMS.get(method)
        if known is None:
            raise _unknown(method)
        request = self._read(known, params)
        if isinstance(request, SubscribeWakes):
            self.owners.add(request.owner)
        async with aclosing(getattr(self._runtime, method)(request)) as items:
            async for item in items:
                yield item

    async def close(self) -> None:
        """Handle the connection's end: the workers at its other end may come back."""
        for owner in self.owners:
            await self._runtime.worker_disconnected(owner)

    def _read(self, method: RuntimeMethod[Request, Result], params: Raw) -> Request:
        if self._right < method.right:
            raise CommandError("watch_only", _MAY_NOT[method.right])
        try:
            return typed_json.decode(params, method.request)
        except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
            raise make_field_error(error) from None


_MAY_NOT: Final = {
    MethodRight.CONTROL: (
        "This connection may watch agents, but not control them. Log in with the right "
        "to execute, or send the server's control token."
    ),
    MethodRight.WORK: "Only workers may send this request. Send the worker token.",
}


def _unknown(method: str) -> CommandError:
    known = ", ".join((*CALLS, *STREAMS))
    return CommandError(
        "unknown_service", f"The runtime has no method {method[:80]!r}. Its methods are: {known}."
    )
