"""A store at the other end of a line: the proxy that asks, and what answers there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any, Final, Protocol, TypeVar

import msgspec
from msgspec import Raw, Struct

from ...errors import AgentStepperError, CommandError, ProtocolError, StoreError
from ...protocol import runtime_methods as methods
from ...protocol.runtime_methods import Params, Result, RuntimeMethod
from ...protocol.runtime_store_messages import RuntimeStoreInfo
from .base import METHODS, RuntimeStore

#: Times that what was lost on its way is asked for again.
_MAX_RETRIES: Final = 3
#: What isn't: who wants work asks on by itself, where it isn't gone with the store.
_NOT_RETRIED_METHODS: Final = (methods.CLAIM, methods.ADOPT)

Value = TypeVar("Value")


class StoreRequester(Protocol):
    """Asks whoever has the store."""

    def __call__(
        self, method: str, params: Struct | None, kind: type[Value], /
    ) -> Awaitable[Value]:
        """Ask for a result.

        Args:
            method: One of `METHODS`.
            params: With what.
            kind: The answer's class; `type(None)` where there is none.
        """


async def answer_request(store: RuntimeStore, method: str, params: Raw) -> Struct | None:
    """Answer what a `RemoteRuntimeStore` asks.

    Args:
        store: Whom it means.
        method: What it asks.
        params: With what, as JSON.

    Raises:
        CommandError: `unknown_service`: a store has no such method; `store_failed`: a `StoreError`, for
            the other end; else as the store's.
        ProtocolError: `invalid_message`: the parameters aren't that method's.
    """
    known = METHODS.get(method)
    if known is None:
        raise CommandError("unknown_service", f"The runtime store has no method {method[:80]!r}.")
    handler: Callable[..., Awaitable[Struct | None]] = getattr(store, method)
    values = () if known.request is type(None) else (_decode_params(params, known.request),)
    try:
        return await handler(*values)
    except StoreError as error:
        raise CommandError("store_failed", str(error)) from error


def _decode_params(params: Raw, kind: type[Value]) -> Value:
    try:
        return msgspec.json.decode(params, type=kind)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise ProtocolError("invalid_message", f"{error}.") from None


class RemoteRuntimeStore:
    """A `RuntimeStore` that asks another, which a line leads to. Closing it closes neither.

    It has each method of `METHODS`. A method raises what the other's does, and `worker_lost` where the
    line broke before the answer came, and broke again each time that the method was asked again.

    Args:
        requester: Asks the other.
    """

    def __init__(self, requester: StoreRequester) -> None:
        self._requester = requester
        self.create = self._make_method(methods.CREATE)
        self.enqueue = self._make_method(methods.ENQUEUE)
        self.claim = self._make_method(methods.CLAIM)
        self.renew = self._make_method(methods.RENEW)
        self.adopt = self._make_method(methods.ADOPT)
        self.release = self._make_method(methods.RELEASE)
        self.write = self._make_method(methods.WRITE)
        self.save_conversation = self._make_method(methods.SAVE_CONVERSATION)
        self.join = self._make_method(methods.ADD_PARTICIPANT)
        self.leave = self._make_method(methods.END_PARTICIPANT)
        self.post = self._make_method(methods.POST)
        self.advance = self._make_method(methods.ADVANCE)
        self.actions = self._make_method(methods.ACTIONS)
        self.states = self._make_method(methods.STATES)
        self.steps = self._make_method(methods.STEPS)
        self.sessions = self._make_method(methods.SESSIONS)
        self.conversations = self._make_method(methods.CONVERSATIONS)
        self.participants = self._make_method(methods.PARTICIPANTS)
        self.messages = self._make_method(methods.MESSAGES)
        self.cursor = self._make_method(methods.CURSOR)

    async def info(self) -> RuntimeStoreInfo:
        """Where the other keeps, and how much is open."""
        return await self._request(methods.INFO, None)

    async def close(self) -> None:
        """Nothing: whoever has the store closes it."""

    def _make_method(
        self, method: RuntimeMethod[Params, Result]
    ) -> Callable[[Params], Coroutine[Any, Any, Result]]:
        """A method of the table, as a method of this store."""
        return partial(self._request, method)

    async def _request(self, method: RuntimeMethod[Params, Result], params: Params) -> Result:
        """Ask, and ask again where who has the store was lost: what was done then isn't done twice."""
        for _ in range(0 if method in _NOT_RETRIED_METHODS else _MAX_RETRIES):
            try:
                return await self._request_once(method, params)
            except CommandError as error:
                if error.code != "worker_lost":
                    raise
        return await self._request_once(method, params)

    async def _request_once(self, method: RuntimeMethod[Params, Result], params: Params) -> Result:
        try:
            return await self._requester(method.name, params, method.result)
        except CommandError as error:
            if error.code == "store_failed":
                raise StoreError(error.message) from error
            raise
        except (ValueError, TypeError, RecursionError) as error:  # it can't travel
            if isinstance(error, AgentStepperError):
                raise
            raise StoreError(
                f"The value can't be stored: {error}. Send a value that JSON can carry."
            ) from error
