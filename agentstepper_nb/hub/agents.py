"""Agents, of both versions, as the hub meets them."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Final

from msgspec import UNSET, Raw
from msgspec.structs import replace

from .._version import __version__
from ..core.summaries import one_line
from ..errors import CommandError, ProtocolError
from ..protocol import agent as v2
from ..protocol.frame import VERSION, decode_address
from ..protocol.v1 import agent as v1
from ..protocol.v1.commits import load_commit
from ..protocol.values import (
    AnswerKind,
    Breakpoint,
    Commit,
    Ending,
    Event,
    EventKind,
    Failure,
    Run,
)
from .connection import Connection
from .timelines import timeline

if TYPE_CHECKING:
    from .hub import Hub


class AgentSession(ABC):
    """One agent's connection, whatever its version."""

    def __init__(self, hub: Hub, connection: Connection) -> None:
        self.hub = hub
        self.connection = connection
        self.run: str | None = None  # the live run it speaks for

    def receive(self, text: str) -> None:
        """A text frame came."""
        try:
            self._receive(text)
        except Exception as error:
            self._refuse(error, text)

    def receive_binary(self) -> None:
        """A binary frame came: refused, and the connection goes on."""
        self._refuse(ProtocolError("binary_frame", "Send text frames: this one was binary."), "")

    def closed(self) -> None:
        """The connection is gone."""
        self._end(self._ending_of_silence())

    def _refuse(self, error: Exception, text: str) -> None:
        if isinstance(error, (ProtocolError, CommandError)):
            code, message = error.code, error.message
            self.hub.log.warning("an agent's message was refused, %s: %s", code, one_line(message))
        else:
            code, message = "internal", "The Core failed at this message; its log says how."
            self.hub.log.error("a message of an agent failed", exc_info=error)
        self._send_error(code, message, text)

    def _end(self, ending: Ending, failure: Failure | None = None) -> None:
        if self.run is None:
            return
        run, self.run = self.run, None
        self.hub.drop_agent(run)
        ids = (self.hub.new_id(), self.hub.new_id())
        outputs = self.hub.debugger.finish_run(run, ending, self.hub.clock(), ids, failure)
        self.hub.perform(outputs)
        self.hub.log.info("run %s ended: %s", one_line(run), ending)

    def _start(self, run: Run) -> None:
        self.hub.perform(self.hub.debugger.start_run(run))
        self.run = run.id
        self.hub.bind_agent(run.id, self)
        self.hub.log.info("run %s of %s started", one_line(run.id), one_line(run.program))

    def _commit(self, commit: Commit) -> None:
        self.hub.perform(self.hub.debugger.add_commit(commit))
        what = "snapshot" if commit.snapshot else "commit"
        self.hub.log.info("%s %s: %s", what, one_line(commit.id[:12]), one_line(commit.title))

    @abstractmethod
    def reply(self, breakpoint: Breakpoint, answer: AnswerKind) -> None:
        """Send a breakpoint's answer."""

    @abstractmethod
    def _receive(self, text: str) -> None: ...

    @abstractmethod
    def _send_error(self, code: str, message: str, text: str) -> None: ...

    @abstractmethod
    def _ending_of_silence(self) -> Ending: ...


