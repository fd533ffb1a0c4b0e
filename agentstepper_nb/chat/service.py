"""The service `chat` of a line: an interpreter's sessions, for views and programs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import msgspec
from msgspec import Raw, Struct

from .. import typed_json
from ..errors import CommandError, ProtocolError
from ..protocol import chat as wire
from ..protocol.chat import Message
from ..protocol.field_errors import make_field_error
from .backend import UserInput
from .event_feed import (
    AttachListener,
    EventEncoder,
    EventFeed,
    Listener,
    prepare_message,
    select_newest,
)

if TYPE_CHECKING:
    from .interpreter import Interpreter

Params = TypeVar("Params")


class ChatRight(IntEnum):
    """The rights of a client. Each right includes the rights before it."""

    WATCH = 1  # read sessions: also kept ones, which are opened for it
    TALK = 2  # say something, choose, stop; begin and remove sessions


@dataclass(frozen=True)
class _Method(Generic[Params]):
    """One that is answered once.

    Args:
        params: The class of what it takes.
        answer: Answers it.
        right: Who may ask it.
        of_all: Whether it is about all sessions, or others than the one it names.
    """

    params: type[Params]
    answer: Callable[[Params], Awaitable[Struct | None] | Struct | None]
    right: ChatRight = ChatRight.TALK
    of_all: bool = False


class ChatService:
    """Serves an interpreter's sessions, on its event loop; see `rpc.session.RpcService`.

    Messages are sent without pictures' bytes, which the method `picture` returns. A slow reader gets a
    new `ChatSessionSnapshot` in place of the events that it missed.

    Args:
        interpreter: The interpreter.
        right: The client's right.
        session: The only session that the client may use; None: all sessions.
        deduplicator: The messages sent with a key; shared by the connections of a reconnecting client.
    """

    def __init__(
        self,
        interpreter: Interpreter,
        right: ChatRight = ChatRight.WATCH,
        session: str | None = None,
        deduplicator: MessageDeduplicator | None = None,
    ) -> None:
        self._interpreter = interpreter
        self._right = right
        self._session = session
        self._deduplicator = MessageDeduplicator() if deduplicator is None else deduplicator
        watch = ChatRight.WATCH
        here = interpreter
        self._methods: dict[str, _Method[Any]] = {
            "send": _Method(wire.SendChatMessage, self._send),
            "choose": _Method(
                wire.ChooseOption,
                lambda of: prepare_message(here.choose(of.session, of.message, of.choice)),
            ),
            "stop": _Method(wire.ChatSessionRequest, lambda of: here.stop(of.session)),
            "set": _Method(wire.UpdateChatSession, self._set),
            "create": _Method(
                wire.CreateChatSession,
                lambda of: here.info(here.create_session(of.title)),
                of_all=True,
            ),
            "open": _Method(wire.ChatSessionRequest, lambda of: here.open(of.session), watch),
            "remove": _Method(
                wire.ChatSessionRequest, lambda of: here.remove(of.session), of_all=True
            ),
            "earlier": _Method(wire.GetEarlierMessages, self._earlier, watch),
            "picture": _Method(
                wire.ChatMessageRequest, lambda of: here.read_image(of.session, of.message), watch
            ),
            "source": _Method(
                wire.ChatMessageRequest, lambda of: here.read_source(of.session, of.message), watch
            ),
        }

    # ---- a line's service ---------------------------------------------------------------------------

    async def call(self, method: str, params: Raw) -> Struct | None:
        """Answer once; see `RpcService.call`.

        Raises:
            CommandError: It can't be done now, or the other end may not.
            ProtocolError: What was asked hasn't the form it should have.
        """
        known = self._methods.get(method)
        if known is None:
            raise _make_unknown_method_error(method)
        if known.right > self._right:
            raise CommandError(
                "watch_only",
                f"This login may watch the chat, but not call {method!r}: ask the person "
                "who runs the chat.",
            )
        if known.of_all:
            self._check_all()
        asked = decode_params(params, known.params)
        self._check_session(getattr(asked, "session", None))
        answer = known.answer(asked)
        return await answer if isawaitable(answer) else answer

    async def stream(self, method: str, params: Raw) -> AsyncGenerator[Struct, None]:
        """`watch` a session, or `watch_sessions`; see `RpcService.stream`. Errors as `call`."""
        match method:
            case "watch":
                items = self._watch(decode_params(params, wire.ChatSessionRequest))
            case "watch_sessions":
                items = self._watch_sessions()
            case _:
                raise _make_unknown_method_error(method)
        async with aclosing(items):
            async for item in items:
                yield item

    async def close(self) -> None:
        """The other end is gone: nothing of the interpreter's ends with it."""

    # ---- streams ------------------------------------------------------------------------------------

    async def _watch(self, asked: wire.ChatSessionRequest) -> AsyncGenerator[Struct, None]:
        session = asked.session
        self._check_session(session)
        feed = EventFeed(session, self._open_stream(session))
        async with aclosing(feed.read()) as events:
            n = 0
            async for event in events:
                n += 1
                yield wire.NumberedChatEvent(n=n, event=event)

    def _open_stream(self, session: str) -> AttachListener:
        """How a reader is told of a session."""

        def attach(listener: Listener) -> Callable[[], None]:
            telling = EventEncoder()
            return self._interpreter.attach(session, lambda event: listener(telling.prepare(event)))

        return attach

    async def _watch_sessions(self) -> AsyncGenerator[Struct, None]:
        self._check_all()
        newest: list[wire.ChatSessionList] = []  # one at most: the last says all
        changed = asyncio.Event()

        def listen(sessions: wire.ChatSessionList) -> None:
            newest[:] = [sessions]
            changed.set()

        detach = self._interpreter.attach_sessions(listen)
        try:
            while True:
                await changed.wait()
                changed.clear()
                yield newest.pop()
        finally:
            detach()

    # ---- what is asked once -------------------------------------------------------------------------

    def _send(self, asked: wire.SendChatMessage) -> wire.Message:
        given = UserInput(content=asked.content, agent_name=asked.agent_name)
        post = partial(self._interpreter.post, asked.session, given)
        return prepare_message(self._deduplicator.post_once(asked.session, asked.key, post))

    def _set(self, asked: wire.UpdateChatSession) -> wire.ChatSessionInfo:
        return self._interpreter.update_session(
            asked.session,
            title=asked.title,
            auto_chat=asked.auto_chat,
            auto_chat_max=asked.auto_chat_max,
            default_agent=asked.default_agent,
        )

    def _earlier(self, asked: wire.GetEarlierMessages) -> wire.ChatMessagePage:
        found = self._interpreter.read_earlier_messages(asked.session, asked.before, asked.limit)
        told = select_newest(found.messages)
        return wire.ChatMessagePage(
            messages=told, more=found.more or len(told) < len(found.messages)
        )

    # ---- who may ------------------------------------------------------------------------------------

    def _check_session(self, session: str | None) -> None:
        if self._session is not None and session is not None and session != self._session:
            raise CommandError("out_of_scope", "This token grants access to another session.")

    def _check_all(self) -> None:
        if self._session is not None:
            raise CommandError(
                "out_of_scope",
                "This token grants access to one session only.",
            )


