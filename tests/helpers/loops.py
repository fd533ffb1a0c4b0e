"""Tests that are coroutines."""

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
