"""Who is told what happens in a session: backends, which show a chat to a person, and functions."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from msgspec import Struct

from ..errors import ProtocolError
from ..protocol.chat import ChatEvent, Message

NativeMessage = TypeVar("NativeMessage")
Event = TypeVar("Event")


class UserInput(Struct, frozen=True, kw_only=True):
    """What a person says: a message, or the choice that a confirmation waits for.

    Raises:
        ProtocolError: `invalid_message`: a message of nothing.
    """

    content: str
    agent_name: str | None = None
    confirmation_id: str | None = None  # the id of the CONFIRMATION whose choice it is

    def __post_init__(self) -> None:
        """Refuse what no agent could answer."""
        said: object = self.content  # of whatever type it came
        if self.confirmation_id is None and isinstance(said, str) and not said.strip():
            text = "The message is empty: write a text."
            raise ProtocolError("invalid_message", text, "content")


class Backend(ABC, Generic[NativeMessage]):
    """Shows one session. It is told each change as it happens, in order: it never asks for the state,
    and has none of its own that counts.

    `receive` is called on the interpreter's event loop, which it mustn't block; a backend whose screen
    lives elsewhere hands the event on. What a person does, the backend gives to the interpreter
    (`Interpreter.process_message`, `choose`, `stop`), or to a `Chat`, from any thread.

    `NativeMessage` is the type that the backend shows a message as: a string, a widget, a dict.
    """

    @abstractmethod
    def receive(self, event: ChatEvent) -> None:
        """Something happened: show it. What it raises is logged, and the session goes on.

        Args:
            event: The first one is a `ChatSessionSnapshot`.
        """

    @abstractmethod
    def render(self, message: Message) -> None:
        """Show a message, in the place of what was shown of it before.

        Args:
            message: As it is so far.
        """

    @abstractmethod
    def convert_in(self, native: NativeMessage) -> UserInput:
        """What a person typed, clicked or sent, in the chat's words.

        Args:
            native: As the backend has it.

        Raises:
            ProtocolError: It can't be understood; the text says why.
        """

    @abstractmethod
    def convert_out(self, message: Message) -> NativeMessage:
        """A message as this backend shows it. Everything in it is untrusted.

        Args:
            message: As it is so far; a type that the backend doesn't know was made one that it does by
                `chat.message_types.to_displayed_message`.
        """

    def on_closed(self) -> None:
        """The session is closed: nothing more is told."""


Listener = Callable[[ChatEvent], None]


class EventListeners(Generic[Event]):
    """Who is told something: functions, and backends. What one raises is logged once, goes no further.

    A listener may itself do what is told of: that is told to all once they have heard of what it heard.

    Args:
        log: The interpreter's.
    """

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._attached: list[_Attached] = []
        self._waiting: deque[tuple[Event, tuple[_Attached, ...]]] = deque()
        self._is_notifying = False

    def __bool__(self) -> bool:
        return bool(self._attached)

    def attach(
        self, listener: Callable[[Event], None] | Backend[object], snapshot: Event
    ) -> Callable[[], None]:
        """Tell somebody: first of all how it is, at once.

        Args:
            listener: A function, or a backend.
            snapshot: How it is.

        Returns:
            What ends the telling. Idempotent.
        """
        attached = _Attached(listener)
        self._attached.append(attached)
        self._deliver(attached, snapshot)

        def detach() -> None:
            attached.is_detached = True
            if attached in self._attached:
                self._attached.remove(attached)

        return detach

    def notify(self, event: Event) -> None:
        """Something happened."""
        self._waiting.append((event, tuple(self._attached)))
        if self._is_notifying:
            return
        self._is_notifying = True
        try:
            while self._waiting:
                queued, attached = self._waiting.popleft()
                for each in attached:
                    self._deliver(each, queued)
        finally:
            self._is_notifying = False

    def close(self) -> None:
        """Nothing more is told."""
        attached, self._attached = self._attached, []
        for each in attached:
            each.is_detached = True
            if isinstance(each.listener, Backend):
                try:
                    each.listener.on_closed()
                except Exception:
                    self._log.exception("A backend failed at the session's end.")

    def _deliver(self, attached: _Attached, event: Event) -> None:
        if attached.is_detached:
            return
        try:
            attached.receive(event)
        except Exception:
            if not attached.has_failed:  # one that fails mostly goes on so
                attached.has_failed = True
                self._log.exception("A listener failed at %s.", type(event).__name__)


class _Attached:
    """Somebody who is told."""

    def __init__(self, listener: Callable[[Any], None] | Backend[object]) -> None:
        self.listener = listener
        self.receive: Callable[[Any], None] = (
            listener.receive if isinstance(listener, Backend) else listener
        )
        self.has_failed = False
        self.is_detached = False
