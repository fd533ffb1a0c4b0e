"""The LLM queries that this package makes itself, distinguished from an agent's.

The package's own query is recorded by its caller, or not at all, such as a summary's. So the
instrumentation of agents' libraries skips it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_is_own: ContextVar[bool] = ContextVar("agentstepper_own_query", default=False)


@contextmanager
def mark_own_query() -> Iterator[None]:
    """A context in which HTTP requests count as this package's own queries."""
    token = _is_own.set(True)
    try:
        yield
    finally:
        _is_own.reset(token)


def is_own_query() -> bool:
    """Whether an HTTP request of this context is a query of this package."""
    return _is_own.get()
