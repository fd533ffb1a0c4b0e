"""Clients of the Core's agents: `AsyncAgents` on an event loop, `Agents` without one."""

from .agents import Agents, AsyncAgents

__all__ = ["Agents", "AsyncAgents"]
