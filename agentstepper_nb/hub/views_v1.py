"""UIs of version 1: AgentStepper's own web UI."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Final

from ..core import RecordOutput
from ..core.summaries import describe_call
from ..errors import CommandError, NeedsApprovalError, StoreError
from ..protocol import records
from ..protocol.data_model import Commit, Event, EventKind, HaltPoint, Run
from ..protocol.records import Record, RunHistory
from ..protocol.store_info import StoreInfo
from ..protocol.v1 import ui as v1
from ..protocol.v1.commits import select_commits
from .connection import AccessRights, Connection
from .peers import ViewPeer
from .run_service import RunService
from .views import WATCH_ONLY, RequestedEdit, ViewSession

#: A snapshot of so many characters more is sent again a second later.
_CHARS_PER_S: Final = 4 * 1024 * 1024

#: The message where a call needs approval: version 1 has no approvals.
_APPROVE_ELSEWHERE: Final = (
    "The call {call} asks for approval, and a view of version 1 can't approve: nothing was done. "
    "Approve or deny the call in the notebook's view, with `agentstepper step`, or in the agent's own "
    "terminal."
)

_ADD_IT: Final = "Add ?token= and the control token to the address by which the view connects."


class ViewSessionV1(ViewSession):
    """The session of a UI of version 1, which is sent every run that the UI's rights let it see."""

    def __init__(self, hub: RunService, connection: Connection, rights: AccessRights) -> None:
        super().__init__(hub, connection, rights)
        #: The ids in the snapshot, until no notification can repeat one.
        self._shown: set[str] = set()
        self._size = 0  # characters of the last snapshot
        self._resend_timer: asyncio.TimerHandle | None = None
        self._refused_edits: list[tuple[str, str]] = []  # the run, and why
        self._explained_pending: tuple[
            str, ...
        ] = ()  # what was pending where a note says why it needs a yes

    def on_closed(self) -> None:
        """Handle the connection's end."""
        if self._resend_timer is not None:
            self._resend_timer.cancel()
        super().on_closed()

    def send_initial_state(self) -> None:
        """Send the snapshot. Notifications meanwhile are sent after it."""
        self._begin_read()
        self._run_task(self._snapshot)

    async def _snapshot(self) -> None:
        try:
            histories = await self._histories()
            newest = self.hub.debugger.active
            recorded = {each.run.id: each.run for each in histories}
            active = recorded.get(newest.id) if newest else None  # as the snapshot has it
            state = v1.encode_init_app_state(
                histories,
                active.id if active else None,
                active.pending[0] if active and active.pending else None,
            )
            self._size = len(state)
            self._send(state)
            self._send_halted(recorded.values(), active)
            self._shown = {id for history in histories for id in _ids(history)}
        finally:
            self._end_read()
            self.hub.call_when_recorded(self._forget_shown)

    def _send_halted(self, runs: Iterable[Run], active: Run | None) -> None:
        """Send the state of each halted run, of the active one last.

        The snapshot names one message at which a run is halted: the UI allows edits of no other.

        Args:
            runs: The runs in the snapshot.
            active: The run that the snapshot names.
        """
        halted = [run for run in runs if run.pending]
        if len(halted) > 1:
            for run in sorted(halted, key=lambda run: run is active):
                self._send(v1.encode_run_state(run))

    def _resend_snapshot_later(self) -> None:
        """Schedule the snapshot again: version 1 has no message that changes an earlier message."""
        if self._resend_timer is None:
            loop = asyncio.get_running_loop()
            self._resend_timer = loop.call_later(
                self.hub.limits.snapshot_pause_s + self._size / _CHARS_PER_S,
                self._resend_snapshot,
            )

    def _resend_snapshot(self) -> None:
        self._resend_timer = None
        if not self.hub.closing:
            self.send_initial_state()

    def notify_store(self, info: StoreInfo) -> None:
        """Version 1 has no word for it."""

    def _forget_shown(self) -> None:
        self._shown = set()

    async def _histories(self) -> list[RunHistory]:
        """The newest runs that fit, oldest first; live ones always."""
        chosen: list[RunHistory] = []
        remaining_chars = self.hub.limits.max_snapshot_chars
        for run in reversed(self.hub.runs()):
            if not self._may_show(run) or (not run.live and remaining_chars <= 0):
                continue
            history = await self._history(run.id)
            if history is None:
                continue
            remaining_chars -= _size(history)
            if remaining_chars > 0 or run.live:
                chosen.append(history)
        return chosen[::-1]

    async def _history(self, run: str) -> RunHistory | None:
        """Read a run; None if it is deleted by now, or damaged."""
        try:
            return await self.hub.history(run)
        except CommandError:
            return None
        except StoreError as error:
            self.hub.log.error("%s", error)
            return None

    def _notify(self, output: RecordOutput, origin: ViewPeer | None) -> None:
        """Send a record, in version 1's order of messages."""
        if self._shown and _id(output.record) in self._shown:
            return
        if not (self.rights.can_see_all_runs or self._is_visible_record(output.record)):
            return
        match output.record:
            case records.RunRenamed() | records.RunDeleted():
                if origin is not self:
                    self.send_initial_state()
            case records.SummarySaved():
                self._resend_snapshot_later()
            case record:
                for text in _messages(record):
                    self._send(text)

    def _may_show(self, run: Run) -> bool:
        """Whether this UI may see a run."""
        return self.rights.can_see_all_runs or run.is_version_1

    def _is_visible_record(self, record: Record) -> bool:
        """Whether a record is about a run that this UI may know. A deleted run is known no more."""
        match record:
            case (
                records.RunStarted(run=run)
                | records.RunHeaderSaved(run=run)
                | records.RunRenamed(run=run)
            ):
                return self._may_show(run)
            case records.RunDeleted():
                return True  # the snapshot that tells of it names those that are left
            case (
                records.SummarySaved(run=id)
                | records.HaltPointSaved(halt_point=HaltPoint(run=id))
                | records.EventSaved(event=Event(run=id))
                | records.CommitSaved(commit=Commit(run=id))
            ):
                found = self.hub.find(id)
                return found is not None and self._may_show(found)
        return False

    def _check_known(self, command: v1.V1Command) -> None:
        """Refuse a command that isn't allowed for UIs without a token.

        Raises:
            CommandError: `watch_only`: the command imports a file. `unknown_run`: the UI may not see the
                run, whether it exists or not.
        """
        if self.rights.can_see_all_runs:
            return
        if isinstance(command, v1.V1Import):
            raise CommandError("watch_only", f"Importing a run needs the control token. {_ADD_IT}")
        found = self.hub.find(command.run)
        if found is None or not self._may_show(found):
            raise CommandError(
                "unknown_run",
                "A view without a token sees only runs of version 1's agents, and this "
                f"run isn't one. {_ADD_IT}",
            )

    def _receive(self, text: str) -> None:
        command = v1.decode_command(text)
        self._check_known(command)
        if isinstance(command, v1.V1Download):
            self._run_task(partial(self._download, command), text)
            return
        if not self.rights.can_control:
            raise CommandError("watch_only", WATCH_ONLY)
        self._check_unasked(command)
        if isinstance(command, v1.V1Step | v1.V1Continue | v1.V1Update):
            self._decide(partial(self._control, command), _edited(command), text)
        else:
            self._control(command)

    def _check_unasked(self, command: v1.V1Command) -> None:
        """Refuse an edit of a call that asks for an approval: this UI can't show that it asks."""
        if isinstance(command, v1.V1Update):
            for point in self.hub.debugger.pending(command.run):
                if point.id == command.message and point.approval is not None:
                    raise _make_approval_error(describe_call(point), command.run)

    def _step(self, run: str) -> None:
        try:
            self.hub.perform(self.hub.commands.step(run, self.hub.clock()))
        except NeedsApprovalError as error:
            raise _make_approval_error(error.call, run) from None

    def _control(self, command: v1.V1Command) -> None:
        hub = self.hub
        match command:
            case v1.V1Step():
                self._step(command.run)
            case v1.V1Continue():
                hub.perform(hub.commands.resume(command.run, hub.clock()))
            case v1.V1Halt():
                hub.perform(hub.commands.halt(command.run))
            case v1.V1Rename():
                hub.perform(hub.commands.rename(command.run, command.name), self)
            case v1.V1Delete():
                hub.delete(command.run, self)
            case v1.V1Import():
                self._run_task(partial(self._import, command))
            case v1.V1Update():
                edited = _edited(command)
                edit = None if edited is None else edited.edit
                hub.perform(hub.commands.edit(command.run, command.message, edit))

    async def _import(self, command: v1.V1Import) -> None:
        await self.hub.import_run(command.data.encode())

    async def _download(self, command: v1.V1Download) -> None:
        self._send(v1.encode_run_export(*await self.hub.export(command.run)))

    def _send(self, text: str) -> None:
        self.connection.send(text)

    def _send_error(self, code: str, message: str, run: str | None, text: str) -> None:
        run = run or v1.decode_run_id(text)
        self._send(v1.encode_error(code, message, run))
        found = None if run is None else self.hub.find(run)
        if found is None or not self._may_show(found):
            return
        if v1.is_edit_command(text):
            if not self._refused_edits:
                self._run_task(self._revert_edits)
            self._refused_edits.append((found.id, message))
        elif code == "needs_approval" and found.pending != self._explained_pending:
            self._explained_pending = found.pending
            self._note(found.id, message)

    async def _revert_edits(self) -> None:
        """Send the messages unedited again, and the reason why their edits were refused.

        The original's UI shows an edit as soon as it sends it, and can't receive errors.
        """
        self._begin_read()
        refused, self._refused_edits = self._refused_edits, []
        await self._snapshot()
        for run, why in refused:
            self._note(run, f"The edit was refused, nothing has changed: {why}")

    def _note(self, run: str, text: str) -> None:
        """Show a text among a run's messages, in this UI alone: the original's knows no errors."""
        self._send(v1.encode_new_note(run, self.hub.new_id(), text, self.hub.clock()))


