"""Backends, which show a chat session to a person, and listeners of a session's events."""

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
    """The input of a person: a message, or the choice of a pending confirmation.

    Raises:
        ProtocolError: `invalid_message`: the message is empty.
    """

    content: str
    agent_name: str | None = None
    confirmation_id: str | None = None  # the id of the CONFIRMATION whose choice it is

    def __post_init__(self) -> None:
        """Refuse input that no agent could answer."""
        said: object = self.content  # of whatever type it came
        if self.confirmation_id is None and isinstance(said, str) and not said.strip():
            text = "The message is empty: write a text."
            raise ProtocolError("invalid_message", text, "content")


class Backend(ABC, Generic[NativeMessage]):
    """The interface of a program part that shows one chat session to a person.

    The session sends every change to the backend, in order. The backend never queries the state,
    and its own state never decides.

    `receive` is called on the interpreter's event loop, which it must not block; a backend whose
    screen is elsewhere passes the event on. The backend passes the person's actions to the
    interpreter (`Interpreter.process_message`, `choose`, `stop`), or to a `Chat`, from any thread.

    `NativeMessage` is the type in which the backend shows a message: a string, a widget, a dict.
    """

    @abstractmethod
    def receive(self, event: ChatEvent) -> None:
        """Show an event. Exceptions are logged, and the session goes on.

        Args:
            event: The event; the first one is a `ChatSessionSnapshot`.
        """

    @abstractmethod
    def render(self, message: Message) -> None:
        """Show a message, in place of an earlier state of the same message.

        Args:
            message: The message in its present state.
        """

    @abstractmethod
    def convert_in(self, native: NativeMessage) -> UserInput:
        """Convert the person's native input to a `UserInput`.

        Args:
            native: The input, in the backend's own type.

        Raises:
            ProtocolError: The input can't be converted; the message says why.
        """

    @abstractmethod
    def convert_out(self, message: Message) -> NativeMessage:
        """Convert a message to the type that this backend shows. All its content is untrusted.

        Args:
            message: The message in its present state. A type that the backend doesn't know has been
                converted to a known one by `chat.message_types.to_displayed_message`.
        """

    def on_closed(self) -> None:
        """The session was closed: no more events follow."""


Listener = Callable[[ChatEvent], None]


class EventListeners(Generic[Event]):
    """Listeners of a session: functions and backends. A listener's exception is logged once.

    A listener may itself cause an event: that event is sent to all listeners after they received
    the present one.

    Args:
        log: The interpreter's log.
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
        """Attach a listener, and send it a snapshot at once.

        Args:
            listener: A function, or a backend.
            snapshot: The session's present state.

        Returns:
            A function that detaches the listener. Idempotent.
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
        """Send an event to all listeners."""
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
        """Send no more events."""
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
