"""Runs on their way to a Core, without threads and sockets."""

from __future__ import annotations

from typing import Any

from agentstepper_nb.errors import ConnectionLostError
from agentstepper_nb.protocol.agent import CheckEdit, Hello, Lease
from agentstepper_nb.sdk.run_protocol import RunProtocol
from agentstepper_nb.sdk.run_state import OnDisconnect
from agentstepper_nb.sdk.send_queue import Waiting


class Told:
    """Keeps what a run's agent is told."""

    goes_on = False

    def __init__(self) -> None:
        self.leases: list[Lease] = []
        self.opened_with: list[BaseException | None] = []
        self.ended_with: list[ConnectionLostError | None] = []
        self.moves = 0  # how often it needed a connection of its own

    def lease_came(self, lease: Lease) -> None:
        self.leases.append(lease)

    def no_lease_comes(self) -> None:
        pass

    def check_came(self, asked: CheckEdit) -> None:
        pass

    def away_changed(self) -> None:
        pass

    def opened(self, error: BaseException | None) -> None:
        self.opened_with.append(error)

    def needs_connection(self) -> None:
        self.moves += 1

    def ended(self, lost: ConnectionLostError | None) -> None:
        self.ended_with.append(lost)


def a_run(
    waiting: Waiting,
    id: str = "r",
    listener: Any = None,
    on_disconnect: OnDisconnect = "wait",
    patient: bool = False,
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
        shares=True,
    )
    told = listener or Told()
    return RunProtocol(hello, on_disconnect, patient, waiting, told, lambda: False, lambda: None)
