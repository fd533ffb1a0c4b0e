"""Tests that are coroutines, and what they wait for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import ParamSpec

Params = ParamSpec("Params")


def on_loop(test: Callable[Params, Awaitable[None]]) -> Callable[Params, None]:
    """Run a test on an event loop of its own."""

    @wraps(test)
    def run(*args: Params.args, **named: Params.kwargs) -> None:
        async def main() -> None:
            await test(*args, **named)

        asyncio.run(main())

    return run


async def settle() -> None:
    """Let everything go on that can, until nothing is ready on this loop any more."""
    ready = asyncio.get_running_loop()._ready  # type: ignore[attr-defined]
    await asyncio.sleep(0)
    while ready:
        await asyncio.sleep(0)