class AgentSessionV2(AgentSession):
    """An agent of version 2: one connection, one run."""

    def __init__(self, hub: Hub, connection: Connection) -> None:
        super().__init__(hub, connection)
        self._sent = 0
        self._over = False
        self._tasks: set[asyncio.Task[None]] = set()

    def closed(self) -> None:
        """The connection is gone."""
        for task in self._tasks:
            task.cancel()
        super().closed()

    def reply(self, breakpoint: Breakpoint, answer: AnswerKind) -> None:
        """Send a breakpoint's answer."""
        how: v2.Answer
        if answer is AnswerKind.STOP:
            how = v2.Stop()
        else:
            edit = breakpoint.edit
            how = v2.Resume(data=UNSET if edit is None else Raw(edit.encode()))
        self._send(v2.Answered(breakpoint=breakpoint.id, answer=how))

    def _receive(self, text: str) -> None:
        envelope, message = v2.from_agent.decode(text)
        if isinstance(message, v2.Hello):
            self._hello(message)
            return
        if self._over:
            raise ProtocolError(
                "run_ended", "This run said bye: open a new connection for a new run."
            )
        if self.run is None:
            raise ProtocolError("hello_expected", "The first message must be hello: send it now.")
        if isinstance(message, v2.GetTimeline):
            id = None if envelope.id is UNSET else envelope.id
            task = asyncio.ensure_future(self._tell_timeline(self.run, id, text))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            return
        self._handle(self.run, message)

    async def _tell_timeline(self, run: str, id: str | None, text: str) -> None:
        """Answer with all that the agent sent before it asked."""
        try:
            await self.hub.recorded()
            history = await self.hub.history(run)
            # On a thread: to sum up long contents takes a while, in which others would wait.
            made = await asyncio.to_thread(timeline, history, self.hub.extensions.vocabulary)
            self._send(made, id)
        except Exception as error:  # ended and deleted meanwhile, say
            self._refuse(error, text)

    def _handle(self, run: str, message: object) -> None:
        debugger, now = self.hub.debugger, self.hub.clock()
        match message:
            case v2.EventBegun():
                if message.kind is EventKind.PROGRAM_FINISHED:
                    raise ProtocolError(
                        "invalid_message", "A run of version 2 ends with bye: send that instead."
                    )
                self.hub.perform(debugger.begin_event(_event(message, run)))
            case v2.BreakpointReached():
                self.hub.perform(debugger.reach_breakpoint(_breakpoint(message, run), now))
            case v2.Withdraw():
                self.hub.perform(debugger.withdraw(run, message.breakpoint, now))
            case v2.CommitMade():
                self._commit(_commit(message, run))
            case v2.Bye():
                self._over = True
                self._end(message.ending, message.failure)

    def _hello(self, hello: v2.Hello) -> None:
        if hello.version != VERSION:
            side = "the Core" if hello.version > VERSION else "the agent's SDK"
            raise ProtocolError(
                "version_mismatch",
                f"The SDK speaks version {hello.version}, this Core {VERSION}: upgrade {side}.",
            )
        if self.run is not None or self._over:
            raise ProtocolError(
                "already_open", "This connection said hello before: open another for another run."
            )
        self._start(
            Run(
                id=hello.run,
                name="",
                program=hello.program,
                started_at=self.hub.clock(),
                workspace=hello.workspace,
                pid=hello.pid,
                host=hello.host,
            )
        )
        self._send(
            v2.Welcome(version=VERSION, core=f"agentstepper_nb {__version__}", run=hello.run)
        )

    def _send(self, message: v2.CoreToAgent, id: str | None = None) -> None:
        self._sent += 1
        self.connection.send(v2.to_agent.encode(message, self._sent, id))

    def _send_error(self, code: str, message: str, text: str) -> None:
        number = decode_address(text).n
        self._send(v2.AgentError(code=code, message=message, n=number))

    def _ending_of_silence(self) -> Ending:
        return Ending.LOST


def _event(message: v2.EventBegun, run: str) -> Event:
    return Event(
        id=message.id,
        run=run,
        kind=message.kind,
        at=message.at,
        parent=message.parent,
        name=message.name,
        data=None if message.data is UNSET else bytes(message.data).decode(),
    )


def _breakpoint(message: v2.BreakpointReached, run: str) -> Breakpoint:
    return Breakpoint(
        id=message.id,
        run=run,
        event=message.event,
        seq=0,
        kind=EventKind.PROGRAM_STARTED,  # the debugger sets it from the event
        side=message.side,
        at=message.at,
        data=str(message.data, "utf-8"),
        waits=message.waits,
        summary=message.summary,
        outcome=message.outcome,
        failure=message.failure,
        usage=message.usage,
    )


