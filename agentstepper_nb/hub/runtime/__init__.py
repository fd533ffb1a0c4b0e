"""Agents that run on their own, at the Core: the rules around their store, and telling what happens."""

from .runtime import Runtime
from .service import Right, RuntimeService

__all__ = ["Right", "Runtime", "RuntimeService"]
