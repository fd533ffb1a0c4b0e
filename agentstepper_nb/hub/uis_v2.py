"""UIs of version 2: our view, and `agentstepper step`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from msgspec import UNSET, Struct
from msgspec.structs import replace

from .._version import __version__
from ..core import Saved, Vocabulary, debug_row, row
from ..errors import CommandError, ProtocolError
from ..protocol import records
from ..protocol import ui as v2
from ..protocol.frame import VERSION, decode_address, encode
from ..protocol.records import RunHistory
from ..protocol.values import Breakpoint, Commit, Event, EventKind, Row, Run
from .connection import Connection, Rights
from .uis import UiSession

if TYPE_CHECKING:
    from .hub import Hub


class UiSessionV2(UiSession):
    """A UI of version 2. It is told of every run's state, and of the contents of those it opened."""

    def __init__(self, hub: Hub, connection: Connection, rights: Rights) -> None:
        super().__init__(hub, connection, rights)
        self._sent = 0
        self._greeted = False
        self._opened: set[str] = set()
        self._told: dict[str, Run] = {}
        self._vocabulary = hub.extensions.vocabulary

    def greet(self) -> None:
        """The snapshot answers the UI's hello."""

    def _tell(self, saved: Saved, by: UiSession | None) -> None:
        if not self._greeted:
            return
        match saved.record:
            case (
                records.RunChanged(run=run)
                | records.RunStarted(run=run)
                | records.RunRenamed(run=run)
            ):
                self._tell_run(run)
            case records.RunImported(history=history):
                self._tell_run(history.run)
            case records.RunDeleted(run=run_id):
                self._told.pop(run_id, None)
                self._opened.discard(run_id)
                self._send(v2.RunGone(run=run_id))
            case records.EventSaved(event=event) if event.kind is EventKind.DEBUG_MESSAGE:
                self._tell_row(event.run, debug_row(event))
            case records.CommitSaved(commit=commit) if commit.run in self._opened:
                self._send(v2.CommitAdded(run=commit.run, commit=without_contents(commit)))
        if saved.breakpoint is not None and saved.breakpoint.run in self._opened:
            self._tell_row(saved.breakpoint.run, row(saved.breakpoint, self._vocabulary))

    def _tell_run(self, run: Run) -> None:
        """Tell a header. Of runs that aren't opened, only what a list of runs shows."""
        before = self._told.get(run.id)
        self._told[run.id] = run
        if before and run.id not in self._opened and _listed(before) == _listed(run):
            return
        self._send(v2.RunChanged(run=run))

    def _tell_row(self, run: str, changed: Row) -> None:
        if run in self._opened:
            self._send(v2.RowChanged(run=run, row=changed))

    # ---- commands -----------------------------------------------------------------------------------

    def _receive(self, text: str) -> None:
        envelope, command = self.hub.extensions.from_ui.decode(text)
        id = None if envelope.id is UNSET else envelope.id
        if isinstance(command, v2.UiHello):
            self._hello(command, id)
        elif not self._greeted:
            raise ProtocolError("hello_expected", "The first message must be hello: send it now.")
        elif isinstance(command, v2.OpenRun):
            self._later(partial(self._open, command.run, id), text)
        elif isinstance(command, (v2.GetMessage, v2.GetChange, v2.ExportRun)):
            self._later(partial(self._read, command, id), text)
        elif isinstance(command, v2.CloseRun):
            self._opened.discard(command.run)
            self._send(v2.Done(), id)
        elif envelope.type in self.hub.extensions.commands:
            self._later(partial(self._extended, envelope.type, command, id), text)
        else:
            self._check_control()
            if isinstance(command, v2.ImportRun):
                self._later(partial(self._import, command, id), text)
            else:
                self._control(command)
                self._send(v2.Done(), id)

    def _hello(self, hello: v2.UiHello, id: str | None) -> None:
        if hello.version != VERSION:
            side = "the server's agentstepper_nb" if hello.version > VERSION else "the view"
            raise ProtocolError(
                "version_mismatch",
                f"The view speaks version {hello.version}, this Core {VERSION}: upgrade {side}.",
            )
        if self._greeted:
            raise ProtocolError("already_open", "This connection said hello before: go on with it.")
        self._greeted = True
        runs = tuple(self.hub.runs())
        self._told = {run.id: run for run in runs}
        core = f"agentstepper_nb {__version__}"
        control = self.rights.control
        self._send(v2.CoreHello(version=VERSION, core=core, control=control, runs=runs), id)

    def _control(self, command: Struct) -> None:
        """Carry out a command that changes something."""
        hub = self.hub
        match command:
            case v2.Step():
                hub.step(command.run, command.breakpoint, command.revision, command.edit)
            case v2.Continue():
                hub.resume(command.run, command.breakpoint, command.revision, command.edit)
            case v2.Halt():
                hub.halt(command.run)
            case v2.StopRun():
                hub.stop(command.run)
            case v2.Edit():
                hub.edit(command.run, command.breakpoint, command.edit, command.revision)
            case v2.RenameRun():
                hub.rename(command.run, command.name, self)
            case v2.DeleteRun():
                hub.delete(command.run, self)

    async def _read(
        self, command: v2.GetMessage | v2.GetChange | v2.ExportRun, id: str | None
    ) -> None:
        self.hub.run(command.run)
        answer: v2.CoreToUi
        match command:
            case v2.GetMessage():
                answer = await self._message(command.run, command.message)
            case v2.GetChange():
                answer = await self._change(command)
            case v2.ExportRun():
                name, data = await self.hub.export(command.run)
                answer = v2.RunExported(name=name, data=data.decode("ascii"))
        self._send(answer, id)

    async def _import(self, command: v2.ImportRun, id: str | None) -> None:
        run = await self.hub.import_run(command.data.encode())
        self._send(v2.RunImported(run=run), id)

    async def _extended(self, name: str, body: Struct, id: str | None) -> None:
        """Carry out a command of an extension."""
        command = self.hub.extensions.commands[name]
        if command.control:
            self._check_control()
        try:
            answer = await command.handler(self.hub, body)
            text = None if answer is None else encode(name, answer, self._sent + 1, id)
        except (CommandError, ProtocolError):
            raise
        except Exception:
            self.hub.log.exception("The command %s of an extension failed.", name)
            raise CommandError(
                "extension_failed",
                f"The command {name} of an extension failed; the Core's log says how.",
            ) from None
        if text is None:
            self._send(v2.Done(), id)
        else:
            self._sent += 1
            self.connection.send(text)

    async def _open(self, run: str, id: str | None) -> None:
        self._begin_read()
        try:
            history = await self.hub.history(run)
            self._opened.add(run)
            commits = tuple(without_contents(commit) for commit in history.commits)
            told = rows(history, self._vocabulary)
            self._send(v2.RunOpened(run=history.run, rows=told, commits=commits), id)
        finally:
            self._end_read()

    async def _message(self, run: str, message: str) -> v2.MessageBody:
        found = await self.hub.store.message(run, message)
        match found:
            case Breakpoint():
                return v2.MessageBody(
                    run=run,
                    message=message,
                    revision=found.revision,
                    data=found.data,
                    edit=found.edit,
                    strict=found.strict,
                )
            case Event(kind=EventKind.DEBUG_MESSAGE):
                data = found.data or "null"
                return v2.MessageBody(
                    run=run, message=message, revision=1, data=data, edit=None, strict=True
                )
        raise CommandError(
            "unknown_content", "This run has no such message: open the run again.", run
        )

    async def _change(self, command: v2.GetChange) -> v2.ChangeBody:
        commit = await self.hub.store.commit(command.run, command.commit)
        for change in commit.changes if commit else ():
            if change.path == command.path:
                return v2.ChangeBody(
                    run=command.run, commit=command.commit, path=change.path, body=change.body
                )
        raise CommandError(
            "unknown_content",
            "This run has no such commit or file: open the run again.",
            command.run,
        )

    # ---- sending ------------------------------------------------------------------------------------

    def _send(self, message: v2.CoreToUi, id: str | None = None) -> None:
        self._sent += 1
        self.connection.send(v2.to_ui.encode(message, self._sent, id))

    def _send_error(self, code: str, message: str, run: str | None, text: str) -> None:
        self._send(v2.UiError(code=code, message=message, run=run), decode_address(text).id)


def _listed(run: Run) -> tuple[object, ...]:
    return (run.name, run.state, run.pending, run.ending, run.stopping)


def without_contents(commit: Commit) -> Commit:
    """A commit whose changes don't carry the contents of files."""
    return replace(commit, changes=tuple(replace(change, body=None) for change in commit.changes))


def rows(history: RunHistory, vocabulary: Vocabulary) -> tuple[Row, ...]:
    """A run's rows, in order."""
    made = [row(breakpoint, vocabulary) for breakpoint in history.breakpoints]
    made += [debug_row(event) for event in history.events if event.kind is EventKind.DEBUG_MESSAGE]
    return tuple(sorted(made, key=lambda each: each.seq))
