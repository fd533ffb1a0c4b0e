"""A backend: what shows a chat to a person, and brings in what the person says."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from msgspec import Struct

from ..errors import ProtocolError
from ..protocol.chat import ChatEvent, Message

Native = TypeVar("Native")


class UserInput(Struct, frozen=True, kw_only=True):
    """What a person says: a message, or the choice that a confirmation waits for.

    Raises:
        ProtocolError: `invalid_message`: a message of nothing.
    """

    content: str
    agent_name: str | None = None
    confirms: str | None = None  # the id of the CONFIRMATION whose choice it is

    def __post_init__(self) -> None:
        """Refuse what no agent could answer."""
        said: object = self.content  # of whatever type it came
        if self.confirms is None and isinstance(said, str) and not said.strip():
            text = "Say something: this message is empty."
            raise ProtocolError("invalid_message", text, "content")


class Backend(ABC, Generic[Native]):
    """Shows one session. It is told each change as it happens, in order: it never asks for the state,
    and has none of its own that counts.

    `receive` is called on the interpreter's event loop, which it mustn't block; a backend whose screen
    lives elsewhere hands the event on. What a person does, the backend gives to the interpreter
    (`Interpreter.process_message`, `choose`, `stop`), or to a `Chat`, from any thread.

    Type parameters:
        Native: What the backend shows a message as: a string, a widget, a dict.
    """

    @abstractmethod
    def receive(self, event: ChatEvent) -> None:
        """Something happened: show it. What it raises is logged, and the session goes on.

        Args:
            event: The first one is a `Begin`.
        """

    @abstractmethod
    def render(self, message: Message) -> None:
        """Show a message, in the place of what was shown of it before.

        Args:
            message: As it is so far.
        """

    @abstractmethod
    def convert_in(self, given: Native) -> UserInput:
        """What a person typed, clicked or sent, in the chat's words.

        Args:
            given: As the backend has it.

        Raises:
            ProtocolError: It can't be understood; the text says why.
        """

    @abstractmethod
    def convert_out(self, message: Message) -> Native:
        """A message as this backend shows it. Everything in it is untrusted.

        Args:
            message: As it is so far; a type that the backend doesn't know was made one that it does by
                `chat.kinds.shown`.
        """

    def closed(self) -> None:
        """The session is closed: nothing more is told."""
