"""The interfaces of the peers that the service notifies: agents, UIs and listeners."""

from __future__ import annotations

from typing import Protocol

from ..core import LeaseGranted, RecordOutput
from ..protocol.data_model import AnswerKind, HaltPoint
from ..protocol.store_info import StoreInfo


class RunPeer(Protocol):
    """The session of one agent's run."""

    def send_lease(self, lease: LeaseGranted) -> None:
        """Send the agent the decisions that it may make by itself from now on."""

    def reply(self, halt_point: HaltPoint, answer: AnswerKind) -> None:
        """Send a halt point's answer."""

    def on_replaced(self) -> None:
        """Detach this connection: the agent has opened another one for its run."""


class AgentConnectionPeer(Protocol):
    """A connection of agents: of one, or of the runs of one process."""

    def on_core_closing(self) -> None:
        """Prepare for the Core's stop; changes made now are still recorded."""

    def on_core_closed(self) -> None:
        """Send the last messages and close: everything is recorded."""


class ViewPeer(Protocol):
    """The session of one UI."""

    def notify(self, output: RecordOutput, origin: ViewPeer | None) -> None:
        """Handle a record, and the UI whose command made it."""

    def notify_store(self, info: StoreInfo) -> None:
        """Handle a change of the store's state."""

    def on_core_closed(self) -> None:
        """Close: the Core has stopped."""


class RecordListener(Protocol):
    """A listener that is notified of every record, after the UIs."""

    def notify(self, output: RecordOutput) -> None:
        """Handle a record. Must return quickly, and must not raise."""

    async def close(self) -> None:
        """Close at the Core's stop."""
