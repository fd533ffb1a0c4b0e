"""The LLM queries that this package makes itself, told apart from an agent's.

A query of a model provider of ours is an event by its caller's own doing, or none, as a summary's is. So
what is instrumented for agents passes it by.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_is_own: ContextVar[bool] = ContextVar("agentstepper_own_query", default=False)


@contextmanager
def mark_own_query() -> Iterator[None]:
    """Inside, HTTP requests of this context are queries of this package."""
    token = _is_own.set(True)
    try:
        yield
    finally:
        _is_own.reset(token)


def is_own_query() -> bool:
    """Whether an HTTP request of this context is a query of this package."""
    return _is_own.get()
