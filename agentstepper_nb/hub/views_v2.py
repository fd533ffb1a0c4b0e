"""UIs of version 2: our view, and `agentstepper step`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from operator import attrgetter
from typing import Any, Final, get_args

from msgspec import UNSET, Struct
from msgspec.structs import replace

from .._version import __version__
from ..core import RecordOutput, make_debug_row, make_row
from ..core.breakpoints import check_edit_rule, make_rule_code
from ..errors import CommandError, ProtocolError
from ..protocol import records
from ..protocol import ui as v2
from ..protocol.breakpoint_rules import BreakpointRule, Price
from ..protocol.data_model import AgentActivity, Commit, Event, EventKind, HaltPoint, Run
from ..protocol.delta_encoding import DELTA_SIZES, DeltaEncoder
from ..protocol.edit_rules import DryRunEditRule, EditRuleDefinition, ExportEditRule
from ..protocol.envelope import VERSION, decode_envelope_header, encode_message
from ..protocol.run_programs import GetBisect
from ..protocol.store_info import StoreInfo
from ..store.base import strip_contents
from . import dry_runs, pagination, view_commands
from .connection import AccessRights, Connection, count_waiting_bytes
from .extensions import Extensions
from .peers import ViewPeer
from .row_search import RowSearch
from .run_service import RunService
from .view_actions import ACTION_HANDLERS, Action
from .view_commands import QUERY_HANDLERS, Decision, ViewQuery
from .view_updates import ViewUpdates
from .views import WATCH_ONLY, ViewSession

#: Records that bring a run's header.
_WithHeader = records.RunHeaderSaved | records.RunStarted | records.RunRenamed | records.RunTagged
#: Commands that change nothing.
_Watching = (
    v2.OpenRun
    | v2.CloseRun
    | v2.FindRows
    | v2.DryRunBreakpoint
    | DryRunEditRule
    | ExportEditRule
    | GetBisect
    | ViewQuery
)

#: The values of a run that a list of runs shows, besides whether its agent waits for a message.
_get_listed: Final = attrgetter(
    *("name", "tags", "state", "pending", "ending", "stopping"),
    *("failure", "exit_code", "detached_at"),
)
#: Bytes above which a content is encoded on a thread: others would wait meanwhile.
_LARGE_BYTES: Final = 64 * 1024


class ViewSessionV2(ViewSession):
    """The session of a UI of version 2: sends every run's state, and the contents of opened runs."""

    def __init__(
        self, hub: RunService, connection: Connection, rights: AccessRights, extensions: Extensions
    ) -> None:
        super().__init__(hub, connection, rights)
        self._sent = 0
        self._has_received_hello = False
        self._has_sent_hello = False  # it got the answer: from now on it is told what happens
        count_behind = partial(count_waiting_bytes, connection)
        self._updates = ViewUpdates(self._send, asyncio.get_running_loop, count_behind)
        self._row_search: RowSearch | None = None  # once it is asked
        self._last_find: v2.FindRows | None = None  # the last
        #: Of each kind the last on one run, and on several.
        self._trials: dict[tuple[type[Struct], bool], Struct] = {}
        self._sent_headers: dict[str, Run] = {}
        self._extensions = extensions
        self._content_encoder = DeltaEncoder()  # docs/design/0012-pieces.md

    def send_initial_state(self) -> None:
        """The snapshot answers the UI's hello."""

    def on_closed(self) -> None:
        """Handle the connection's end."""
        self._updates.end()
        super().on_closed()

    def _notify(self, output: RecordOutput, origin: ViewPeer | None) -> None:
        if self._row_search is not None:
            self._row_search.notify(output)
        if not self._has_sent_hello:
            return
        notify = NOTIFIERS.get(type(output.record))
        if notify is not None:
            notify(self, output.record)
        if self._updates.opened:
            self._notify_contents(output)

    def _notify_contents(self, output: RecordOutput) -> None:
        """Send a record of an opened run, besides its header."""
        notify = CONTENT_NOTIFIERS.get(type(output.record))
        if notify is not None:
            notify(self, output.record)
        if output.commit is not None:
            self._push_commit(v2.CommitChanged, output.commit)
        if output.halt_point is not None:
            self._notify_row(output.halt_point)

    def _notify_deleted(self, record: records.RunDeleted) -> None:
        self._sent_headers.pop(record.run, None)
        self._updates.close(record.run)
        self._send(v2.RunRemoved(run=record.run))

    def _notify_event(self, record: records.EventSaved) -> None:
        if record.event.kind is EventKind.DEBUG_MESSAGE:
            self._notify_row(record.event)

    def _notify_commit(self, record: records.CommitSaved) -> None:
        self._push_commit(v2.CommitAdded, record.commit)

    def _notify_note(self, record: records.NoteSaved) -> None:
        if record.note.run in self._updates.opened:
            self._updates.add_message(record.note.run, partial(v2.NoteChanged, note=record.note))

    def _send_breakpoint(self, record: records.BreakpointSaved) -> None:
        self._send(v2.BreakpointChanged(breakpoint=record.breakpoint))

    def _send_deleted_breakpoint(self, record: records.BreakpointDeleted) -> None:
        self._send(v2.BreakpointGone(breakpoint=record.breakpoint))

    def _send_edit_rule(self, record: records.EditRuleSaved) -> None:
        self._send(v2.EditRuleChanged(rule=record.rule))

    def _send_deleted_edit_rule(self, record: records.EditRuleDeleted) -> None:
        self._send(v2.EditRuleGone(rule=record.rule))

    def _notify_prices(self, record: records.PricesSet) -> None:
        self._send(v2.PricesChanged(prices=record.prices))

    def _push_commit(self, kind: type[v2.CommitAdded | v2.CommitChanged], commit: Commit) -> None:
        if commit.run in self._updates.opened:
            self._updates.add_message(commit.run, partial(_commit, kind, commit))

    def notify_store(self, info: StoreInfo) -> None:
        """Handle a change of the store's state."""
        if self._has_sent_hello:
            self._send(v2.StoreChanged(store=info))

    def _notify_run(self, record: _WithHeader | records.ImportedRunSaved) -> None:
        """Send a header. Of runs that aren't opened, only changes that a list of runs shows."""
        run = record.history.run if isinstance(record, records.ImportedRunSaved) else record.run
        before = self._sent_headers.get(run.id)
        self._sent_headers[run.id] = run
        waits = run.agent_state is AgentActivity.WAITING
        if run.id in self._updates.opened:
            self._updates.set_header(run)
        elif (
            before is None
            or _get_listed(before) != _get_listed(run)
            or (before.agent_state is AgentActivity.WAITING) is not waits
        ):
            self._send(v2.RunChanged(run=run))

    def _notify_row(self, item: HaltPoint | Event) -> None:
        if item.run in self._updates.opened:
            pending = isinstance(item, HaltPoint) and item.answer is None
            made = partial(self._row, item)
            self._updates.add_row(item.run, item.id, item.seq, made, pending=pending)

    def _row(self, item: HaltPoint | Event) -> v2.RowChanged:
        registry = self.hub.event_registry
        made = make_debug_row(item) if isinstance(item, Event) else make_row(item, registry)
        return v2.RowChanged(run=item.run, row=made)

    # ---- commands -----------------------------------------------------------------------------------

    def _receive(self, text: str) -> None:
        envelope, command = self._extensions.from_ui.decode(text)
        id = None if envelope.id is UNSET else envelope.id
        if isinstance(command, v2.UiHello):
            self._hello(command, id)
            return
        if not self._has_received_hello:
            raise ProtocolError(
                "hello_expected", "This connection hasn't begun. Send the message hello first."
            )
        is_extension = envelope.type in self._extensions.commands
        if not (self.rights.can_control or is_extension or isinstance(command, _Watching)):
            raise CommandError("watch_only", WATCH_ONLY)
        if isinstance(command, Decision):
            edited = view_commands.find_edit(self.hub, command)
            self._decide(partial(self._execute_decision, command, id), edited, text)
        elif (work := TASKS.get(type(command))) is not None:
            lock = asyncio.Lock() if isinstance(command, Action) else None
            self._run_task(partial(work, self, command, id), text, lock=lock)
        elif is_extension:
            self._run_task(partial(self._run_extension_command, envelope.type, command, id), text)
        else:
            self._begin(command, id, text)

    def _execute_decision(self, command: Decision, id: str | None) -> None:
        """Execute a command on a pending halt point, and answer after all its notifications are sent."""
        outputs = view_commands.decide(self.hub, command)
        self.hub.perform(outputs, self, on_notified=partial(self._answer, v2.CommandDone(), id))

    def _begin(self, command: Struct, id: str | None, text: str) -> None:
        """Begin a command that is neither a decision nor in the table `TASKS`."""
        match command:
            case v2.FindRows():
                self._last_find = command
                self._row_search = self._row_search or RowSearch(self.hub)
                work = partial(self._find_rows, self._row_search, command, id)
                self._run_task(work, text, is_background=True)
            case v2.DryRunBreakpoint() | DryRunEditRule():
                self._trials[type(command), command.run is None] = command
                self._run_task(partial(self._dry_run, command, id), text, is_background=True)
            case ExportEditRule(rule=rule):
                check_edit_rule(rule)
                self._answer(v2.EditRuleExported(code=make_rule_code(rule)), id)
            case v2.CloseRun():
                self._updates.close(command.run)
                if self._row_search is not None:
                    self._row_search.forget(command.run)
                self._answer(v2.CommandDone(), id)
            case v2.DeleteRun():
                self.hub.delete(command.run, self)
                self.hub.call_when_recorded(partial(self._answer, v2.CommandDone(), id))
            case _:
                self._change(command, id)

    def _change(self, command: Struct, id: str | None) -> None:
        """Change a run or a rule, and answer after all its notifications are sent."""
        outputs = view_commands.change(self.hub, command)
        self.hub.perform(outputs, self, on_notified=partial(self._answer, v2.CommandDone(), id))

    def _hello(self, hello: v2.UiHello, id: str | None) -> None:
        if hello.version != VERSION:
            side = "the server's agentstepper_nb" if hello.version > VERSION else "the view"
            raise ProtocolError(
                "version_mismatch",
                f"The view speaks protocol version {hello.version}, and this Core "
                f"{VERSION}. Upgrade {side}.",
            )
        if self._has_received_hello:
            raise ProtocolError(
                "already_open",
                "This connection has sent hello already. Use the connection as it is.",
            )
        self._has_received_hello = True
        debugger = self.hub.debugger
        rules = debugger.breakpoints, debugger.prices, debugger.edit_rules
        self.hub.call_when_listed(partial(self._welcome, id, *rules))

    def _welcome(
        self,
        id: str | None,
        breakpoints: tuple[BreakpointRule, ...],
        prices: tuple[Price, ...],
        edit_rules: tuple[EditRuleDefinition, ...],
        runs: Sequence[Run],
    ) -> None:
        self._has_sent_hello = True
        self._sent_headers = {run.id: run for run in runs}
        shown, more = pagination.list_last_runs(runs)
        hello = v2.CoreHello(
            version=VERSION,
            core=f"agentstepper_nb {__version__}",
            control=self.rights.can_control,
            runs=shown,
            more=more,
            store=self.hub.store_info,
            breakpoints=breakpoints,
            prices=prices,
            edit_rules=edit_rules or UNSET,
        )
        self._answer(hello, id)

    async def _find_rows(self, finder: RowSearch, command: v2.FindRows, id: str | None) -> None:
        found = await finder.find(command, lambda: self._last_find is command)
        self._answer(found, id)

    async def _act(self, command: Action, id: str | None) -> None:
        self._answer(await ACTION_HANDLERS[type(command)](self.hub, self, command), id)

    async def _read(self, command: ViewQuery, id: str | None) -> None:
        answer = await QUERY_HANDLERS[type(command)](self.hub, command)
        if not isinstance(answer, v2.MessageBody):
            return self._answer(answer, id)
        content = answer.data.encode()
        if len(content) in DELTA_SIZES:
            if len(content) > _LARGE_BYTES:
                pieces = await asyncio.to_thread(self._content_encoder.encode, content)
            else:
                pieces = self._content_encoder.encode(content)
            answer = replace(answer, data="", pieces=pieces)
        self._answer(answer, id)

    async def _dry_run(self, command: v2.DryRunBreakpoint | DryRunEditRule, id: str | None) -> None:
        kind = type(command), command.run is None
        answer = await dry_runs.answer(self.hub, command, lambda: self._trials[kind] is command)
        self._answer(answer, id)

    async def _write_note(self, command: v2.WriteNote, id: str | None) -> None:
        await self.hub.write_note(command.run, command.message, command.text)
        await self.hub.wait_recorded()
        self._answer(v2.CommandDone(), id)

    async def _import(self, command: v2.ImportRun, id: str | None) -> None:
        run = await self.hub.import_run(command.data.encode())
        self._answer(v2.RunImported(run=run), id)

    async def _run_extension_command(self, name: str, body: Struct, id: str | None) -> None:
        """Execute a command of an extension."""
        command = self._extensions.commands[name]
        if command.requires_control and not self.rights.can_control:
            raise CommandError("watch_only", WATCH_ONLY)
        with self._extensions.explain_failure(name):
            answer = await command.handler(self.hub, body)
            self._updates.flush()
            text = None if answer is None else encode_message(name, answer, self._sent + 1, id)
        if text is None:
            self._answer(v2.CommandDone(), id)
        else:
            self._sent += 1
            self.connection.send(text)

    async def _open(self, command: v2.OpenRun, id: str | None) -> None:
        self._begin_read()
        try:
            opened = await pagination.read_opened_run(self.hub, command.run)
            self._updates.open(command.run, opened.rows[-1].seq if opened.rows else 0)
            self._answer(opened, id)
        finally:
            self._end_read()

    # ---- sending ------------------------------------------------------------------------------------

    def _answer(self, message: v2.CoreToUi, id: str | None) -> None:
        """Answer a command, after the notifications of all earlier changes."""
        if self._updates.opened:
            self._updates.flush()
        self._send(message, id)

    def _send(self, message: v2.CoreToUi, id: str | None = None) -> None:
        self._sent += 1
        self.connection.send(v2.to_ui.encode(message, self._sent, id))

    def _send_error(self, code: str, message: str, run: str | None, text: str) -> None:
        self._answer(
            v2.UiError(code=code, message=message, run=run), decode_envelope_header(text).id
        )


