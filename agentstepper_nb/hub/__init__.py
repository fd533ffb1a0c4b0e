"""The switchboard: connections, rights and the order of effects around the rules and the store."""

from .connection import Connection, Rights, Session
from .hub import Hub
from .retention import Keep
from .standalone import AgentStepperCore

__all__ = ["AgentStepperCore", "Connection", "Hub", "Keep", "Rights", "Session"]
