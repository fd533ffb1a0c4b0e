"""Messages on a terminal as they grow: text as it comes, code and output by the line."""

from __future__ import annotations

from typing import Protocol

from ...protocol.chat import Message, MessageType
from . import view as view

#: What is written while it grows; of all else there is something to show at once.
_GROWING = (MessageType.MESSAGE, MessageType.CODE, MessageType.CONSOLE)


class Screen(Protocol):
    """A terminal, or a pipe. What is written is of anyone: it makes it inert, and nothing else does."""

    def say(self, text: str = "", style: str = "") -> None:
        """Write a text's lines.

        Args:
            text: The text.
            style: bold, dim, red, green, yellow, cyan, or nothing.
        """

    def flow(self, piece: str) -> None:
        """Write some more of a text, which goes on where the piece before ended."""

    def end_flow(self) -> None:
        """The text that flows is over."""

    def ask(self, prompt: str) -> None:
        """Write a prompt, where a person types below."""

    def answered(self) -> None:
        """The person pressed Enter: the cursor stands at the start of a line."""


class Flow:
    """Writes messages of built-in types. One at a time grows on the screen: others wait for their end.

    Args:
        screen: Where.
    """

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._growing: Message | None = None
        self._written = ""  # of the content of that one
        self._line = ""  # of these, the last line as far as it is held back
        self._head: str | None = None  # the call or question whose head was written last

    def say(self, message: Message) -> None:
        """A message is there, or is another now.

        Args:
            message: Whole, as it is so far.
        """
        growing = self._growing
        if growing is not None and growing.id == message.id:
            self._go_on(message)
        elif message.type in (MessageType.FUNCTION, MessageType.CONFIRMATION):
            self._say_twice(message)
        elif message.final:
            for text, style in view.lines(message):
                self._screen.say(text, style)
            self._head = None
        elif growing is None and message.type in _GROWING and view.style_of(message) == "":
            self._begin(message)

    def grow(self, id: str, text: str) -> None:
        """There is more of a message's content.

        Args:
            id: The message.
            text: What is added.
        """
        if self._growing is not None and self._growing.id == id:
            self._write(text)

    def end(self) -> None:
        """Nothing grows any more."""
        self._finish_line()
        if self._growing is not None and self._growing.type == MessageType.CODE:
            self._screen.say("└─", "cyan")
        self._screen.end_flow()
        self._growing, self._written = None, ""

    def _begin(self, message: Message) -> None:
        self._growing, self._head = message, None
        if message.type == MessageType.CODE:
            self._screen.say(view.code_head(message), "cyan")
        self._write(message.content)

    def _go_on(self, message: Message) -> None:
        if message.content.startswith(self._written):
            self._write(message.content[len(self._written) :])
            if message.final:
                self.end()
        elif message.final:
            self.end()
            self._screen.say("It was edited, and says now:", "yellow")
            self.say(message)

    def _write(self, text: str) -> None:
        assert self._growing is not None
        self._written += text
        if self._growing.type == MessageType.MESSAGE:
            self._screen.flow(text)
            return
        *whole, self._line = (self._line + text).split("\n")
        for line in whole:
            self._say_line(line)

    def _finish_line(self) -> None:
        line, self._line = self._line, ""
        if line:
            self._say_line(line)

    def _say_line(self, line: str) -> None:
        assert self._growing is not None
        if self._growing.type == MessageType.CODE:
            self._screen.say(f"│ {line}")
        else:
            self._screen.say(f"  {line}", "dim")

    def _say_twice(self, message: Message) -> None:
        """A call or a question, and at its end what came of it: below it, or with it once more."""
        is_call = message.type == MessageType.FUNCTION
        if self._head != message.id:
            head = [(view.call_line(message), "cyan")] if is_call else view.asked(message)
            for text, style in head:
                self._screen.say(text, style)
            self._head = message.id
        for text, style in view.result_lines(message) if is_call else view.chosen(message):
            self._screen.say(text, style)
        if message.final:
            self._head = None
