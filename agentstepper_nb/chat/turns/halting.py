"""Whether a session's run waits for a person in the debugger, and not the person for an answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from ...sdk.aclient import AsyncAgentStepper
from ...sdk.link import Link

#: Seconds that a breakpoint may wait for a Core that lets it go on: no halt yet, and nothing to flash.
PATIENCE_S: Final = 0.2


class Halting:
    """Looks at one run after the other. Used on the interpreter's event loop.

    Args:
        changed: Called where `now` is another.

    Attributes:
        now: Whether a breakpoint waits.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self.now = False
        self._changed = changed
        self._link: Link | None = None
        self._timer: asyncio.TimerHandle | None = None

    def follow(self, dbg: AsyncAgentStepper | None) -> None:
        """Look at a run, and no longer at the one before.

        Args:
            dbg: The run; None for none.
        """
        link = None if dbg is None else dbg._live().link
        if link is self._link:
            return
        self._link = link
        self._look()
        if link is not None:
            link.on_halted(here(self._look))

    def _look(self) -> None:
        halted = self._link is not None and self._link.halted
        if not halted:
            self._stop_timer()
            self._set(False)
        elif self._timer is None and not self.now:
            self._timer = asyncio.get_running_loop().call_later(PATIENCE_S, self._waited)

    def _waited(self) -> None:
        self._timer = None
        self._set(True)

    def _set(self, halted: bool) -> None:
        if halted is not self.now:
            self.now = halted
            self._changed()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def here(look: Callable[[], None]) -> Callable[[], None]:
    """What any thread may call, so that something is called on the loop that runs now.

    Args:
        look: The something.
    """
    loop = asyncio.get_running_loop()

    def call() -> None:
        with suppress(RuntimeError):  # the loop is closed, and with it the chat
            loop.call_soon_threadsafe(look)

    return call
