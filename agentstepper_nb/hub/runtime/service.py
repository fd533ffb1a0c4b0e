"""The Core's service `runtime`, as one connection is served it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from enum import IntEnum
from typing import Any, Final, NamedTuple, TypeVar

import msgspec
from msgspec import Raw, Struct

from ...errors import CommandError, StoreError
from ...protocol.forms import wrong_form
from ...protocol.runtime import Cursor, Participant
from ...protocol.runtime_asks import (
    ActionQuery,
    Adopt,
    Claim,
    ConversationQuery,
    CursorQuery,
    MessageQuery,
    ParticipantQuery,
    Release,
    Renew,
    SessionsOf,
    StateQuery,
    StepQuery,
    Write,
)
from ...protocol.runtime_wire import (
    AskStatus,
    LeaveConversation,
    NewAction,
    NewConversation,
    NewMessage,
    NewParticipant,
    ReadOn,
    RuntimeStatus,
    SetConversation,
    Wakes,
    WatchTopic,
)
from .runtime import Runtime

Form = TypeVar("Form")


class Right(IntEnum):
    """What a connection may do; each may do what those before it may."""

    WATCH = 1
    CONTROL = 2
    WORK = 3


class _Call(NamedTuple):
    right: Right
    form: type[Struct]
    do: Callable[[Runtime, Any], Awaitable[Struct | None]]


class _Stream(NamedTuple):
    right: Right
    form: type[Struct]
    read: Callable[[Runtime, Any], AsyncGenerator[Struct, None]]


async def _leave(runtime: Runtime, ask: LeaveConversation) -> Participant:
    return await runtime.leave(ask.conversation_id, ask.participant_id)


async def _status(runtime: Runtime, ask: AskStatus) -> RuntimeStatus:
    return await runtime.status()


#: What is answered once, by its name.
CALLS: Final = {
    "actions": _Call(Right.WATCH, ActionQuery, Runtime.actions),
    "states": _Call(Right.WATCH, StateQuery, Runtime.states),
    "steps": _Call(Right.WATCH, StepQuery, Runtime.steps),
    "sessions": _Call(Right.WATCH, SessionsOf, Runtime.sessions),
    "conversations": _Call(Right.WATCH, ConversationQuery, Runtime.conversations),
    "participants": _Call(Right.WATCH, ParticipantQuery, Runtime.participants),
    "messages": _Call(Right.WATCH, MessageQuery, Runtime.messages),
    "cursor": _Call(Right.WATCH, CursorQuery, Runtime.cursor),
    "status": _Call(Right.WATCH, AskStatus, _status),
    "act": _Call(Right.CONTROL, NewAction, Runtime.act),
    "create_conversation": _Call(Right.CONTROL, NewConversation, Runtime.create_conversation),
    "set_conversation": _Call(Right.CONTROL, SetConversation, Runtime.set_conversation),
    "join": _Call(Right.CONTROL, NewParticipant, Runtime.join),
    "leave": _Call(Right.CONTROL, LeaveConversation, _leave),
    "say": _Call(Right.CONTROL, NewMessage, Runtime.say),
    "read_on": _Call(Right.CONTROL, ReadOn, Runtime.read_on),
    "advance": _Call(Right.CONTROL, Cursor, Runtime.advance),
    "claim": _Call(Right.WORK, Claim, Runtime.claim),
    "renew": _Call(Right.WORK, Renew, Runtime.renew),
    "adopt": _Call(Right.WORK, Adopt, Runtime.adopt),
    "release": _Call(Right.WORK, Release, Runtime.release),
    "write": _Call(Right.WORK, Write, Runtime.write),
}

#: What is answered by a stream.
STREAMS: Final = {
    "watch": _Stream(Right.WATCH, WatchTopic, Runtime.watch),
    "wakes": _Stream(Right.WORK, Wakes, Runtime.wakes),
}


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
        ask = self._read(known.right, known.form, params)
        try:
            return await known.do(self._runtime, ask)
        except StoreError as error:
            raise CommandError("store_failed", str(error)) from error

    async def stream(self, method: str, params: Raw) -> AsyncGenerator[Struct, None]:
        """Answer with items; errors as `call`."""
        known = STREAMS.get(method)
        if known is None:
            raise _unknown(method)
        ask = self._read(known.right, known.form, params)
        if isinstance(ask, Wakes):
            self.owners.add(ask.owner)
        async with aclosing(known.read(self._runtime, ask)) as items:
            async for item in items:
                yield item

    async def close(self) -> None:
        """The connection is gone: the workers that were at its other end may come back."""
        for owner in self.owners:
            await self._runtime.left(owner, dead=False)

    def _read(self, right: Right, form: type[Form], params: Raw) -> Form:
        if self._right < right:
            raise CommandError("watch_only", _MAY_NOT[right])
        try:
            return msgspec.json.decode(params, type=form)
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
