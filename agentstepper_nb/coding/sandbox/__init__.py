"""Confines the agent's commands by means of the operating system."""

from .base import (
    Access,
    Grant,
    Launch,
    ResourceLimits,
    Sandbox,
    SandboxChoice,
    SandboxMode,
    SessionGrants,
)

__all__ = [
    "Access",
    "Grant",
    "Launch",
    "ResourceLimits",
    "Sandbox",
    "SandboxChoice",
    "SandboxMode",
    "SessionGrants",
]
