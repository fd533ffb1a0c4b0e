"""A store at the other end of a line: the proxy that asks, and what answers there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, Protocol, TypeVar

import msgspec
from msgspec import Raw, Struct

from ...errors import AgentStepperError, CommandError, ProtocolError, StoreError
from ...protocol.runtime import Conversation, Cursor, Participant
from ...protocol.runtime_asks import (
    ActionQuery,
    Actions,
    Adopt,
    Claim,
    Claimed,
    ConversationQuery,
    Conversations,
    Create,
    Created,
    CursorAt,
    CursorQuery,
    Enqueue,
    Leave,
    MessageQuery,
    Messages,
    ParticipantQuery,
    Participants,
    Post,
    Release,
    Renew,
    Renewed,
    RuntimeStoreInfo,
    Sessions,
    SessionsOf,
    StateQuery,
    States,
    StepQuery,
    Steps,
    Write,
    Written,
)
from .base import METHODS, RuntimeStore

#: Times that what was lost on its way is asked for again.
_AGAIN: Final = 3
#: What isn't: who wants work asks on by itself, where it isn't gone with the store.
_ONCE: Final = frozenset({"claim", "adopt"})

Value = TypeVar("Value")


class Ask(Protocol):
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


async def answer(store: RuntimeStore, method: str, params: Raw) -> Struct | None:
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
        raise CommandError("unknown_service", f"The runtime's store has no {method[:80]!r}.")
    asked: Callable[..., Awaitable[Struct | None]] = getattr(store, method)
    values = () if known.params is None else (_read(params, known.params),)
    try:
        return await asked(*values)
    except StoreError as error:
        raise CommandError("store_failed", str(error)) from error


def _read(params: Raw, kind: type[Value]) -> Value:
    try:
        return msgspec.json.decode(params, type=kind)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise ProtocolError("invalid_message", f"{error}.") from None


class RemoteRuntimeStore:
    """A `RuntimeStore` that asks another, which a line leads to. Closing it closes neither.

    Each method raises what the other's does, and `worker_lost` where the line broke before the answer
    came, and broke again each time that it was asked again.

    Args:
        ask: Asks the other.
    """

    def __init__(self, ask: Ask) -> None:
        self._line = ask

    async def _ask(self, method: str, params: Struct | None, kind: type[Value]) -> Value:
        """Ask, and ask again where who has the store was lost: what was done then isn't done twice."""
        for _ in range(0 if method in _ONCE else _AGAIN):
            try:
                return await self._ask_once(method, params, kind)
            except CommandError as error:
                if error.code != "worker_lost":
                    raise
        return await self._ask_once(method, params, kind)

    async def _ask_once(self, method: str, params: Struct | None, kind: type[Value]) -> Value:
        try:
            return await self._line(method, params, kind)
        except CommandError as error:
            if error.code == "store_failed":
                raise StoreError(error.message) from error
            raise
        except (ValueError, TypeError, RecursionError) as error:  # it can't travel
            if isinstance(error, AgentStepperError):
                raise
            raise StoreError(
                f"A value can't be kept: {error}. Send one that JSON can carry."
            ) from error

    # ---- the queue ----------------------------------------------------------------------------------

    async def create(self, ask: Create) -> Created:
        """Ask `create`."""
        return await self._ask("create", ask, Created)

    async def enqueue(self, ask: Enqueue) -> Actions:
        """Ask `enqueue`."""
        return await self._ask("enqueue", ask, Actions)

    async def claim(self, ask: Claim) -> Claimed:
        """Ask `claim`."""
        return await self._ask("claim", ask, Claimed)

    async def renew(self, ask: Renew) -> Renewed:
        """Ask `renew`."""
        return await self._ask("renew", ask, Renewed)

    async def adopt(self, ask: Adopt) -> States:
        """Ask `adopt`."""
        return await self._ask("adopt", ask, States)

    async def release(self, ask: Release) -> None:
        """Ask `release`."""
        await self._ask("release", ask, type(None))

    async def write(self, ask: Write) -> Written:
        """Ask `write`."""
        return await self._ask("write", ask, Written)

    # ---- conversations ------------------------------------------------------------------------------

    async def save_conversation(self, ask: Conversation) -> Conversation:
        """Ask `save_conversation`."""
        return await self._ask("save_conversation", ask, Conversation)

    async def join(self, ask: Participant) -> Participant:
        """Ask `join`."""
        return await self._ask("join", ask, Participant)

    async def leave(self, ask: Leave) -> Participant:
        """Ask `leave`."""
        return await self._ask("leave", ask, Participant)

    async def post(self, ask: Post) -> Written:
        """Ask `post`."""
        return await self._ask("post", ask, Written)

    async def advance(self, ask: Cursor) -> Cursor:
        """Ask `advance`."""
        return await self._ask("advance", ask, Cursor)

    # ---- reading ------------------------------------------------------------------------------------

    async def actions(self, ask: ActionQuery) -> Actions:
        """Ask `actions`."""
        return await self._ask("actions", ask, Actions)

    async def states(self, ask: StateQuery) -> States:
        """Ask `states`."""
        return await self._ask("states", ask, States)

    async def steps(self, ask: StepQuery) -> Steps:
        """Ask `steps`."""
        return await self._ask("steps", ask, Steps)

    async def sessions(self, ask: SessionsOf) -> Sessions:
        """Ask `sessions`."""
        return await self._ask("sessions", ask, Sessions)

    async def conversations(self, ask: ConversationQuery) -> Conversations:
        """Ask `conversations`."""
        return await self._ask("conversations", ask, Conversations)

    async def participants(self, ask: ParticipantQuery) -> Participants:
        """Ask `participants`."""
        return await self._ask("participants", ask, Participants)

    async def messages(self, ask: MessageQuery) -> Messages:
        """Ask `messages`."""
        return await self._ask("messages", ask, Messages)

    async def cursor(self, ask: CursorQuery) -> CursorAt:
        """Ask `cursor`."""
        return await self._ask("cursor", ask, CursorAt)

    async def info(self) -> RuntimeStoreInfo:
        """Ask `info`."""
        return await self._ask("info", None, RuntimeStoreInfo)

    async def close(self) -> None:
        """Nothing: whoever has the store closes it."""
