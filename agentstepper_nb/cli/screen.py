"""The terminal, or the pipe, that text is written to."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TextIO

from .text import inert

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


class Screen:
    """Writes lines, and a prompt below them. What is written is made inert here, and nowhere else.

    Args:
        out: Where to write.
        colour: Whether to use colours.
        terminal: Whether a person types below: the prompt then stays on its line.
    """

    def __init__(self, out: TextIO, *, colour: bool, terminal: bool) -> None:
        self._out = out
        self._colour = colour
        self.terminal = terminal
        self._asking = False  # the cursor stands behind a prompt

    def say(self, text: str = "", style: str = "") -> None:
        """Write a text's lines.

        Args:
            text: Of anyone.
            style: bold, dim, red, green, yellow, cyan, or nothing.
        """
        if self._asking:
            self._out.write("\n")
            self._asking = False
        text = inert(text)
        if style and self._colour:
            text = f"\x1b[{_CODES[style]}m{text}\x1b[0m"
        self._out.write(text + "\n")
        self._out.flush()

    def ask(self, prompt: str) -> None:
        """Write a prompt."""
        if not self.terminal:
            self.say(prompt)
        elif not self._asking:
            self._out.write(inert(prompt))
            self._out.flush()
            self._asking = True

    def answered(self) -> None:
        """The person pressed Enter: the cursor stands at the start of a line."""
        self._asking = False


def wants_colour(out: TextIO, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether colours are wanted: on a terminal, unless NO_COLOR says otherwise."""
    if environment.get("NO_COLOR") or environment.get("TERM") == "dumb":
        return False
    return out.isatty()