def decode_params(params: Raw, kind: type[Params]) -> Params:
    """Decode the parameters of a call.

    Args:
        params: The parameters as JSON.
        kind: The class of the parameters.

    Raises:
        ProtocolError: `invalid_message`, with the field.
    """
    try:
        return typed_json.decode(params, kind)
    except msgspec.ValidationError as error:
        raise make_field_error(error) from None
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise ProtocolError("invalid_message", f"The data isn't JSON: {error}.") from None


def _make_unknown_method_error(method: str) -> CommandError:
    return CommandError("unknown_service", f"The chat service has no method {method[:80]!r}.")


#: Keys that are known again, the newest.
MAX_KEYS: Final = 256


class MessageDeduplicator:
    """Sends a message with a key once, even if the client sends the message again."""

    def __init__(self) -> None:
        self._messages: dict[tuple[str, str], Message] = {}  # oldest first

    def post_once(self, session: str, key: str | None, post: Callable[[], Message]) -> Message:
        """Say something, unless it was said.

        Args:
            session: Where.
            key: What tells it from all else that its sender sends; None: it is said in any case.
            post: Says it. What it refuses wasn't said, and may be tried again.

        Returns:
            The message, as it was said the first time.
        """
        if key is None:
            return post()
        known = self._messages.get((session, key))
        if known is None:
            known = self._messages[session, key] = post()
            if len(self._messages) > MAX_KEYS:
                del self._messages[next(iter(self._messages))]
        return known
