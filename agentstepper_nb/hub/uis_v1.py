"""UIs of version 1: AgentStepper's own web UI."""

from __future__ import annotations

from typing import Final

from ..core import Saved
from ..protocol import records
from ..protocol.records import RunHistory
from ..protocol.v1 import ui as v1
from ..protocol.values import EventKind
from .uis import UiSession

#: What a snapshot may hold, in characters of contents; live and halted runs always.
SNAPSHOT: Final = 256 * 1024 * 1024


class UiSessionV1(UiSession):
    """A UI of version 1. It is told of every run."""

    def greet(self) -> None:
        """Send the snapshot."""
        self._later(self._snapshot())

    async def _snapshot(self) -> None:
        histories = await self._histories()
        active = self.hub.debugger.active
        self.connection.send(
            v1.init_app_state(
                histories,
                active.id if active else None,
                active.pending[0] if active and active.pending else None,
            )
        )

    async def _histories(self) -> list[RunHistory]:
        """The newest runs that fit, oldest first; live ones always."""
        chosen: list[RunHistory] = []
        size = 0
        for run in reversed(self.hub.runs()):
            if size > SNAPSHOT and not run.live:
                continue
            history = await self.hub.store.history(run.id)
            size += sum(len(point.data) for point in history.breakpoints)
            chosen.append(history)
        return chosen[::-1]

    def tell(self, saved: Saved, by: UiSession | None) -> None:
        """Tell what was recorded, in version 1's order of messages."""
        match saved.record:
            case records.RunStarted(run=run):
                self._send(v1.new_run(RunHistory(run=run)))
                self._send(v1.update_run_state(run))
            case records.RunChanged(run=run):
                self._send(v1.update_run_state(run))
            case records.RunImported(history=history):
                self._send(v1.new_run(history))
            case records.RunRenamed() | records.RunDeleted():
                if by is not self:
                    self.greet()
            case records.BreakpointSaved(breakpoint=breakpoint):
                self._send(v1.new_message(breakpoint))
            case records.EventSaved(event=event) if event.kind is EventKind.DEBUG_MESSAGE:
                self._send(v1.new_debug_message(event))
            case records.CommitSaved(commit=commit):
                self._send(v1.new_commit(commit))

    def _receive(self, text: str) -> None:
        command = v1.decode(text)
        if isinstance(command, v1.V1Download):
            self._later(self._download(command), text)
            return
        self._check_control()
        self._control(command)

    def _control(self, command: v1.V1Command) -> None:
        hub = self.hub
        match command:
            case v1.V1Step():
                hub.step(command.run)
            case v1.V1Continue():
                hub.resume(command.run)
            case v1.V1Halt():
                hub.halt(command.run)
            case v1.V1Rename():
                hub.rename(command.run, command.name, self)
            case v1.V1Delete():
                hub.delete(command.run, self)
            case v1.V1Import():
                hub.import_run(command.data.encode())
            case v1.V1Update():
                edit = bytes(command.content).decode()
                hub.edit(command.run, command.message, None if edit == "null" else edit)

    async def _download(self, command: v1.V1Download) -> None:
        self._send(v1.run_export(*await self.hub.export(command.run)))

    def _send(self, text: str) -> None:
        self.connection.send(text)

    def _send_error(self, code: str, message: str, run: str | None, text: str) -> None:
        self._send(v1.error(code, message, run))
