"""Runs on their way to a Core, without threads and sockets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agentstepper_nb.errors import ConnectionLostError
from agentstepper_nb.protocol.agent import CheckEdit, Hello, LeaseMessage
from agentstepper_nb.sdk.connection_state import DEFAULT_LINK_LIMITS, LinkLimits, OnDisconnect
from agentstepper_nb.sdk.run_protocol import RunProtocol
from agentstepper_nb.sdk.send_queue import PendingFutures


class RecordingListener:
    """Keeps what a run's agent is told."""

    def __init__(self) -> None:
        self.leases: list[LeaseMessage] = []
        self.opened_with: list[BaseException | None] = []
        self.ended_with: list[ConnectionLostError | None] = []
        self.moves = 0  # how often it needed a connection of its own

    def is_in_continue_mode(self) -> bool:
        return False

    def on_lease(self, lease: LeaseMessage) -> None:
        self.leases.append(lease)

    def on_lease_absent(self) -> None:
        pass

    def on_edit_check(self, asked: CheckEdit) -> None:
        pass

    def on_disconnected_changed(self) -> None:
        pass

    def on_opened(self, error: BaseException | None) -> None:
        self.opened_with.append(error)

    def on_connection_needed(self) -> None:
        self.moves += 1

    def on_ended(self, lost: ConnectionLostError | None) -> None:
        self.ended_with.append(lost)


def make_run_protocol(
    waiting: PendingFutures,
    id: str = "r",
    listener: Any = None,
    on_disconnect: OnDisconnect = "wait",
    patient: bool = False,
    limits: LinkLimits = DEFAULT_LINK_LIMITS,
    release_halt: Callable[[], None] = lambda: None,
) -> RunProtocol:
    """A run that has said nothing yet."""
    hello = Hello(
        version=2,
        sdk="",
        program="P",
        run=id,
        secret=f"the secret of {id}",
        pid=1,
        host="",
        boot="",
        shares_connection=True,
    )
    told = listener or RecordingListener()
    return RunProtocol(
        hello, on_disconnect, patient, waiting, told, lambda: False, release_halt, limits
    )
