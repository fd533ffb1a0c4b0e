"""Edits that the Core asks about before it sets them: each is read on a thread of its own."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable

from msgspec import Raw

from ..protocol.agent import AgentMessage, CheckEdit, EditChecked

#: Says why an edit can't be taken; None where it can.
Check = Callable[[Raw], str | None]


class EditChecks:
    """What reads the edits of the breakpoints that wait.

    Args:
        send: Sends messages of the run.
    """

    def __init__(self, send: Callable[[tuple[AgentMessage, ...]], None]) -> None:
        self._send = send
        self._checks: dict[str, tuple[contextvars.Context, Check]] = {}

    def expect(self, breakpoint: str, check: Check) -> None:
        """Read edits of a breakpoint by this, in a copy of the context that it is called in."""
        self._checks[breakpoint] = contextvars.copy_context(), check

    def forget(self, breakpoint: str) -> None:
        """A breakpoint waits no more."""
        self._checks.pop(breakpoint, None)

    def hear(self, asked: CheckEdit) -> None:
        """Answer a question of the Core's. Validators may take long: nobody waits for them here."""
        threading.Thread(
            target=self._answer, args=(asked,), name="agentstepper-check", daemon=True
        ).start()

    def _answer(self, asked: CheckEdit) -> None:
        refusal = None
        found = self._checks.get(asked.breakpoint)
        if found is not None:  # else it waits no more, as the Core is about to see
            context, check = found
            refusal = context.copy().run(check, asked.data)
        self._send((EditChecked(check=asked.check, refusal=refusal),))
