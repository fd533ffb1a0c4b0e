"""UIs of version 2: our view, and `agentstepper step`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec import UNSET, Struct

from .._version import __version__
from ..core import Saved, debug_row, row
from ..errors import CommandError, ProtocolError
from ..protocol import records
from ..protocol import ui as v2
from ..protocol.frame import VERSION, decode_address, encode
from ..protocol.values import EventKind, Row, Run, StoreInfo
from .connection import Connection, Rights
from .reads import Read, answer, opened, without_contents
from .uis import UiSession

if TYPE_CHECKING:
    from .hub import Hub


class UiSessionV2(UiSession):
    """A UI of version 2. It is told of every run's state, and of the contents of those it opened."""

    def __init__(self, hub: Hub, connection: Connection, rights: Rights) -> None:
        super().__init__(hub, connection, rights)
        self._sent = 0
        self._said_hello = False
        self._greeted = False  # it got the answer: from now on it is told what happens
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
                | records.RunTagged(run=run)
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
            case records.NoteSaved(note=note) if note.run in self._opened:
                self._send(v2.NoteChanged(note=note))
        if saved.commit is not None and saved.commit.run in self._opened:
            changed = without_contents(saved.commit)
            self._send(v2.CommitChanged(run=changed.run, commit=changed))
        if saved.breakpoint is not None and saved.breakpoint.run in self._opened:
            self._tell_row(saved.breakpoint.run, row(saved.breakpoint, self._vocabulary))

    def tell_store(self, info: StoreInfo) -> None:
        """Tell how runs are kept, where that has changed."""
        if self._greeted:
            self._send(v2.StoreChanged(store=info))

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
        elif not self._said_hello:
            raise ProtocolError("hello_expected", "The first message must be hello: send it now.")
        elif isinstance(command, v2.OpenRun):
            self._later(partial(self._open, command.run, id), text)
        elif isinstance(command, Read):
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
            elif isinstance(command, v2.WriteNote):
                self._later(partial(self._write_note, command, id), text)
            else:
                self._control(command)
                # After all that it brought was told.
                self.hub.when_recorded(partial(self._send, v2.Done(), id))

    def _hello(self, hello: v2.UiHello, id: str | None) -> None:
        if hello.version != VERSION:
            side = "the server's agentstepper_nb" if hello.version > VERSION else "the view"
            raise ProtocolError(
                "version_mismatch",
                f"The view speaks version {hello.version}, this Core {VERSION}: upgrade {side}.",
            )
        if self._said_hello:
            raise ProtocolError("already_open", "This connection said hello before: go on with it.")
        self._said_hello = True
        self.hub.when_listed(partial(self._welcome, id))

    def _welcome(self, id: str | None, runs: Sequence[Run]) -> None:
        self._greeted = True
        self._told = {run.id: run for run in runs}
        core = f"agentstepper_nb {__version__}"
        hello = v2.CoreHello(
            version=VERSION,
            core=core,
            control=self.rights.control,
            runs=tuple(runs),
            more=0,
            store=self.hub.kept,
            stops=(),
            prices=(),
        )
        self._send(hello, id)

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
            case v2.TagRun():
                hub.tag(command.run, command.tags)
            case v2.DeleteRun():
                hub.delete(command.run, self)

    async def _read(self, command: Read, id: str | None) -> None:
        self._send(await answer(self.hub, command), id)

    async def _write_note(self, command: v2.WriteNote, id: str | None) -> None:
        await self.hub.write_note(command.run, command.message, command.text)
        await self.hub.recorded()
        self._send(v2.Done(), id)

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
            self._send(opened(history, self._vocabulary), id)
        finally:
            self._end_read()

    # ---- sending ------------------------------------------------------------------------------------

    def _send(self, message: v2.CoreToUi, id: str | None = None) -> None:
        self._sent += 1
        self.connection.send(v2.to_ui.encode(message, self._sent, id))

    def _send_error(self, code: str, message: str, run: str | None, text: str) -> None:
        self._send(v2.UiError(code=code, message=message, run=run), decode_address(text).id)


def _listed(run: Run) -> tuple[object, ...]:
    return (
        *(run.name, run.tags, run.state, run.pending, run.ending, run.stopping),
        *(run.failure, run.exit_code, run.detached_at),
    )