def _make_approval_error(call: str, run: str) -> CommandError:
    return CommandError("needs_approval", _APPROVE_ELSEWHERE.format(call=call), run)


def _edited(command: v1.V1Command) -> RequestedEdit | None:
    """Return a command's edit; null withdraws an edit."""
    if not isinstance(command, v1.V1Update):
        return None
    edit = bytes(command.content).decode()
    return None if edit == "null" else RequestedEdit(command.run, command.message, edit)


def _size(history: RunHistory) -> int:
    """The characters of a run's contents."""
    points = sum(len(point.data) for point in history.halt_points)
    messages = sum(len(event.data or "") for event in history.events)
    commits = select_commits(history.commits)
    bodies = [change.body for commit in commits for change in commit.changes if change.body]
    return points + messages + sum(len(b.content) + len(b.previous_content) for b in bodies)


def _ids(history: RunHistory) -> Iterator[str]:
    """Yield the ids that a snapshot of a run contains."""
    yield history.run.id
    yield from (point.id for point in history.halt_points)
    yield from (event.id for event in history.events)
    yield from (commit.id for commit in history.commits)


def _messages(record: Record) -> tuple[str, ...]:
    """Convert a record to messages; empty if version 1 has no message for it."""
    match record:
        case records.HaltPointSaved(halt_point=halt_point):
            return (v1.encode_new_message(halt_point),)
        case records.RunHeaderSaved(run=run):
            return (v1.encode_run_state(run),)
        case records.EventSaved(event=event) if event.kind is EventKind.DEBUG_MESSAGE:
            return (v1.encode_new_debug_message(event),)
        case records.RunStarted(run=run):
            return v1.encode_new_run(RunHistory(run=run)), v1.encode_run_state(run)
        case records.ImportedRunSaved(history=history):
            return (v1.encode_new_run(history),)
        case records.CommitSaved(commit=commit) if not commit.snapshot:
            return (v1.encode_new_commit(commit),)
    return ()


def _id(record: Record) -> str | None:
    """Return the id that a record adds to a view; None if the record changes an existing id."""
    match record:
        case records.RunStarted(run=run):
            return run.id
        case records.ImportedRunSaved(history=history):
            return history.run.id
        case records.HaltPointSaved(halt_point=halt_point):
            return halt_point.id
        case records.EventSaved(event=event):
            return event.id
        case records.CommitSaved(commit=commit):
            return commit.id
    return None
