"""Agents that run on their own, at the Core: the rules around their store, and telling what happens."""

from ...protocol.runtime_methods import MethodRight
from .runtime import Runtime
from .service import RuntimeService

__all__ = ["MethodRight", "Runtime", "RuntimeService"]