def _commit(message: v2.CommitMade, run: str) -> Commit:
    return Commit(
        id=message.id,
        run=run,
        at=message.at,
        title=message.title,
        description=message.description,
        event=message.event,
        snapshot=message.snapshot,
        changes=message.changes,
    )


#: Characters of a program's name.
_NAME: Final = 1000


class AgentSessionV1(AgentSession):
    """An agent of version 1: one socket, one run after the other."""

    def __init__(self, hub: Hub, connection: Connection) -> None:
        super().__init__(hub, connection)
        self._last_event: str | None = None
        self._waiting: dict[str, str] = {}  # breakpoints without an answer, as they came

    def reply(self, breakpoint: Breakpoint, answer: AnswerKind) -> None:
        """Send the breakpoint back: as it came, or with its edit."""
        came = self._waiting.pop(breakpoint.id)
        if breakpoint.edit is None:
            self.connection.send(came)
            return
        answered = v1.V1Breakpoint(
            uuid=breakpoint.id,
            agent=breakpoint.agent,
            event_id=breakpoint.event,
            time=breakpoint.at,
            original_data=Raw(breakpoint.data.encode()),
            modified_data=Raw(breakpoint.edit.encode()),
            summary=breakpoint.summary,
        )
        self.connection.send(v1.encode(answered))

    def _receive(self, text: str) -> None:
        message, strict = v1.read(text)
        if isinstance(message, v1.V1Event):
            self._event(message)
        elif isinstance(message, v1.V1Breakpoint):
            self._breakpoint(message, self._started_run(), text, strict)
        elif isinstance(message, v1.V1Commit):
            run = self._started_run()
            self._commit(replace(load_commit(message), run=run, event=self._last_event))
        else:
            raise ProtocolError("unknown_message", "Only the Core sends errors.")

    def _event(self, message: v1.V1Event) -> None:
        kind, name = v1.load_kind(message.type, message.data)
        if kind is None:
            known = ", ".join(v1.TYPES)
            raise ProtocolError(
                "invalid_message", f"“{message.type[:80]}” is no event type; known: {known}."
            )
        if kind is EventKind.PROGRAM_STARTED:
            self._start_again(message)
        run = self._started_run()
        if kind is EventKind.PROGRAM_FINISHED:
            self._end(Ending.FINISHED)
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
                "No run has started here: the first message must be the event PROGRAM_STARTED.",
            )
        return self.run

    def _start_again(self, message: v1.V1Event) -> None:
        self._end(Ending.FINISHED)
        self._waiting.clear()
        program = v1.text(message.data)[:_NAME] or "agent"
        run = Run(
            id=self.hub.new_id(), name="", program=program, started_at=message.time, can_stop=False
        )
        self._start(run)

    def _breakpoint(self, message: v1.V1Breakpoint, run: str, text: str, strict: bool) -> None:
        data = str(message.original_data, "utf-8")
        breakpoint = Breakpoint(
            id=message.uuid,
            run=run,
            event=message.event_id,
            seq=0,
            kind=EventKind.PROGRAM_STARTED,  # the debugger sets it from the event
            side=self.hub.debugger.next_side(run, message.event_id),
            at=message.time,
            data=data,
            strict=strict or v1.is_strict(data),
            agent=message.agent,
            summary=message.summary,
        )
        outputs = self.hub.debugger.reach_breakpoint(breakpoint, self.hub.clock())
        self._waiting[breakpoint.id] = text
        self.hub.perform(outputs)

    def _send_error(self, code: str, message: str, text: str) -> None:
        self.connection.send(v1.encode(v1.V1Error(code=code, message=message)))

    def _ending_of_silence(self) -> Ending:
        return Ending.FINISHED
