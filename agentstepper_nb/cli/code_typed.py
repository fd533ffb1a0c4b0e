"""Lines that a person types, for a program that goes on meanwhile."""

from __future__ import annotations

import asyncio
import select

from .step import Keyboard


class Typed:
    """The lines of a terminal, for one task at a time.

    Args:
        descriptor: The terminal.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._keyboard = Keyboard(descriptor)

    async def line(self) -> str | None:
        """The next line; None where the person has closed the terminal's input."""
        keyboard = self._keyboard
        while not keyboard.lines and not keyboard.ended:
            await self._readable()
            keyboard.read()
        if keyboard.lines:
            return keyboard.lines.popleft()
        keyboard.ended = False  # Ctrl+D ends a question; a terminal goes on after it
        return None

    async def text(self) -> str | None:
        """The next line, with those that came at once with it: what is pasted is one text."""
        first, keyboard = await self.line(), self._keyboard
        if first is None:
            return None
        while not keyboard.ended and select.select([keyboard], [], [], 0)[0]:
            keyboard.read()  # a terminal gives a line at a time
        rest = list(keyboard.lines)
        keyboard.lines.clear()
        return "\n".join([first, *rest])

    def forget(self) -> None:
        """Drop what was typed before now: it was not meant for the question that comes."""
        self._keyboard.forget()

    async def _readable(self) -> None:
        loop, ready = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(self._descriptor, ready.set)
        try:
            await ready.wait()
        finally:
            loop.remove_reader(self._descriptor)
