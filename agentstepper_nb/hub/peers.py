"""What the service needs of those it tells: agents, UIs and listeners."""

from __future__ import annotations

from typing import Protocol

from ..core import LeaseGranted, RecordOutput
from ..protocol.data_model import AnswerKind, HaltPoint
from ..protocol.store_info import StoreInfo


class RunPeer(Protocol):
    """The session of one agent's run."""

    def send_lease(self, lease: LeaseGranted) -> None:
        """Tell the agent what it may decide by itself from now on."""

    def reply(self, halt_point: HaltPoint, answer: AnswerKind) -> None:
        """Send a halt point's answer."""

    def on_replaced(self) -> None:
        """The agent has opened another connection for its run."""


class AgentConnectionPeer(Protocol):
    """A connection of agents: of one, or of the runs of one process."""

    def on_core_closing(self) -> None:
        """The Core is about to stop; what happens now is still kept."""

    def on_core_closed(self) -> None:
        """All is kept: say the last and close."""


class ViewPeer(Protocol):
    """The session of one UI."""

    def notify(self, output: RecordOutput, origin: ViewPeer | None) -> None:
        """Tell what was recorded, and by whose command."""

    def notify_store(self, info: StoreInfo) -> None:
        """Tell how runs are kept, where that has changed."""

    def on_core_closed(self) -> None:
        """The Core has stopped: close."""


class RecordListener(Protocol):
    """Who is told, after the UIs, of all that was recorded."""

    def notify(self, output: RecordOutput) -> None:
        """This was recorded. Mustn't take long, nor raise."""

    async def close(self) -> None:
        """The Core stops."""
