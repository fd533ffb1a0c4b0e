"""The Core's connections: access rights, and the order of effects around `core` and `store`.

Imports `protocol`, `core`, `store`, `discover`, `models.provider`, `rpc`; on use `replay`.
Begin reading in `run_service`: every command passes it; `agents_v2` and `views_v2` are the
connections' two sides.
"""

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
