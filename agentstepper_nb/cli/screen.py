"""The terminal, or the pipe, for output."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, TextIO

from .terminal_text import escape_controls

_CODES: Final = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "cyan": "36",
}


class ScreenPrompt(NamedTuple):
    """A prompt for a person.

    Attributes:
        text: The prompt. Lines above its last one are shown only while the person types.
        has_history: Whether the line has history and completion; an answer to a question has neither.
        is_edited: Whether the editor reads the line; else the terminal itself does, without a prompt.
    """

    text: str = ""
    has_history: bool = False
    is_edited: bool = True


class Screen:
    """Writes lines, a text that grows piece by piece, and a prompt below them.

    All written text is escaped here, and nowhere else.

    Args:
        out: The output.
        is_coloured: Whether to use colours.
        terminal: Whether a person types below: the prompt then stays on its line.

    Attributes:
        hide_prompt: Called before each output if a line editor shows the prompt: removes the prompt
            until it is drawn again, below.
        question: The last prompt.
    """

    def __init__(self, out: TextIO, *, is_coloured: bool, terminal: bool) -> None:
        self._out = out
        self.is_coloured = is_coloured
        self.terminal = terminal
        self.hide_prompt: Callable[[], None] | None = None
        self.question = ""
        self._asking = False  # the cursor stands behind a prompt
        self._is_in_line = False  # the cursor stands behind a piece
        self._held = ""  # of a piece: what may be one character with the next

    @property
    def width(self) -> int | None:
        """Columns of the terminal; None for a pipe, whose lines aren't cut."""
        return shutil.get_terminal_size().columns if self.terminal else None

    def write_line(self, text: str = "", style: str = "") -> None:
        """Write a text's lines. A text that grows is over.

        Args:
            text: Of anyone.
            style: bold, dim, red, green, yellow, cyan, or nothing.
        """
        self.end_line()
        self._end_prompt()
        text = escape_controls(text)
        if style and self.is_coloured:
            text = f"\x1b[{_CODES[style]}m{text}\x1b[0m"
        self._write(text + "\n")

    def write_fragment(self, fragment: str) -> None:
        """Write the next piece of a text, directly after the piece before."""
        self._end_prompt()
        text, self._held = self._held + fragment, ""
        if text.endswith("\r"):  # half a line end, perhaps
            text, self._held = text[:-1], "\r"
        if text:
            self._write(escape_controls(text))
            self._is_in_line = not text.endswith("\n")

    def end_line(self) -> None:
        """End the line of a text that was written in pieces."""
        if self._is_in_line:
            self._write("\n")
        self._is_in_line, self._held = False, ""

    def show_prompt(self, prompt: str) -> None:
        """Write a prompt; with a line editor, that shows `question` itself."""
        self.end_line()
        self.question = prompt
        if self.hide_prompt is not None:
            return
        if not self.terminal:
            self.write_line(prompt)
        elif not self._asking:
            self._write(escape_controls(prompt))
            self._asking = True

    def end_prompt(self) -> None:
        """Handle the person's Enter: the cursor is at the start of a line."""
        self._asking = False

    def _end_prompt(self) -> None:
        if self._asking:
            self._write("\n")
            self._asking = False

    def _write(self, text: str) -> None:
        if self.hide_prompt is not None:
            self.hide_prompt()
        self._out.write(text)
        self._out.flush()


def make_standard_screen() -> Screen:
    """Make the screen for this process's output."""
    out = sys.stdout
    if hasattr(out, "reconfigure"):
        out.reconfigure(errors="backslashreplace")  # not every terminal speaks UTF-8
    return Screen(
        out, is_coloured=is_colour_wanted(out), terminal=out.isatty() and sys.stdin.isatty()
    )


def is_colour_wanted(out: TextIO, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether to use colours: on a terminal, unless NO_COLOR is set."""
    if environment.get("NO_COLOR") or environment.get("TERM") == "dumb":
        return False
    return out.isatty()
