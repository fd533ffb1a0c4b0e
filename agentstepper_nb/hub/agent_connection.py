"""One connection of version 2 agents, and the sessions of the runs that share the connection."""

from __future__ import annotations

from functools import partial

from msgspec import UNSET

from ..errors import ProtocolError
from ..protocol import agent as v2
from ..protocol.envelope import MAX_MESSAGE_BYTES, Envelope, decode_envelope, decode_envelope_header
from .agents_v2 import AgentPeerSessionV2
from .connection import AccessRights, Connection
from .run_service import RunService

#: The WebSocket code for a message above the limit.
_TOO_LARGE = 1009


class AgentConnection:
    """Routes an agent process's messages on one connection to the session of the message's run.

    The first hello opens the connection, and the messages of its run name no run. If that hello
    offers to share the connection, each further run of the process has its own session here, and its
    messages name the run. A message of any run may arrive in parts.

    Args:
        hub: The Core's service.
        connection: The agents' socket.
        rights: The rights of the agents' token.
    """

    def __init__(self, hub: RunService, connection: Connection, rights: AccessRights) -> None:
        self._hub = hub
        self._connection = connection
        self._rights = rights
        self._first = self._new_session(None)
        self._sessions: dict[str | None, AgentPeerSessionV2] = {None: self._first}
        self._parts: dict[str | None, list[str]] = {}  # of messages that haven't come whole

    def receive(self, text: str) -> None:
        """Handle a text frame."""
        if self._hub.closing:
            return  # an agent that can come back sends it again
        try:
            envelope = decode_envelope(text)
        except ProtocolError as error:
            run = self._session_key(decode_envelope_header(text).run)
            self._sessions.get(run, self._first).receive_unreadable(text, error)
            return
        run = None if envelope.run is UNSET else self._session_key(envelope.run)
        if envelope.type in ("hello", "part", "leave"):
            self._receive_for_connection(run, envelope, text)
            return
        # Without a hello, a session only refuses.
        session = self._sessions.get(run) or self._new_session(run)
        session.receive_message(envelope, text)

    def _receive_for_connection(self, run: str | None, envelope: Envelope, text: str) -> None:
        """Handle a message that may change which sessions the connection has."""
        if envelope.type == "part":
            self._receive_part(run, envelope, text)
        elif envelope.type == "leave":
            self._leave(run)
        else:
            session = self._sessions.get(run)
            if session is None or session.is_disconnected:
                session = self._sessions[run] = self._new_session(run)
                self._parts.pop(run, None)  # what a session that was closed left unfinished
            session.receive_message(envelope, text)

    def receive_binary(self) -> None:
        """Refuse a binary frame; the connection stays open."""
        self._first.receive_binary()

    def on_closed(self) -> None:
        """Handle the connection's end."""
        self._hub.unregister_connection(self)
        for session in self._sessions.values():
            session.on_closed()

    def on_core_closing(self) -> None:
        """Do nothing: all runs resume with the next Core."""

    def on_core_closed(self) -> None:
        """Acknowledge the recorded messages of each run, and close the connection."""
        for session in self._sessions.values():
            session.on_core_closed()
        self._connection.close(1001, "The Core is stopping.")

    def _session_key(self, run: str | None) -> str | None:
        """Find the key of the session for the run that a message names; None is the first run's."""
        return run if self._first.is_shared and run != self._first.greeted_run else None

    def _new_session(self, run: str | None) -> AgentPeerSessionV2:
        close = partial(self._close, run)
        return AgentPeerSessionV2(self._hub, self._connection, self._rights, run, close)

    def _receive_part(self, run: str | None, envelope: Envelope, text: str) -> None:
        """Store a part of a message until the message's last part arrives."""
        session = self._sessions.get(run) or self._new_session(run)
        try:
            part = v2.from_agent.decode_body(envelope)
        except ProtocolError as error:
            session.receive_unreadable(text, error)
            return
        assert isinstance(part, v2.MessagePart)
        parts = self._parts.setdefault(run, [])
        parts.append(part.text)
        if sum(map(len, parts)) > MAX_MESSAGE_BYTES:
            reason = "The parts of this message exceed the limit of 64 MiB together."
            session.close(_TOO_LARGE, reason)
        elif part.last:
            self._receive_joined(run, session)

    def _receive_joined(self, run: str | None, session: AgentPeerSessionV2) -> None:
        joined_text = "".join(self._parts.pop(run))
        try:
            envelope = decode_envelope(joined_text)
        except ProtocolError as error:
            session.receive_unreadable(joined_text, error)
        else:
            session.receive_message(envelope, joined_text)

    def _leave(self, run: str | None) -> None:
        """A run's agent hangs up, and the others of the connection stay."""
        self._parts.pop(run, None)
        session = self._sessions.pop(run, None)
        if session is not None:
            session.on_closed()

    def _close(self, run: str | None, code: int, reason: str) -> bool:
        """Close the connection if only one run uses it.

        Returns:
            False if other runs share the connection: then only the run's agent is notified.
        """
        self._parts.pop(run, None)
        if any(key != run and not each.is_disconnected for key, each in self._sessions.items()):
            return False
        self._connection.close(code, reason)
        return True
