"""What every agent is made of: who it is, and that it can be paused, interrupted and stopped.

All of it is cooperative: a mixin says what is wanted, and the agent's loop looks. They are used on one
event loop, and each initialises what comes after it, so that they go together in any order.
"""

from __future__ import annotations

import asyncio
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

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._said: asyncio.Queue[str] = asyncio.Queue()

    def send_text(self, text: str) -> None:
        """Say something; who waits in `receive_text` wakes."""
        self._said.put_nowait(text)

    def replace_texts(self, text: str) -> None:
        """Say something in the place of all that nobody took."""
        self.take_texts()
        self.send_text(text)

    async def receive_text(self) -> str:
        """Wait until something is said, and take it."""
        return await self._said.get()

    def take_texts(self) -> list[str]:
        """Take what was said and nobody took, in its order."""
        said = []
        while not self._said.empty():
            said.append(self._said.get_nowait())
        return said


class PauseMixin:
    """Can be asked to pause, and to go on."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._going = asyncio.Event()
        self._going.set()
        self._pausing = asyncio.Event()  # its opposite: an event is waited for on one side only

    @property
    def paused(self) -> bool:
        """Whether it is to pause."""
        return self._pausing.is_set()

    def request_pause(self) -> None:
        """Let it pause before its next step."""
        self._going.clear()
        self._pausing.set()

    def request_resume(self) -> None:
        """Let it go on."""
        self._pausing.clear()
        self._going.set()

    async def wait_until_resumed(self) -> None:
        """Wait while it is to pause."""
        await self._going.wait()

    async def wait_for_pause(self) -> None:
        """Wait until it is to pause."""
        await self._pausing.wait()


class StopMixin:
    """Can be asked to stop, once and for all."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._stop = asyncio.Event()

    @property
    def stopping(self) -> bool:
        """Whether it is to stop."""
        return self._stop.is_set()

    def request_stop(self) -> None:
        """Let it stop before its next step."""
        self._stop.set()

    async def wait_for_stop(self) -> None:
        """Wait until it is to stop."""
        await self._stop.wait()


class Controllable(InterruptMixin, PauseMixin, StopMixin):
    """Can be told something, asked to pause and to go on, and asked to stop."""
