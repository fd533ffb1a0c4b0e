"""Which runs this kernel has: what the SDK keeps to itself, asked for in one place."""

from __future__ import annotations

from ..sdk import AgentStepper
from ..sdk.session import _sessions


def id_of(stepper: AgentStepper) -> str:
    """The id of an AgentStepper's run."""
    return stepper._live().run


def newest() -> str | None:
    """The run that this kernel opened last, if it still knows one."""
    # Ids are UUIDv7, so that the greatest is the newest.
    return max((session.run for session in list(_sessions)), default=None)
