"""Answers that are worked out in a task of their own, which says what it has as it has it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from typing import Any

from ..connector import Confirm, Item


class Saying:
    """Carries what a task says to who reads the answer, in its order.

    Args:
        confirm: Asks the person.
    """

    def __init__(self, confirm: Confirm) -> None:
        self._said: asyncio.Queue[Item | None] = asyncio.Queue()  # None: that was all
        self._confirm = confirm

    def say(self, item: Item) -> None:
        """There is more of the answer."""
        self._said.put_nowait(item)

    async def ask(self, text: str, choices: Sequence[str], details: Any = None) -> str:
        """Ask the person, once all that was said before is told; gives the choice."""
        await self._said.join()
        return await self._confirm(text, choices, details=details)

    async def read(
        self, work: Callable[[], Coroutine[Any, Any, None]]
    ) -> AsyncGenerator[Item, None]:
        """The answer, as it is said; at last the error that ended the work. Closing it cancels the work.

        Args:
            work: Begins it, once the first item is asked for.
        """
        task = asyncio.create_task(work())
        task.add_done_callback(lambda _: self._said.put_nowait(None))
        try:
            while (item := await self._said.get()) is not None:
                yield item
                self._said.task_done()
            task.result()
        finally:
            task.cancel()
            await asyncio.wait({task})
            if not task.cancelled():
                task.exception()  # heard, where nobody waits for it any more
