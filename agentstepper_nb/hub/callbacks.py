"""Awaits a callback."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


async def wait_for_callback(register: Callable[[Callable[[], None]], None]) -> None:
    """Wait until a callback is called.

    Args:
        register: Registers the callback. The callback must be called on this event loop.
    """
    done = asyncio.Event()
    register(done.set)
    await done.wait()
