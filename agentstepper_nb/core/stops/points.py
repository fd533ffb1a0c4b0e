"""What stops are told of."""

from __future__ import annotations

from typing import NamedTuple

from ...protocol.values import EventKind, Failure, Outcome, Side, Usage


class Point(NamedTuple):
    """A breakpoint, as stops see it: as the agent sent it, whatever edits came after.

    Args:
        data: Its JSON text, UTF-8.
    """

    kind: EventKind
    side: Side
    name: str | None
    data: bytes
    depth: int = 0
    outcome: Outcome | None = None
    failure: Failure | None = None
    usage: Usage | None = None
