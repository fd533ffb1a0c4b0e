"""The conversation of `agentstepper code`: prompts, answers, and Ctrl+C."""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from ..coding.orchestrator import TurnResult
from ..coding.session import CodingSession
from ..llm_wire.events import AgentEvent
from ..suggestions import did_you_mean
from .line_editor import PromptOptions
from .line_input import LinePrompter
from .screen import Screen, ScreenPrompt

_PROMPT: Final = ScreenPrompt("> ", has_history=True)
_END_SIGNALS: Final = (signal.SIGTERM, signal.SIGHUP)
_COMMANDS: Final = ("help", "quit", "exit")
#: A command's name. A path has a second slash; a space before it makes a prompt of anything.
_COMMAND: Final = re.compile(r"/([^\s/]*)(?!\S)")
#: Characters of a command's name that are shown.
_MAX_SHOWN_CHARS: Final = 40
_HELP: Final = """\
What you write is sent to the agent. /quit or Ctrl+D exits, /help shows this text.
A message that begins with a slash needs a space before the slash.
Alt+Enter (or Esc, Enter) begins another line, Tab completes commands and files, Up goes back.
Ctrl+C cancels an answer; twice, it ends.\
"""


class CodeConversation:
    """Handles prompts and answers of a session in turns.

    Args:
        screen: The screen that shows the conversation.
        session: The session.
        lines: Reads prompts; None: no person types.
    """

    def __init__(self, screen: Screen, session: CodingSession, lines: LinePrompter | None) -> None:
        self._lines = lines
        if lines is not None and lines.editor is not None:
            lines.editor.interrupt = self._interrupt  # a key, while a line is edited
        self._screen = screen
        self._session = session
        self._is_answering = False
        self._has_interrupted = False  # Ctrl+C, since the last prompt or answer began
        self._task: asyncio.Task[object] | None = None
        self._cancelling: asyncio.Task[None] | None = None

    @contextmanager
    def cancel_on_interrupt(self) -> Iterator[None]:
        """A context in which Ctrl+C cancels an answer, and a second one ends this task.

        A closed terminal does so, too: commands of the agent must not outlive it.
        """
        loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        loop.add_signal_handler(signal.SIGINT, self._interrupt)
        for number in _END_SIGNALS:
            loop.add_signal_handler(number, self._end)
        try:
            yield
        finally:
            for number in (signal.SIGINT, *_END_SIGNALS):
                loop.remove_signal_handler(number)

    async def answer(self, prompt: str) -> TurnResult:
        """Answer a prompt."""
        self._has_interrupted, self._is_answering = False, True
        try:
            return await self._session.run(prompt)
        finally:
            self._is_answering = False
            self._screen.end_line()

    async def run(self, report: Callable[[TurnResult], object]) -> None:
        """Answer prompts until the person has enough.

        Args:
            report: Called with how each was answered.
        """
        assert self._lines is not None
        while True:
            self._has_interrupted = False
            line = await self._lines.read_line(_PROMPT)
            if line is None:
                self._screen.write_line()
                return
            match line.strip():
                case "":
                    continue
                case "/quit" | "/exit":
                    return
                case "/help":
                    self._screen.write_line(_HELP)
                case _ if command := _COMMAND.match(line):
                    like = did_you_mean(command[1], _COMMANDS)
                    name = command[1][:_MAX_SHOWN_CHARS]
                    text = f"There is no command /{name}: /help lists the commands.{like}"
                    self._screen.write_line(text, "yellow")
                case prompt:
                    report(await self.answer(prompt))

    def _end(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _interrupt(self) -> None:
        if self._has_interrupted:
            self._end()
            return
        self._has_interrupted = True
        if self._is_answering:
            self._screen.write_line("Cancelling the answer; Ctrl+C again exits.", "yellow")
            self._cancelling = asyncio.create_task(self._session.cancel())
        else:
            self._screen.write_line("Ctrl+C again, or Ctrl+D, exits.", "dim")
            self._screen.show_prompt(_PROMPT.text)


def make_prompt_options(data: Path, workspace: Path) -> PromptOptions:
    """Make the options of the prompt editor.

    Args:
        data: The folder that stores the history.
        workspace: The folder whose file names are completed.
    """

    def words(before: str) -> Iterable[tuple[str, str]]:
        return () if before else ((f"/{each}", f"/{each}") for each in _COMMANDS)

    return PromptOptions(data / "prompts.history", words, workspace)


class EventPrinter:
    """Shows events, and ends the work once the output is closed, as by `head`.

    Args:
        show: Shows an event.
    """

    def __init__(self, show: Callable[[AgentEvent], None]) -> None:
        self._show = show
        self._is_output_closed = False
        self._task: asyncio.Task[object] | None = None

    def show_event(self, event: AgentEvent) -> None:
        """Show an event."""
        if self._is_output_closed:
            return
        try:
            self._show(event)
        except BrokenPipeError:
            self._is_output_closed = True
            if self._task is not None:
                self._task.cancel()

    @contextmanager
    def cancel_on_closed_output(self) -> Iterator[None]:
        """A context in which this task is cancelled once the output is closed.

        Raises:
            BrokenPipeError: The output is closed.
        """
        self._task = asyncio.current_task()
        try:
            yield
        except asyncio.CancelledError:
            if self._is_output_closed:
                raise BrokenPipeError from None
            raise
        finally:
            self._task = None
