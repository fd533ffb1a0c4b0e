"""Where a run is on its way to its Core: the states, what leads from one to another, and who is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, Literal

from ..errors import ConnectionLostError
from ..protocol.agent import CheckEdit, LeaseMessage
from ..protocol.inspection import InspectHaltPoint
from ..protocol.query_samples import RequestSample

#: What an agent does while its Core is away: it waits for it at the next halt point, goes on unedited,
#: or ends with ConnectionLostError.
OnDisconnect = Literal["wait", "continue", "raise"]


@dataclass(frozen=True)
class LinkLimits:
    """How much of a run may wait for its Core, and how long its agent waits for the Core in the end.

    Args:
        max_connected_bytes: Bytes that may wait for a Core that is there; then the agent waits. All
            runs that share a connection have them together, and each of these may have its share.
        max_disconnected_bytes: The same while the Core is away.
        window_bytes: Bytes of contents that may be on their way at once, until the Core says that it
            keeps them.
        bye_timeout_s: Seconds that the goodbye may take, since the Core last kept something of what
            comes before it.
        close_timeout_s: Seconds that `close()` waits for the Core; again while the Core takes more of
            what the agent told as it went on.
    """

    max_connected_bytes: int = 8 * 1024 * 1024
    max_disconnected_bytes: int = 64 * 1024 * 1024
    window_bytes: int = 64 * 1024 * 1024
    bye_timeout_s: float = 10.0
    close_timeout_s: float = 10.0


DEFAULT_LINK_LIMITS: Final = LinkLimits()


class RunConnectionState(Enum):
    """Where a run is on its way to a Core."""

    OPENING = auto()  # no Core has taken it yet
    OPEN = auto()  # a connection carries it
    DISCONNECTED = auto()  # its connection is lost, and it is to be found back
    RETURNING = auto()  # it said hello again on a connection that carries other runs
    ABANDONED = auto()  # no Core will ever take what it sends, and its agent goes on
    ENDED = auto()


class RunConnectionEvent(Enum):
    """What happens to a run on its way."""

    WELCOMED = auto()  # the Core has taken it, or goes on with it
    LOST = auto()  # the connection is gone, or the Core closed it for this run
    HELLO_SENT = auto()  # hello was said again
    REFUSED = auto()  # the Core doesn't go on with it now
    ABANDONED = auto()  # no Core ever will, and its agent goes on
    ENDED = auto()


#: Where each event leads; a missing entry is a bug, and moves nothing.
TRANSITIONS: Final[dict[RunConnectionState, dict[RunConnectionEvent, RunConnectionState]]] = {
    RunConnectionState.OPENING: {
        RunConnectionEvent.WELCOMED: RunConnectionState.OPEN,
        RunConnectionEvent.ENDED: RunConnectionState.ENDED,
    },
    RunConnectionState.OPEN: {
        RunConnectionEvent.LOST: RunConnectionState.DISCONNECTED,
        RunConnectionEvent.ENDED: RunConnectionState.ENDED,
    },
    RunConnectionState.DISCONNECTED: {
        RunConnectionEvent.WELCOMED: RunConnectionState.OPEN,
        RunConnectionEvent.HELLO_SENT: RunConnectionState.RETURNING,
        RunConnectionEvent.ABANDONED: RunConnectionState.ABANDONED,
        RunConnectionEvent.ENDED: RunConnectionState.ENDED,
    },
    RunConnectionState.RETURNING: {
        RunConnectionEvent.WELCOMED: RunConnectionState.OPEN,
        RunConnectionEvent.LOST: RunConnectionState.DISCONNECTED,
        RunConnectionEvent.REFUSED: RunConnectionState.DISCONNECTED,
        RunConnectionEvent.ENDED: RunConnectionState.ENDED,
    },
    RunConnectionState.ABANDONED: {RunConnectionEvent.ENDED: RunConnectionState.ENDED},
    RunConnectionState.ENDED: {},
}


@dataclass(frozen=True)
class RunConnectionListener:
    """Who is told of a run on its way. Called without a lock, on a thread of the link's.

    Args:
        is_in_continue_mode: Says whether the run continues, without a Core too, wherever no breakpoint
            halts it.
        on_lease: The Core pushed a lease.
        on_lease_absent: The Core is of version 1.
        on_edit_check: The Core asks about an edit.
        on_inspection: The Core asks what waits at a halt point.
        on_disconnected_changed: `RunProtocol.is_disconnected` may be another.
        on_opened: The first hello was answered, or never will be.
        on_connection_needed: The run isn't carried by the connection that it shared, and needs another.
        on_ended: The run is over; None where this side ended it.
    """

    is_in_continue_mode: Callable[[], bool]
    on_lease: Callable[[LeaseMessage], None]
    on_lease_absent: Callable[[], None]
    on_edit_check: Callable[[CheckEdit], None]
    on_inspection: Callable[[InspectHaltPoint | RequestSample], None]
    on_disconnected_changed: Callable[[], None]
    on_opened: Callable[[BaseException | None], None]
    on_connection_needed: Callable[[], None]
    on_ended: Callable[[ConnectionLostError | None], None]
