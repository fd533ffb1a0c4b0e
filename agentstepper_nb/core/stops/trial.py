"""Stops before they are set: whether they can be, and where they would have hit."""

from __future__ import annotations

from ...protocol.records import RunHistory
from ...protocol.stops import Stop, StopTrial


def check(stop: Stop) -> None:
    """See that a stop can be set.

    Raises:
        ProtocolError: `invalid_stop`: what is wrong with its condition, and where.
    """
    raise NotImplementedError


def try_stop(stop: Stop, history: RunHistory) -> StopTrial:
    """Where a stop would have hit in a run that is recorded, whatever its program.

    Raises:
        ProtocolError: As `check`.
    """
    raise NotImplementedError
