"""The memory of a Core: the `Store` protocol, and a store in memory that keeps `.run` files."""

from .base import Store
from .memory import MemoryStore

__all__ = ["MemoryStore", "Store"]
