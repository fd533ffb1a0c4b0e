"""The states of a run's connection to its Core, the events that change them, and the listener."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, Literal

from ..errors import ConnectionLostError
from ..protocol.agent import CheckEdit, LeaseMessage
from ..protocol.inspection import InspectHaltPoint
from ..protocol.query_samples import RequestSample

#: An agent's behaviour while its Core is away: wait at the next halt point, go on without edits, or
#: end with ConnectionLostError.
OnDisconnect = Literal["wait", "continue", "raise"]


@dataclass(frozen=True)
class LinkLimits:
    """Limits of a run's unsent data, and of an agent's wait for its Core at the end.

    Args:
        max_connected_bytes: Bytes that may be queued for a connected Core; then the agent waits. All
            runs that share a connection share these bytes, and each of the runs may use its share.
        max_disconnected_bytes: The same while the Core is away.
        window_bytes: Bytes of contents that may be sent before the Core acknowledges them.
        bye_timeout_s: Seconds that the goodbye may take, since the Core last acknowledged a message
            before the goodbye.
        close_timeout_s: Seconds that `close()` waits for the Core; counted anew each time that the
            Core has acknowledged some of the undelivered messages.
    """

    max_connected_bytes: int = 8 * 1024 * 1024
    max_disconnected_bytes: int = 64 * 1024 * 1024
    window_bytes: int = 64 * 1024 * 1024
    bye_timeout_s: float = 10.0
    close_timeout_s: float = 10.0


DEFAULT_LINK_LIMITS: Final = LinkLimits()


class RunConnectionState(Enum):
    """The state of a run's connection to a Core."""

    OPENING = auto()  # no Core has accepted the run yet
    OPEN = auto()  # a connection carries the run
    DISCONNECTED = auto()  # the run's connection is lost, and the run looks for its Core
    RETURNING = auto()  # the run said hello again on a connection that carries other runs
    ABANDONED = auto()  # no Core will ever accept the run's messages, and its agent goes on
    ENDED = auto()


class RunConnectionEvent(Enum):
    """An event that changes the state of a run's connection."""

    WELCOMED = auto()  # the Core has accepted the run, or resumes it
    LOST = auto()  # the connection is lost, or the Core closed it for this run
    HELLO_SENT = auto()  # hello was said again
    REFUSED = auto()  # the Core doesn't resume the run now
    ABANDONED = auto()  # no Core ever will, and the agent goes on
    ENDED = auto()


#: The next state, by state and event; a missing entry is a bug, and raises a KeyError.
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
    """Callbacks about a run's connection, called without a lock on a thread of the link.

    Args:
        is_in_continue_mode: Says whether the run continues, without a Core too, wherever no breakpoint
            halts it.
        on_lease: The Core pushed a lease.
        on_lease_absent: The Core is of version 1.
        on_edit_check: The Core asks about an edit.
        on_inspection: The Core inspects code that waits at a halt point.
        on_disconnected_changed: `RunProtocol.is_disconnected` may have changed.
        on_opened: The Core answered the first hello, or never will.
        on_connection_needed: The shared connection carries the run no more: it needs another.
        on_ended: The run is over; the argument is None where this side ended the run.
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
