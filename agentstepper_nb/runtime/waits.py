"""Waiting for the first of several things."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Coroutine
from typing import Any


async def first(*waits: Coroutine[Any, Any, object], within: float = math.inf) -> bool:
    """Wait until one of these is over; the others are cancelled.

    Args:
        waits: What is waited for.
        within: Seconds to wait at most.

    Returns:
        Whether one was over in that time.
    """
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        limit = None if within == math.inf else within
        done, _ = await asyncio.wait(tasks, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        return bool(done)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
