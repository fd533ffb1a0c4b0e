"""The interface of a connection that the hub needs from every server."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final, Protocol, runtime_checkable


class Connection(Protocol):
    """A WebSocket connection, as the hub uses it."""

    def send(self, text: str) -> None:
        """Send a text frame, in order. Never blocks or raises: `closed` reports a dead peer."""

    def close(self, code: int, reason: str) -> None:
        """Close with a WebSocket code and a reason for a person."""


#: Bytes of a close frame's reason: RFC 6455, 5.5.
_MAX_REASON_BYTES: Final = 123


def cut_close_reason(reason: str) -> str:
    """Cut a reason to the length of a close frame."""
    return reason.encode()[:_MAX_REASON_BYTES].decode(errors="ignore")


@runtime_checkable
class MeasuredConnection(Protocol):
    """A connection that reports how far behind its peer is."""

    @property
    def waiting_bytes(self) -> int:
        """Bytes that were sent and that the peer hasn't received."""


def count_waiting_bytes(connection: Connection) -> int:
    """Bytes that wait for a connection's peer, where that is known."""
    return connection.waiting_bytes if isinstance(connection, MeasuredConnection) else 0


@dataclass(frozen=True)
class AccessRights:
    """The rights of a peer: a UI's by its login, a program's by its token.

    Args:
        can_control: Whether the peer may do more than its kind always may: a UI watches, an agent
            reports its run.
        can_see_all_runs: Whether the peer may see the runs of every agent. A UI without this right sees
            and controls the runs of version 1's agents only, and can't import a run from a file.
        has_login: Whether the peer's port requires a token or a password.
        is_local: Whether the peer connected from this machine, or through a tunnel or proxy on it.
    """

    can_control: bool = True
    can_see_all_runs: bool = True
    has_login: bool = True
    is_local: bool = False


#: The rights of an agent.
NO_CONTROL: Final = AccessRights(can_control=False)
#: The rights of a version 1 UI without a token.
VERSION_1_RIGHTS: Final = AccessRights(can_see_all_runs=False)


def is_same_machine(peer: str | None, own: str | None) -> bool:
    """Whether a connection's two ends are on one machine.

    Args:
        peer: The address of the other end; None: it isn't known.
        own: The address of this end.
    """
    try:
        address = ip_address(peer or "")
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback or peer == own


class PeerSession(Protocol):
    """The hub's side of a connection with one peer. No method raises because of the peer's messages."""

    def receive(self, text: str) -> None:
        """Handle a text frame."""

    def receive_binary(self) -> None:
        """Refuse a binary frame; the connection stays open."""

    def on_closed(self) -> None:
        """Handle the connection's end. Idempotent."""
