"""What agents of both versions share, as the hub meets them."""

from __future__ import annotations

from abc import ABC, abstractmethod

from ..core import LeaseGranted
from ..core.summaries import extract_first_line
from ..errors import ProtocolError
from ..protocol.data_model import AnswerKind, Commit, HaltPoint
from .connection import Connection
from .error_replies import make_error_reply
from .run_service import RunService


class AgentPeerSession(ABC):
    """One agent, whatever its version, on its connection."""

    def __init__(self, hub: RunService, connection: Connection) -> None:
        self.hub = hub
        self.connection = connection
        self.run: str | None = None  # the live run it speaks for

    def receive_binary(self) -> None:
        """A binary frame came: refused, and the connection goes on."""
        self._refuse(
            ProtocolError("binary_frame", "The message came as a binary frame. Send text frames."),
            None,
        )

    def on_closed(self) -> None:
        """The connection is gone."""
        run, self.run = self.run, None
        if run is not None and not self.hub.closing:
            self.hub.unregister_agent(run)
            self._handle_disconnect(run)

    def _refuse(self, error: Exception, text: str | None) -> None:
        """Answer a message with an error.

        Args:
            error: What it raised.
            text: The message; None where it was no text.
        """
        refused = make_error_reply(error)
        if refused.is_internal:
            self.hub.log.error("the Core failed at a message of an agent", exc_info=error)
        else:
            self.hub.log.warning(
                "an agent's message was refused, %s: %s",
                refused.code,
                extract_first_line(refused.message),
            )
        self._send_error(refused.code, refused.message, text)

    def on_replaced(self) -> None:
        """The agent has opened another connection for its run."""
        raise NotImplementedError("An agent of protocol version 1 can't reconnect to its run.")

    @abstractmethod
    def reply(self, halt_point: HaltPoint, answer: AnswerKind) -> None:
        """Send a halt point's answer."""

    @abstractmethod
    def send_lease(self, lease: LeaseGranted) -> None:
        """Tell it what it may decide by itself from now on."""

    @abstractmethod
    def _send_error(self, code: str, message: str, text: str | None) -> None: ...

    @abstractmethod
    def _handle_disconnect(self, run: str) -> None:
        """The agent hung up, without a word on its run."""


def describe_commit(commit: Commit) -> str:
    """A commit in words, for the log."""
    kind = "snapshot" if commit.snapshot else "commit"
    return f"{kind} {extract_first_line(commit.id[:12])}: {extract_first_line(commit.title)}"
