"""The base class of agent sessions of both protocol versions."""

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
    """The session of one agent, of either version, on its connection."""

    def __init__(self, hub: RunService, connection: Connection) -> None:
        self.hub = hub
        self.connection = connection
        self.run: str | None = None  # the live run it speaks for

    def receive_binary(self) -> None:
        """Refuse a binary frame; the connection stays open."""
        self._refuse(
            ProtocolError("binary_frame", "The message came as a binary frame. Send text frames."),
            None,
        )

    def on_closed(self) -> None:
        """Handle the connection's end."""
        run, self.run = self.run, None
        if run is not None and not self.hub.closing:
            self.hub.unregister_agent(run)
            self._handle_disconnect(run)

    def _refuse(self, error: Exception, text: str | None) -> None:
        """Answer a message with an error.

        Args:
            error: The error.
            text: The message; None if it wasn't text.
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
        """Detach this connection: the agent has opened another one for its run."""
        raise NotImplementedError("An agent of protocol version 1 can't reconnect to its run.")

    @abstractmethod
    def reply(self, halt_point: HaltPoint, answer: AnswerKind) -> None:
        """Send a halt point's answer."""

    @abstractmethod
    def send_lease(self, lease: LeaseGranted) -> None:
        """Send the agent the decisions that it may make by itself from now on."""

    @abstractmethod
    def _send_error(self, code: str, message: str, text: str | None) -> None: ...

    @abstractmethod
    def _handle_disconnect(self, run: str) -> None:
        """The agent hung up, without a word on its run."""


def describe_commit(commit: Commit) -> str:
    """A commit in words, for the log."""
    kind = "snapshot" if commit.snapshot else "commit"
    return f"{kind} {extract_first_line(commit.id[:12])}: {extract_first_line(commit.title)}"
