"""Stepping by `input()`: the last resort, where no view can be.

The main thread asks, while the agent waits on its own. What is typed means what it means to
`agentstepper step`, whose parts these are.
"""

from __future__ import annotations

import sys
from typing import Final

from IPython.core.error import StdinNotImplementedError

from ..cli.inbox import Inbox
from ..cli.keys import Keys
from ..cli.link import Happening
from ..cli.screen import Screen, wants_colour
from ..cli.session import Session
from ..widgets.kernel_core import KernelCore
from .local_link import LocalLink

_NO_INPUT: Final = "This front end has no input(), by which to ask."
_LEFT: Final = "The cell goes on in the background: %agentstepper --input steps it."


class Prompt:
    """A conversation on the main thread.

    Args:
        core: The Core in this process.
        run: The run to look at; None takes the one that matters most, and goes on to others.
    """

    notice = _LEFT

    def __init__(self, core: KernelCore, run: str | None = None) -> None:
        self._screen = _Screen()
        self._inbox: Inbox[Happening | None] = Inbox()
        self._link = LocalLink(core, self._inbox.put)
        self._session = Session(self._screen, self._link.send, run)
        self._keys = Keys(self._session)
        self._run = run
        self._ended = False

    def wait(self) -> None:
        """Ask whenever the agent halts, until it has ended or the person has enough."""
        try:
            while not self._over:
                if self._screen.prompt and not self._session.waits:
                    self._ask()
                else:
                    self._listen()
        finally:
            self._link.close()
            self._inbox.close()

    def ended(self) -> None:
        """The cell has ended. From its thread."""
        self._inbox.put(None)

    @property
    def _over(self) -> bool:
        if self._ended or self._session.over:
            return True
        runs = self._session.runs.values()
        return self._run is None and self._session.met and not any(run.live for run in runs)

    def _ask(self) -> None:
        prompt, self._screen.prompt = self._screen.prompt, ""
        try:
            typed = input(prompt)
        except EOFError:
            typed = "q"
        except StdinNotImplementedError:
            self._screen.say(_NO_INPUT)
            typed = "q"
        self._keys.line(typed)

    def _listen(self) -> None:
        for happening in self._inbox.wait():
            if happening is None:
                self._ended = True
            else:
                self._session.happen(happening)


class _Screen(Screen):
    """Writes below the cell; what it should ask waits for `input`."""

    def __init__(self) -> None:
        super().__init__(sys.stdout, colour=wants_colour(sys.stdout), terminal=False)
        self.prompt = ""

    def ask(self, prompt: str) -> None:
        """Ask at the next turn."""
        self.prompt = prompt
