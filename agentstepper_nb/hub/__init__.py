"""The switchboard: connections, rights and the order of effects around the rules and the store."""

from .connection import AccessRights, Connection, PeerSession
from .hub import Hub
from .retention import RetentionLimits
from .standalone import AgentStepperCore

__all__ = [
    "AccessRights",
    "AgentStepperCore",
    "Connection",
    "Hub",
    "PeerSession",
    "RetentionLimits",
]
