"""Coroutines for callers that wait, also in a notebook, where a loop is running already."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def run_on_thread(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end on a thread of its own."""
    with ThreadPoolExecutor(1, "agentstepper-history") as thread:
        return thread.submit(asyncio.run, coroutine).result()
