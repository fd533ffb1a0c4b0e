"""Where a run is on its way to its Core: the states, what leads from one to another, and who is told."""

from __future__ import annotations

from enum import Enum, auto
from typing import Final, Literal, Protocol

from ..errors import ConnectionLostError
from ..protocol.agent import CheckEdit, Lease

#: What an agent does while its Core is away: it waits for it at the next breakpoint, goes on unedited,
#: or ends with ConnectionLostError.
OnDisconnect = Literal["wait", "continue", "raise"]


class RunState(Enum):
    """Where a run is on its way to a Core."""

    OPENING = auto()  # no Core has taken it yet
    OPEN = auto()  # a connection carries it
    AWAY = auto()  # its connection is lost, and it is to be found back
    RETURNING = auto()  # it said hello again on a connection that carries other runs
    ALONE = auto()  # no Core will ever take what it sends, and its agent goes on
    OVER = auto()


class RunEvent(Enum):
    """What happens to a run on its way."""

    WELCOMED = auto()  # the Core has taken it, or goes on with it
    LOST = auto()  # the connection is gone, or the Core closed it for this run
    GREETED = auto()  # hello was said again
    REFUSED = auto()  # the Core doesn't go on with it now
    FORSAKEN = auto()  # no Core ever will, and its agent goes on
    ENDED = auto()


#: Where each event leads; a missing entry is a bug, and moves nothing.
TRANSITIONS: Final[dict[RunState, dict[RunEvent, RunState]]] = {
    RunState.OPENING: {
        RunEvent.WELCOMED: RunState.OPEN,
        RunEvent.ENDED: RunState.OVER,
    },
    RunState.OPEN: {
        RunEvent.LOST: RunState.AWAY,
        RunEvent.ENDED: RunState.OVER,
    },
    RunState.AWAY: {
        RunEvent.WELCOMED: RunState.OPEN,
        RunEvent.GREETED: RunState.RETURNING,
        RunEvent.FORSAKEN: RunState.ALONE,
        RunEvent.ENDED: RunState.OVER,
    },
    RunState.RETURNING: {
        RunEvent.WELCOMED: RunState.OPEN,
        RunEvent.LOST: RunState.AWAY,
        RunEvent.REFUSED: RunState.AWAY,
        RunEvent.ENDED: RunState.OVER,
    },
    RunState.ALONE: {RunEvent.ENDED: RunState.OVER},
    RunState.OVER: {},
}


class RunListener(Protocol):
    """Who is told of a run on its way. Called without a lock, on a thread of the link's."""

    @property
    def goes_on(self) -> bool:
        """Whether the run continues, without a Core too, wherever no stop halts it."""

    def lease_came(self, lease: Lease) -> None:
        """The Core pushed a lease."""

    def no_lease_comes(self) -> None:
        """The Core is of version 1."""

    def check_came(self, asked: CheckEdit) -> None:
        """The Core asks about an edit."""

    def away_changed(self) -> None:
        """`RunProtocol.away` may be another."""

    def opened(self, error: BaseException | None) -> None:
        """The first hello was answered, or never will be."""

    def needs_connection(self) -> None:
        """The run isn't carried by the connection that it shared, and needs another."""

    def ended(self, lost: ConnectionLostError | None) -> None:
        """The run is over; None where this side ended it."""
