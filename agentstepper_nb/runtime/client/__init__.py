"""Clients of the Core's agents: `AsyncAgents` on an event loop, `Agents` without one."""

from .agents import AsyncAgents
from .blocking import Agents

__all__ = ["Agents", "AsyncAgents"]
