"""Agents of version 1, as the hub meets them."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Raw
from msgspec.structs import replace

from ..core import LeaseGranted
from ..core.summaries import extract_first_line
from ..errors import ProtocolError
from ..protocol.data_model import AnswerKind, Event, EventKind, HaltPoint, Run, RunEnding
from ..protocol.v1 import agent as v1
from ..protocol.v1.commits import load_commit
from .agents import AgentPeerSession, describe_commit
from .connection import Connection
from .end_reasons import CORE_GONE, describe_closed_connection
from .run_service import RunService

#: Characters of a program's name.
_MAX_NAME_CHARS: Final = 1000
#: The begin of every message of the original AgentStepper's client.
_OF_THE_ORIGINAL: Final = re.compile(r'\s*\{\s*"message"\s*:\s*"(event|breakpoint|commit)"')
#: The close code of every connection that the Core ends. The original's client takes 1000 and 1001 for
#: a normal end, and then waits for its answer forever; 1011 raises in the client.
_CLOSED: Final = 1011


class AgentPeerSessionV1(AgentPeerSession):
    """An agent of version 1: one socket, one run after the other."""

    def __init__(self, hub: RunService, connection: Connection) -> None:
        super().__init__(hub, connection)
        self._last_event: str | None = None
        self._waiting: dict[str, str] = {}  # halt points without an answer, as they came
        self._is_over = False  # the Core has closed the connection

    def reply(self, halt_point: HaltPoint, answer: AnswerKind) -> None:
        """Send the halt point back: unchanged, or with its edit."""
        received_text = self._waiting.pop(halt_point.id)
        if halt_point.edit is None:
            self.connection.send(received_text)
            return
        answered = v1.V1Breakpoint(
            uuid=halt_point.id,
            agent=halt_point.agent,
            event_id=halt_point.event,
            time=halt_point.at,
            original_data=Raw(halt_point.data.encode()),
            modified_data=Raw(halt_point.edit.encode()),
            summary=halt_point.summary,
        )
        self.connection.send(v1.encode_message(answered))

    def send_lease(self, lease: LeaseGranted) -> None:
        """Send nothing: version 1 has no lease, so that each halt point waits for the Core's answer."""

    def receive(self, text: str) -> None:
        """Handle a text frame."""
        if not (self.hub.closing or self._is_over):
            try:
                self._receive(text)
            except Exception as error:
                self._refuse(error, text)

    def on_closed(self) -> None:
        """Handle the connection's end."""
        self.hub.unregister_connection(self)
        super().on_closed()

    def _receive(self, text: str) -> None:
        message, strict = v1.read_message(text)
        if isinstance(message, v1.V1Event):
            self._event(message)
        elif isinstance(message, v1.V1Breakpoint):
            self._halt_point(message, self._started_run(), text, strict)
        elif isinstance(message, v1.V1Commit):
            run = self._started_run()
            commit = replace(load_commit(message), run=run, event=self._last_event)
            self.hub.perform(self.hub.debugger.add_commit(commit))
            self.hub.log.info("%s", describe_commit(commit))
        else:
            raise ProtocolError("unknown_message", "Only the Core sends errors; an agent must not.")

    def _event(self, message: v1.V1Event) -> None:
        kind, name = v1.load_kind(message.type, message.data)
        if kind is None:
            known = ", ".join(v1.EVENT_TYPES)
            raise ProtocolError(
                "invalid_message",
                f"“{message.type[:80]}” isn't an event type. Use one of these: {known}.",
            )
        if kind is EventKind.PROGRAM_STARTED:
            self._start_again(message)
        run = self._started_run()
        if kind is EventKind.PROGRAM_FINISHED:
            self._end()
            return
        data = bytes(message.data).decode()
        event = Event(
            id=message.uuid,
            run=run,
            kind=kind,
            at=message.time,
            name=name,
            data=None if data == "null" or kind is EventKind.CUSTOM else data,
        )
        self.hub.perform(self.hub.debugger.begin_event(event))
        self._last_event = message.uuid

    def _started_run(self) -> str:
        if self.run is None:
            raise ProtocolError(
                "hello_expected",
                "No run has started on this connection. Send the event PROGRAM_STARTED first.",
            )
        return self.run

    def _start_again(self, message: v1.V1Event) -> None:
        self._end()
        self._waiting.clear()
        program = v1.decode_text_data(message.data)[:_MAX_NAME_CHARS] or "agent"
        run = Run(
            id=self.hub.new_id(), name="", program=program, started_at=message.time, can_stop=False
        )
        self.hub.check_store()
        self.hub.perform(self.hub.debugger.start_run(run))
        self.run = run.id
        self.hub.register_agent(run.id, self)
        self.hub.log.info(
            "run %s of %s started", extract_first_line(run.id), extract_first_line(program)
        )

    def _end(self) -> None:
        run, self.run = self.run, None
        if run is not None:
            self.hub.unregister_agent(run)
            self.hub.finish(run, RunEnding.FINISHED)

    def _halt_point(self, message: v1.V1Breakpoint, run: str, text: str, strict: bool) -> None:
        data = str(message.original_data, "utf-8")
        halt_point = HaltPoint(
            id=message.uuid,
            run=run,
            event=message.event_id,
            seq=0,
            kind=EventKind.PROGRAM_STARTED,  # the debugger sets it from the event
            side=self.hub.debugger.next_side(run, message.event_id),
            at=message.time,
            data=data,
            is_strict_json=strict or v1.is_strict(data),
            agent=message.agent,
            summary=message.summary,
        )
        outputs = self.hub.debugger.reach_halt_point(halt_point, self.hub.clock())
        self._waiting[halt_point.id] = text
        self.hub.perform(outputs)

    def _send_error(self, code: str, message: str, text: str | None) -> None:
        """Send an error to an agent that can read errors; close the connection of any other.

        The original's client can read halt points only. Any other message ends its reading thread, and
        its next halt point waits forever. So an error is sent only if the original can't have sent the
        message.
        """
        if self._waiting or (text is not None and _OF_THE_ORIGINAL.match(text)):
            self._close_with_error(code, message)
        else:
            self.connection.send(v1.encode_message(v1.V1Error(code=code, message=message)))

    def _close_with_error(self, code: str, message: str) -> None:
        self._is_over = True
        run, self.run = self.run, None
        if run is not None:
            self.hub.unregister_agent(run)
            self.hub.finish(
                run, RunEnding.LOST, describe_closed_connection(message), is_reported=False
            )
        self.connection.close(_CLOSED, f"{code}: {message}")

    def on_core_closing(self) -> None:
        """End the run: an agent of version 1 can't reconnect."""
        run, self.run = self.run, None
        if run is not None:
            self.hub.unregister_agent(run)
            self.hub.finish(run, RunEnding.LOST, CORE_GONE, is_reported=False)

    def on_core_closed(self) -> None:
        """Close."""
        self.connection.close(_CLOSED, "The Core is stopping.")

    def _handle_disconnect(self, run: str) -> None:
        self.hub.finish(run, RunEnding.FINISHED)  # to hang up is how this version ends
