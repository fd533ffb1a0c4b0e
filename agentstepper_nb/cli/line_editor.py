"""The line that a person edits at a terminal: with history, completion and several lines."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import DummyHistory, FileHistory, History, InMemoryHistory
from prompt_toolkit.input.typeahead import clear_typeahead
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.key_binding.key_processor import KeyPressEvent
from prompt_toolkit.shortcuts import CompleteStyle

from .screen import ScreenPrompt
from .terminal_text import escape_controls

#: Text that looks like a secret: a secret's name with a value, or a long word of letters and digits.
_SECRET: Final = re.compile(
    r"(?i)(key|token|secret|password|passwd|authorization|bearer)\b\s*[=:\s]\s*\S{6,}"
    r"|\bsk-\w{8,}|\b(?=\w*\d)(?=\w*[a-z])\w{32,}\b"
)
#: Finds the completions of a line's beginning: words, each with its text in the list.
FindCompletions = Callable[[str], Iterable[tuple[str, str]]]


@dataclass(frozen=True)
class PromptOptions:
    """The options of the prompt editor.

    Attributes:
        history: The file of the history.
        find_completions: Finds completions.
        completion_folder: The folder whose file names are completed; None: none.
        is_saved_in_history: Whether a prompt may be saved in the history.
        key_bindings: Keys that enter a line, by their names in prompt_toolkit.
    """

    history: Path
    find_completions: FindCompletions
    completion_folder: Path | None = None
    is_saved_in_history: Callable[[str], bool] = lambda prompt: True
    key_bindings: Mapping[str, str] = field(default_factory=dict)


class LineEditor:
    """Asks a person for prompts, which are saved in the history, and for answers, which aren't.

    Args:
        prompts: The options of the prompt editor.
        is_coloured: Whether to use colours.

    Attributes:
        interrupt: Called at Ctrl+C.
    """

    def __init__(self, prompts: PromptOptions, *, is_coloured: bool = True) -> None:
        self.interrupt: Callable[[], None] = lambda: None
        self._style = "ansibrightblack" if is_coloured else ""
        self._prompts: PromptSession[str] = PromptSession(
            history=_history(prompts),
            completer=PromptCompleter(prompts.find_completions, prompts.completion_folder),
            complete_while_typing=False,
            complete_style=CompleteStyle.READLINE_LIKE,
            key_bindings=_bindings(prompts.key_bindings),
        )
        self._answers: PromptSession[str] = PromptSession(
            history=DummyHistory(), key_bindings=_bindings({})
        )
        self._begun = Document()  # a prompt that was begun when it was withdrawn

    async def read_line(self, question: ScreenPrompt) -> str | None:
        """Ask for one or more lines; None if the person closes the terminal's input."""
        session = self._prompts if question.has_history else self._answers
        while True:
            begun = Document()
            if question.has_history:
                begun, self._begun = self._begun, begun
            try:
                return await session.prompt_async(
                    self._message(question.text), default=begun, handle_sigint=False
                )
            except EOFError:
                return None
            except KeyboardInterrupt:
                self.interrupt()

    @contextmanager
    def preserve_draft(self) -> Iterator[None]:
        """A context in which a cancelled prompt leaves no trace; its line begins the next prompt."""
        buffer, app = self._prompts.default_buffer, self._prompts.app
        if app.is_running:
            self._begun = buffer.document
        self._set_erases(True)
        try:
            yield
        finally:
            self._set_erases(False)

    def hide_prompt(self) -> None:
        """Remove the edited line from the screen, so that lines can be written above it."""
        for session in self._sessions:
            if session.app.is_running:
                session.app.renderer.erase()

    def redraw(self) -> None:
        """Draw the edited line below the written lines."""
        for session in self._sessions:
            session.app.invalidate()

    def discard_input(self) -> None:
        """Drop earlier input: it was not meant for the next question."""
        self._begun = Document()
        for session in self._sessions:
            session.default_buffer.reset()
            session.app.key_processor.reset()
        source = self._answers.input
        clear_typeahead(source)
        with source.raw_mode():
            while source.read_keys():
                pass
            source.flush_keys()

    @property
    def _sessions(self) -> tuple[PromptSession[str], PromptSession[str]]:
        return self._prompts, self._answers

    def _set_erases(self, erases: bool) -> None:
        for session in self._sessions:
            session.app.erase_when_done = erases

    def _message(self, text: str) -> Callable[[], StyleAndTextTuples]:
        help, end, line = escape_controls(text).rpartition("\n")

        def message() -> StyleAndTextTuples:
            above: StyleAndTextTuples = [] if get_app().is_done else [(self._style, help + end)]
            return [*above, ("", line)]

        return message


class PrivateHistory(FileHistory):
    """A history that only its owner can read, without text that looks like a secret.

    Args:
        file: The file of the history.
        is_saved_in_history: Whether a prompt may be saved.

    Raises:
        OSError: The file can't be written.
    """

    def __init__(self, file: Path, is_saved_in_history: Callable[[str], bool]) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(file, os.O_CREAT | os.O_RDWR, 0o600))
        file.chmod(0o600)
        self._is_remembered = is_saved_in_history
        super().__init__(str(file))

    def append_string(self, string: str) -> None:
        """Remember a prompt."""
        if self._is_remembered(string) and not _SECRET.search(string):
            super().append_string(string)


class PromptCompleter(Completer):
    """Completes known words, and names of files.

    Args:
        find_completions: Finds the words.
        folder: The folder of the files; None: complete no file names.
    """

    def __init__(self, find_completions: FindCompletions, folder: Path | None) -> None:
        self._words = find_completions
        self._paths = None
        if folder is not None:
            self._paths = PathCompleter(get_paths=lambda: [str(folder)], expanduser=True)

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        """Yield the completions of the word before the cursor."""
        text = document.text_before_cursor
        word = re.split(r"\s", text)[-1]
        before = text.removesuffix(word)
        end = "" if before else " "  # more may follow a command
        for each, shown in self._words(before):
            if each.startswith(word):
                yield Completion(
                    f"{each}{end}", start_position=-len(word), display=escape_controls(shown)
                )
        is_command = text.startswith("/") and not before
        if word and self._paths is not None and not is_command:
            yield from self._paths.get_completions(Document(word), complete_event)


def _history(prompts: PromptOptions) -> History:
    """Open the history of prompts; one in memory if the file can't be written."""
    try:
        return PrivateHistory(prompts.history, prompts.is_saved_in_history)
    except OSError:
        return InMemoryHistory()


def _bindings(typed: Mapping[str, str]) -> KeyBindings:
    """Alt+Enter, or Esc and Enter, begins another line; other keys type a line."""
    bindings = KeyBindings()

    @bindings.add("escape", "enter")
    @bindings.add("escape", "c-j")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    for key, line in typed.items():
        bindings.add(key)(_typing(line))
    return bindings


def _typing(line: str) -> Callable[[KeyPressEvent], None]:
    def type_line(event: KeyPressEvent) -> None:
        event.current_buffer.text = line
        event.current_buffer.validate_and_handle()

    return type_line
