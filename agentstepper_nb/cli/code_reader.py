"""Who reads the output of `agentstepper code`, and may have enough of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..llm_wire.events import AgentEvent


class Reader:
    """Shows events to who reads the output, and ends the work once they have gone, as `head` does.

    Args:
        show: Shows an event.
    """

    def __init__(self, show: Callable[[AgentEvent], None]) -> None:
        self._show = show
        self._gone = False
        self._task: asyncio.Task[object] | None = None

    def hear(self, event: AgentEvent) -> None:
        """Show an event."""
        if self._gone:
            return
        try:
            self._show(event)
        except BrokenPipeError:
            self._gone = True
            if self._task is not None:
                self._task.cancel()

    @contextmanager
    def needed(self) -> Iterator[None]:
        """Inside, this task is cancelled once they have gone.

        Raises:
            BrokenPipeError: They have.
        """
        self._task = asyncio.current_task()
        try:
            yield
        except asyncio.CancelledError:
            if self._gone:
                raise BrokenPipeError from None
            raise
        finally:
            self._task = None
