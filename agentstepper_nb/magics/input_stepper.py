"""Steps agents by `input()`, in front ends without a view.

The main thread prompts the person, while the agent waits on its own thread. The commands are those of
`agentstepper step`, whose classes are used here.
"""

from __future__ import annotations

import sys
from typing import Final

from IPython.core.error import StdinNotImplementedError

from ..cli.core_connection import ConnectionEvent
from ..cli.screen import Screen, is_colour_wanted
from ..cli.selectable_queue import SelectableQueue
from ..cli.step_commands import StepCommands
from ..cli.step_session import StepSession
from ..widgets.kernel_core import KernelCore
from .local_connection import LocalConnection

_NO_INPUT: Final = (
    "This front end doesn't support input(). Use the view, or `agentstepper step` in a terminal."
)
_DETACHED: Final = "The cell continues in the background. Step it by %agentstepper --input."


class InputStepper:
    """A dialogue on the main thread.

    Args:
        core: The Core in this process.
        run: The run to step; None: the most relevant run, and then others.
    """

    detach_reason = _DETACHED

    def __init__(self, core: KernelCore, run: str | None = None) -> None:
        self._screen = _Screen()
        self._inbox: SelectableQueue[ConnectionEvent | None] = SelectableQueue()
        self._link = LocalConnection(core, self._inbox.put)
        self._session = StepSession(self._screen, self._link.send, run)
        self._keys = StepCommands(self._session)
        self._run = run
        self._ended = False

    def wait(self) -> None:
        """Prompt whenever the agent halts, until it has ended or the person quits."""
        try:
            while not self._over:
                if self._screen.prompt and not self._session.is_waiting:
                    self._prompt_for_command()
                else:
                    self._listen()
        finally:
            self._link.close()
            self._inbox.close()

    def notify_ended(self) -> None:
        """Handle the cell's end. Called on the cell's thread."""
        self._inbox.put(None)

    @property
    def _over(self) -> bool:
        if self._ended or self._session.is_over:
            return True
        runs = self._session.runs.values()
        return (
            self._run is None and self._session.has_connected and not any(run.live for run in runs)
        )

    def _prompt_for_command(self) -> None:
        prompt, self._screen.prompt = self._screen.prompt, ""
        try:
            typed = input(prompt)
        except EOFError:
            typed = "q"
        except StdinNotImplementedError:
            self._screen.write_line(_NO_INPUT)
            typed = "q"
        self._keys.execute_line(typed)

    def _listen(self) -> None:
        for event in self._inbox.wait():
            if event is None:
                self._ended = True
            else:
                self._session.handle(event)


class _Screen(Screen):
    """Writes below the cell, and holds the prompt for `input`."""

    def __init__(self) -> None:
        super().__init__(sys.stdout, is_coloured=is_colour_wanted(sys.stdout), terminal=False)
        self.prompt = ""

    def show_prompt(self, prompt: str) -> None:
        """Set the prompt of the next input."""
        self.prompt = prompt
