"""The screen of `agentstepper code`: lines, and text that flows while a model writes it."""

from __future__ import annotations

from .screen import Screen
from .text import inert


class FlowScreen(Screen):
    """A screen on which a text may also grow piece by piece. A line that follows begins a new one."""

    _flowing = False  # the cursor stands behind a piece
    _held = ""  # of a piece: what may be one character with the next

    def flow(self, piece: str) -> None:
        """Write some more of a text."""
        if self._asking:
            self.say()
        text, self._held = self._held + piece, ""
        if text.endswith("\r"):  # half a line end, perhaps
            text, self._held = text[:-1], "\r"
        if text:
            self._out.write(inert(text))
            self._out.flush()
            self._flowing = not text.endswith("\n")

    def say(self, text: str = "", style: str = "") -> None:
        """Write a text's lines; see `Screen.say`."""
        self.end_flow()
        super().say(text, style)

    def ask(self, prompt: str) -> None:
        """Write a prompt."""
        self.end_flow()
        super().ask(prompt)

    def end_flow(self) -> None:
        """The text that flows is over."""
        if self._flowing:
            self._out.write("\n")
            self._out.flush()
        self._flowing, self._held = False, ""
