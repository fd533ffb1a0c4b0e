"""What tests that are coroutines wait for."""

from __future__ import annotations

import asyncio


async def settle() -> None:
    """Let everything go on that can, until nothing is ready on this loop any more."""
    ready = asyncio.get_running_loop()._ready  # type: ignore[attr-defined]
    await asyncio.sleep(0)
    while ready:
        await asyncio.sleep(0)
