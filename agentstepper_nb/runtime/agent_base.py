"""What every agent is made of: who it is, and that it can be paused, interrupted and stopped.

All of it is cooperative: a mixin says what is wanted, and the agent's loop looks. They are used on one
event loop, and each initialises what comes after it, so that they go together in any order.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Coroutine
from typing import Any


class AgentBase:
    """An agent, by its names.

    Args:
        agent_id: The agent.
        session_id: Its session.
    """

    def __init__(self, agent_id: str, session_id: str) -> None:
        super().__init__()
        self.agent_id = agent_id
        self.session_id = session_id


class InterruptMixin:
    """Can be told something while it does something else."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._texts: asyncio.Queue[str] = asyncio.Queue()

    def send_text(self, text: str) -> None:
        """Send a text to the agent, and wake `receive_text`."""
        self._texts.put_nowait(text)

    def replace_texts(self, text: str) -> None:
        """Send a text in place of all texts that the agent hasn't received."""
        self.drain_texts()
        self.send_text(text)

    async def receive_text(self) -> str:
        """Wait until something is said, and take it."""
        return await self._texts.get()

    def drain_texts(self) -> list[str]:
        """Return and remove the texts that the agent hasn't received, in order."""
        texts = []
        while not self._texts.empty():
            texts.append(self._texts.get_nowait())
        return texts


class PauseMixin:
    """Can be asked to pause, and to go on."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._resumed = asyncio.Event()
        self._resumed.set()
        # Its opposite: an event is waited for on one side only.
        self._pause_requested = asyncio.Event()

    @property
    def is_pause_requested(self) -> bool:
        """Whether it is to pause."""
        return self._pause_requested.is_set()

    def request_pause(self) -> None:
        """Pause the agent before its next step."""
        self._resumed.clear()
        self._pause_requested.set()

    def request_resume(self) -> None:
        """Resume the agent."""
        self._pause_requested.clear()
        self._resumed.set()

    async def wait_until_resumed(self) -> None:
        """Wait while it is to pause."""
        await self._resumed.wait()

    async def wait_for_pause(self) -> None:
        """Wait until it is to pause."""
        await self._pause_requested.wait()


class StopMixin:
    """Can be asked to stop, once and for all."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._stop = asyncio.Event()

    @property
    def stopping(self) -> bool:
        """Whether it is to stop."""
        return self._stop.is_set()

    def request_stop(self) -> None:
        """Stop the agent before its next step."""
        self._stop.set()

    async def wait_for_stop(self) -> None:
        """Wait until it is to stop."""
        await self._stop.wait()


class Controllable(InterruptMixin, PauseMixin, StopMixin):
    """Can be told something, asked to pause and to go on, and asked to stop."""


async def wait_first_completed(
    *waits: Coroutine[Any, Any, object], timeout_s: float = math.inf
) -> bool:
    """Wait until one of these is over; the others are cancelled.

    Args:
        waits: What is waited for.
        timeout_s: Seconds to wait at most.

    Returns:
        Whether one was over in that time.
    """
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        limit = None if timeout_s == math.inf else timeout_s
        done, _ = await asyncio.wait(tasks, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        return bool(done)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
