"""The line that a person edits at a terminal: with history, completion and several lines."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.history import DummyHistory, FileHistory
from prompt_toolkit.input.typeahead import clear_typeahead
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.key_binding.key_processor import KeyPressEvent
from prompt_toolkit.shortcuts import CompleteStyle

from .text import inert

#: What looks like a secret: a name of one with a value, or a long word of letters and digits.
_SECRET: Final = re.compile(
    r"(?i)(key|token|secret|password|passwd|authorization|bearer)\b\s*[=:\s]\s*\S{6,}"
    r"|\bsk-\w{8,}|\b(?=\w*\d)(?=\w*[a-z])\w{32,}\b"
)


class LineEditor:
    """Asks a person for prompts, which are remembered, and for answers, which aren't.

    Args:
        history: The file that remembers prompts.
        commands: The commands that may begin a prompt, with their slash.
        folder: Where names of files are completed.

    Attributes:
        interrupt: Called at Ctrl+C.
    """

    def __init__(self, history: Path, commands: Sequence[str], folder: Path) -> None:
        self.interrupt: Callable[[], None] = lambda: None
        self._prompts: PromptSession[str] = PromptSession(
            history=PrivateHistory(history),
            completer=PromptCompleter(commands, folder),
            complete_while_typing=False,
            complete_style=CompleteStyle.READLINE_LIKE,
            key_bindings=_several_lines(),
        )
        self._answers: PromptSession[str] = PromptSession(history=DummyHistory())

    async def prompt(self, prompt: str) -> str | None:
        """Ask for a prompt, of one line or several; None where the person has enough."""
        return await self._ask(self._prompts, prompt)

    async def answer(self, question: str) -> str | None:
        """Ask for the answer to a question; None where the person closes the terminal's input."""
        return await self._ask(self._answers, question)

    def forget(self) -> None:
        """Drop what was typed before now: it was not meant for the question that comes."""
        source = self._answers.input
        clear_typeahead(source)
        with source.raw_mode():
            while source.read_keys():
                pass
            source.flush_keys()

    async def _ask(self, session: PromptSession[str], prompt: str) -> str | None:
        while True:
            try:
                return await session.prompt_async(inert(prompt), handle_sigint=False)
            except EOFError:
                return None
            except KeyboardInterrupt:
                self.interrupt()


class PrivateHistory(FileHistory):
    """A history that only its owner reads, without what looks like a secret.

    Args:
        file: Where it is kept.
    """

    def __init__(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(file, os.O_CREAT | os.O_RDWR, 0o600))
        file.chmod(0o600)
        super().__init__(str(file))

    def append_string(self, string: str) -> None:
        """Remember a prompt."""
        if not _SECRET.search(string):
            super().append_string(string)


class PromptCompleter(Completer):
    """Completes commands at the beginning of a prompt, and names of files after it.

    Args:
        commands: With their slash.
        folder: Where the files are.
    """

    def __init__(self, commands: Sequence[str], folder: Path) -> None:
        self._commands = commands
        self._paths = PathCompleter(get_paths=lambda: [str(folder)], expanduser=True)

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        """What may stand in place of the word before the cursor."""
        text = document.text_before_cursor
        word = re.split(r"\s", text)[-1]
        if text.startswith("/") and word == text:
            for command in self._commands:
                if command.startswith(word):
                    yield Completion(command, start_position=-len(word))
        elif word:
            yield from self._paths.get_completions(Document(word), complete_event)


def _several_lines() -> KeyBindings:
    """Alt+Enter, or Esc and Enter, begins another line."""
    bindings = KeyBindings()

    @bindings.add("escape", "enter")
    @bindings.add("escape", "c-j")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return bindings
