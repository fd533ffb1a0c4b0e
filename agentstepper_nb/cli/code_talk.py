"""The conversation of `agentstepper code`: prompts, answers, and Ctrl+C."""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from ..coding.orchestrator import RunResult
from ..coding.session import CodingSession
from ..suggestions import did_you_mean
from .code_screen import FlowScreen
from .code_typed import COMMANDS, Typed
from .line_editor import LineEditor

_PROMPT: Final = "> "
_ENDS: Final = (signal.SIGTERM, signal.SIGHUP)
_COMMANDS: Final = tuple(command[1:] for command in COMMANDS)
#: A command's name. A path has a second slash; a space before it makes a prompt of anything.
_COMMAND: Final = re.compile(r"/([^\s/]*)(?!\S)")
#: Characters of a command's name that are shown.
_SHOWN: Final = 40
_HELP: Final = """\
What you write is told to the agent. /quit or Ctrl+D ends, /help shows this.
A space before it tells the agent what begins with a slash.
Alt+Enter (or Esc, Enter) begins another line, Tab completes commands and files, Up goes back.
Ctrl+C cancels an answer; twice, it ends.\
"""


class Talk:
    """Takes turns with a session.

    Args:
        screen: Where it is shown.
        session: The session.
        editor: Where Ctrl+C is a key, while a line is edited.
    """

    def __init__(
        self, screen: FlowScreen, session: CodingSession, editor: LineEditor | None
    ) -> None:
        self._editor = editor
        if editor is not None:
            editor.interrupt = self._interrupt
        self._screen = screen
        self._session = session
        self._answering = False
        self._pressed = False  # Ctrl+C, since the last prompt or answer began
        self._task: asyncio.Task[object] | None = None
        self._cancelling: asyncio.Task[None] | None = None

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Inside, Ctrl+C cancels an answer, and twice it ends this task.

        So does a terminal that is closed: what the agent runs must not outlive it.
        """
        loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        loop.add_signal_handler(signal.SIGINT, self._interrupt)
        for number in _ENDS:
            loop.add_signal_handler(number, self._end)
        try:
            yield
        finally:
            for number in (signal.SIGINT, *_ENDS):
                loop.remove_signal_handler(number)

    async def answer(self, prompt: str) -> RunResult:
        """Answer a prompt."""
        self._pressed, self._answering = False, True
        try:
            return await self._session.run(prompt)
        finally:
            self._answering = False
            self._screen.end_flow()

    async def converse(self, typed: Typed, tell: Callable[[RunResult], object]) -> None:
        """Answer prompts until the person has enough.

        Args:
            typed: Where they come from.
            tell: Called with how each was answered.
        """
        while True:
            self._pressed = False
            line = await typed.prompt(_PROMPT)
            if line is None:
                self._screen.say()
                return
            match line.strip():
                case "":
                    continue
                case "/quit" | "/exit":
                    return
                case "/help":
                    self._screen.say(_HELP)
                case _ if command := _COMMAND.match(line):
                    like = did_you_mean(command[1], _COMMANDS)
                    text = f"There is no /{command[1][:_SHOWN]}: /help lists what there is.{like}"
                    self._screen.say(text, "yellow")
                case prompt:
                    tell(await self.answer(prompt))

    def _end(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _interrupt(self) -> None:
        if self._pressed:
            self._end()
            return
        self._pressed = True
        if self._answering:
            self._screen.say("Cancelling; Ctrl+C again ends.", "yellow")
            self._cancelling = asyncio.create_task(self._session.cancel())
        else:
            self._screen.say("Ctrl+C again, or Ctrl+D, ends.", "dim")
            if self._editor is None:  # it asks again by itself
                self._screen.ask(_PROMPT)
