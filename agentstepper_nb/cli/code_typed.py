"""Lines that a person types, for a program that goes on meanwhile."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Final

from .code_screen import FlowScreen
from .line_editor import LineEditor
from .step import Keyboard

COMMANDS: Final = ("/help", "/quit", "/exit")


class Typed:
    """Prompts and answers that are typed, for one task at a time.

    Args:
        screen: Where a prompt stands that is read without an editor.
        descriptor: Where lines are read without an editor.
        editor: Lets the person edit; None where the output is no terminal.
    """

    def __init__(self, screen: FlowScreen, descriptor: int, editor: LineEditor | None) -> None:
        self._screen = screen
        self._descriptor = descriptor
        self._keyboard = Keyboard(descriptor)
        self.editor = editor

    async def prompt(self, prompt: str) -> str | None:
        """Ask for a prompt; None where the person has closed the terminal's input."""
        if self.editor is None:
            return await self.line(prompt)
        self._screen.end_flow()
        return await self.editor.prompt(prompt)

    async def line(self, question: str) -> str | None:
        """Ask for an answer; None where the person has closed the terminal's input."""
        self._screen.end_flow()
        if self.editor is not None:
            return await self.editor.answer(question)
        self._screen.ask(question)
        line = await self._read()
        self._screen.answered()
        return line

    def forget(self) -> None:
        """Drop what was typed before now: it was not meant for the question that comes."""
        if self.editor is None:
            self._keyboard.forget()
        else:
            self.editor.forget()

    async def _read(self) -> str | None:
        keyboard = self._keyboard
        while not keyboard.lines and not keyboard.ended:
            await self._readable()
            keyboard.read()
        if keyboard.lines:
            return keyboard.lines.popleft()
        keyboard.ended = False  # Ctrl+D ends a question; a terminal goes on after it
        return None

    async def _readable(self) -> None:
        loop, ready = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(self._descriptor, ready.set)
        try:
            await ready.wait()
        finally:
            loop.remove_reader(self._descriptor)


def editor_of(screen: FlowScreen, data: Path, workspace: Path) -> LineEditor | None:
    """What lets a person edit lines; None where the screen is none that can be drawn on.

    Args:
        screen: Where lines are edited.
        data: The folder that keeps the history.
        workspace: The folder whose names of files are completed.
    """
    if not screen.terminal or os.environ.get("TERM", "dumb") in ("dumb", "unknown"):
        return None
    return LineEditor(data / "prompts.history", COMMANDS, workspace)