def _commit(kind: type[v2.CommitAdded | v2.CommitChanged], commit: Commit) -> v2.CoreToUi:
    return kind(run=commit.run, commit=strip_contents(commit))


#: The commands that run as a task, with the handler of each type.
TASKS: Final[dict[type[Struct], Callable[..., Coroutine[Any, Any, None]]]] = {
    v2.OpenRun: ViewSessionV2._open,
    v2.WriteNote: ViewSessionV2._write_note,
    v2.ImportRun: ViewSessionV2._import,
    **dict.fromkeys(get_args(ViewQuery), ViewSessionV2._read),
    **dict.fromkeys(ACTION_HANDLERS, ViewSessionV2._act),
}
#: The function that notifies every UI of a record, by the record's type.
NOTIFIERS: Final[dict[type[records.Record], Callable[[ViewSessionV2, Any], None]]] = {
    records.RunStarted: ViewSessionV2._notify_run,
    records.RunHeaderSaved: ViewSessionV2._notify_run,
    records.RunRenamed: ViewSessionV2._notify_run,
    records.RunTagged: ViewSessionV2._notify_run,
    records.ImportedRunSaved: ViewSessionV2._notify_run,
    records.RunDeleted: ViewSessionV2._notify_deleted,
    records.BreakpointSaved: ViewSessionV2._send_breakpoint,
    records.BreakpointDeleted: ViewSessionV2._send_deleted_breakpoint,
    records.EditRuleSaved: ViewSessionV2._send_edit_rule,
    records.EditRuleDeleted: ViewSessionV2._send_deleted_edit_rule,
    records.PricesSet: ViewSessionV2._notify_prices,
}
#: The function that notifies a UI with an open run of a record about the run's contents, by the record's
#: type; a halt point is sent as its row, and other records not at all.
CONTENT_NOTIFIERS: Final[dict[type[records.Record], Callable[[ViewSessionV2, Any], None]]] = {
    records.EventSaved: ViewSessionV2._notify_event,
    records.CommitSaved: ViewSessionV2._notify_commit,
    records.NoteSaved: ViewSessionV2._notify_note,
}
