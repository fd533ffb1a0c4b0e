"""Clients of the Core's background agents: `AsyncAgents` on an event loop, `Agents` without one.

Imports what `runtime` may.
Begin reading in `agents`.
"""

from .agents import Agents, AsyncAgents

__all__ = ["Agents", "AsyncAgents"]
