"""Reads lines from a terminal or a pipe, and handles lines and events in turns."""

from __future__ import annotations

import asyncio
import os
import termios
from collections import deque
from collections.abc import Iterable
from typing import Protocol, TypeVar

from .line_editor import LineEditor, PromptOptions
from .screen import Screen, ScreenPrompt
from .selectable_queue import SelectableQueue

Item = TypeVar("Item")
_Event = TypeVar("_Event", contravariant=True)


class LineReader:
    """Reads the lines of a terminal, a pipe or a file as they arrive.

    Args:
        descriptor: The descriptor to read.
    """

    def __init__(self, descriptor: int) -> None:
        self.lines: deque[str] = deque()
        self._ended = False
        self._descriptor = descriptor
        self._rest = b""

    async def line(self) -> str | None:
        """Wait for the next line; None at the end of the input, which a terminal may continue."""
        while not self.lines and not self._ended:
            await _wait_readable(self._descriptor)
            self.read()
        if self.lines:
            return self.lines.popleft()
        self._ended = False
        return None

    def read(self) -> None:
        """Read the available input; the last line may lack a line end."""
        typed = os.read(self._descriptor, 65536)
        *lines, self._rest = (self._rest + typed).split(b"\n")
        if not typed:
            self._ended = True
            lines, self._rest = ([self._rest] if self._rest else []), b""
        self.lines.extend(line.decode(errors="replace") for line in lines)

    def discard_input(self) -> None:
        """Drop earlier input of a terminal. Input of a pipe is kept."""
        if os.isatty(self._descriptor):
            self.lines.clear()
            self._rest = b""
            termios.tcflush(self._descriptor, termios.TCIFLUSH)


class LinePrompter:
    """Reads a person's lines, for one task at a time.

    Args:
        screen: The screen that shows prompts.
        descriptor: The descriptor to read without an editor.
        prompts: The options of the prompt editor, which is used on a capable terminal.
    """

    def __init__(self, screen: Screen, descriptor: int, prompts: PromptOptions) -> None:
        self._screen = screen
        self._keyboard = LineReader(descriptor)
        self.editor: LineEditor | None = None
        if screen.terminal and os.environ.get("TERM", "dumb") not in ("dumb", "unknown"):
            self.editor = LineEditor(prompts, is_coloured=screen.is_coloured)
            screen.hide_prompt = self.editor.hide_prompt

    async def read_line(self, question: ScreenPrompt) -> str | None:
        """Ask for a line; None if the person has closed the terminal's input."""
        if self.editor is not None and question.is_edited:
            self._screen.end_line()
            return await self.editor.read_line(question)
        if question.text:
            self._screen.show_prompt(question.text)
        line = await self._keyboard.line()
        self._screen.end_prompt()
        return line

    def discard_input(self) -> None:
        """Drop earlier input: it was not meant for the next question."""
        self._keyboard.discard_input()
        if self.editor is not None:
            self.editor.discard_input()

    async def cancel_prompt(self, prompt_task: asyncio.Task[str | None]) -> None:
        """Cancel a prompt.

        Args:
            prompt_task: The task that asks.
        """
        if self.editor is None:
            await _cancel(prompt_task)
            return
        with self.editor.preserve_draft():
            await _cancel(prompt_task)

    def redraw(self) -> None:
        """Draw the edited line below the written lines."""
        if self.editor is not None:
            self.editor.redraw()


class Dialogue(Protocol[_Event]):
    """Handles a person's lines and a program's events in turns."""

    @property
    def is_over(self) -> bool:
        """Whether the person has enough."""

    @property
    def question(self) -> ScreenPrompt | None:
        """The present prompt; None: no line is accepted."""

    def handle_line(self, line: str | None) -> None:
        """Handle a line; None if the input has ended."""

    def handle(self, events: Iterable[_Event]) -> None:
        """Handle events, and show them."""


async def run_dialogue(
    lines: LinePrompter, inbox: SelectableQueue[Item], dialogue: Dialogue[Item]
) -> None:
    """Handle lines and events in turns, until the dialogue is over.

    Lines are handled first: they answer what the screen shows.

    Args:
        lines: Reads the lines.
        inbox: The queue of events.
        dialogue: Handles both.
    """
    typing: asyncio.Task[str | None] | None = None
    arrival = asyncio.create_task(_wait_readable(inbox.fileno()))
    asked: ScreenPrompt | None = None
    try:
        while not dialogue.is_over:
            question = dialogue.question
            if typing is not None and question != asked:
                await lines.cancel_prompt(typing)
                typing = None
            if typing is None and question is not None:
                asked, typing = question, asyncio.create_task(lines.read_line(question))
            awaited = [arrival] if typing is None else [typing, arrival]
            await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)
            if typing is not None and typing.done():
                line, typing = typing.result(), None
                dialogue.handle_line(line)
            else:
                dialogue.handle(inbox.wait())
                lines.redraw()
                arrival = asyncio.create_task(_wait_readable(inbox.fileno()))
    finally:
        await _cancel(arrival)
        if typing is not None:
            await lines.cancel_prompt(typing)


async def _wait_readable(descriptor: int) -> None:
    """Wait until something can be read."""
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    try:
        loop.add_reader(descriptor, ready.set)
    except PermissionError:  # a file: it never keeps anybody waiting
        return
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)


async def _cancel(task: asyncio.Task[str | None] | asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait([task])
