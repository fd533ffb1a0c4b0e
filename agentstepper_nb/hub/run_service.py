"""The lowest layer of the hub: the debugger, the store, and the order of effects.

Every input goes to the debugger, and its outputs are performed in order: recorded first, then sent to
the agent and the UIs. All of this happens on one event loop. The sessions of agents and UIs are in a
higher layer and call this service; `hub.Hub` composes all of them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial

import uuid_utils
from msgspec.structs import replace

from ..core import (
    AnswerOutput,
    Debugger,
    EventTypeRegistry,
    LeaseGranted,
    Output,
    RecordOutput,
    needs_durability,
)
from ..core.summaries import extract_first_line
from ..errors import CommandError
from ..protocol.data_model import (
    Event,
    EventKind,
    Failure,
    HaltPoint,
    RowNote,
    Run,
    RunEnding,
)
from ..protocol.records import RunHistory, SummarySaved
from ..protocol.run_changes import Format
from ..protocol.store_info import StoreInfo
from ..protocol.ui import SearchResults
from ..protocol.v1 import runfile
from ..store import Store, archive
from .agent_liveness import AgentLiveness
from .agent_questions import AgentQuestions
from .callbacks import wait_for_callback
from .command_starter import CommandStarter
from .limits import DEFAULT_HUB_LIMITS, HubLimits
from .peers import AgentConnectionPeer, RecordListener, RunPeer, ViewPeer
from .run_imports import RunImporter
from .run_searches import RunSearches
from .run_test_exports import RunTestExporter


class RunService:
    """All runs of one Core, and the peers connected to them.

    Args:
        store: The store of the runs; the service replays its contents.
        log: Gets one line for each run, commit and refusal.
        clock: Returns POSIX seconds.
        event_registry: The event types and summaries that extensions add.
        limits: The service's limits of work and time.
    """

    def __init__(
        self,
        store: Store,
        log: logging.Logger,
        clock: Callable[[], float],
        event_registry: EventTypeRegistry,
        limits: HubLimits = DEFAULT_HUB_LIMITS,
    ) -> None:
        self.store, self.log, self.clock, self.limits = store, log, clock, limits
        self.event_registry = event_registry
        self.debugger = Debugger(event_registry)
        self.commands = self.debugger.commands  # what they return is to be performed
        self.agent_liveness = AgentLiveness(self)
        self.store_info = StoreInfo(kind="memory")  # how runs are kept, without the size
        self.listeners: list[RecordListener] = []
        self.closing = False
        self.dry_run_lock = asyncio.Lock()  # held while a breakpoint is tried on a run
        self._imports = RunImporter()
        self.agent_questions: dict[str, AgentQuestions] = {}  # by run, whose agent is there
        self.allows_inspection = True  # whether views may see the stacks and locals of agents
        self.command_starter: CommandStarter | None = None  # where the Core keeps its runs
        self.run_searches: RunSearches | None = None  # there, too; so the next
        self.test_exporter: RunTestExporter | None = None
        self._agents: dict[str, RunPeer] = {}  # by run
        self._connected: set[AgentConnectionPeer] = set()  # with a run or without
        self._views: list[ViewPeer] = []
        self.debugger.restore(store.load())

    # ---- sessions -----------------------------------------------------------------------------------

    def register_agent(self, run: str, session: RunPeer) -> None:
        """A session speaks for a run from now on."""
        self._agents[run] = session
        self.agent_liveness.on_agent_reconnected(run)

    def unregister_connection(self, peer: AgentConnectionPeer) -> None:
        """Remove a connection of agents that has ended."""
        self._connected.discard(peer)

    def unregister_agent(self, run: str) -> None:
        """Remove a run's session that has ended."""
        self._agents.pop(run, None)
        self.agent_questions.pop(run, None)

    def replace_agent(self, run: str) -> None:
        """Replace the connection of a run's agent, which has connected again."""
        session = self._agents.get(run)
        self.unregister_agent(run)
        if session is not None:
            session.on_replaced()

    def unregister_view(self, session: ViewPeer) -> None:
        """Remove a UI that has disconnected."""
        if session in self._views:
            self._views.remove(session)
            self.log.info("UI disconnected")

    # ---- for REST and for programs ------------------------------------------------------------------

    def runs(self) -> list[Run]:
        """The headers of all runs, oldest first."""
        return self.debugger.runs

    def run(self, run_id: str) -> Run:
        """Get a run's header. Raises `CommandError` `unknown_run`."""
        return self.debugger.run(run_id)

    def call_when_listed(self, notify: Callable[[list[Run]], None]) -> None:
        """Pass the headers of all runs, oldest first, to a callback once those headers are recorded."""
        self.store.call_when_recorded(partial(notify, self.runs()))

    async def wait_listed(self) -> list[Run]:
        """As `call_when_listed`."""
        runs = self.runs()
        await self.wait_store_settled()
        return runs

    def find(self, run_id: str) -> Run | None:
        """Find a run's header; None if there is no such run."""
        try:
            return self.debugger.run(run_id)
        except CommandError:
            return None

    def active_run(self) -> Run:
        """The live run that halted or started last.

        Raises:
            CommandError: `unknown_run`: none is live.
        """
        run = self.debugger.active
        if run is None:
            raise CommandError("unknown_run", "No run is live. Start an agent first.")
        return run

    async def history(self, run_id: str) -> RunHistory:
        """Read a whole run.

        Raises:
            CommandError: `unknown_run`.
            DamagedRunError: The stored run is damaged.
        """
        self.debugger.run(run_id)
        try:
            history = await self.store.history(run_id)
        except Exception:
            self.debugger.run(run_id)  # deleted meanwhile
            raise
        header = self.debugger.run(run_id)
        await self.wait_store_settled()  # what it says may be newer than what was read
        return replace(history, run=header)

    async def search(self, query: str, run: str | None = None, limit: int = 100) -> SearchResults:
        """Find text in runs, newest first.

        Args:
            query: As for `Store.search`.
            run: The id of the only run to search; None: all runs.
            limit: The most hits.

        Raises:
            ProtocolError: `invalid_search`.
            CommandError: `unknown_run`.
        """
        if run is not None:
            self.debugger.run(run)
        hits = await self.store.search(query, run, limit + 1)
        return SearchResults(hits=tuple(hits[:limit]), more=len(hits) > limit)

    async def check_edit(
        self, run_id: str, halt_point: str, edit: str, revision: int | None = None
    ) -> None:
        """Ask an agent whether an edit is valid, before the edit is set.

        Raises:
            CommandError: `unknown_run`, `stale`.
            ProtocolError: `invalid_edit`: the agent rejects the edit, or it isn't an edit.
        """
        is_new = self.commands.is_new_edit(run_id, halt_point, edit, revision)
        questions = self.agent_questions.get(run_id)
        if is_new and questions is not None and questions.can_check_edits:
            await questions.check_edit(halt_point, edit)

    async def write_note(self, run_id: str, message: str, text: str) -> None:
        """Write the note beside a row, in place of an earlier note; "" removes the note.

        Raises:
            CommandError: `unknown_run`, or `unknown_content`: the run has no such row.
        """
        await self.find_row(run_id, message)
        note = RowNote(run=run_id, message=message, text=text, at=self.clock())
        self.perform(self.commands.write_note(note))

    async def record_summary(self, summary: SummarySaved) -> None:
        """Put a halt point or a commit into one sentence, which a model made.

        Raises:
            CommandError: `unknown_run`, or `unknown_content`: the run has no such thing.
        """
        self.debugger.run(summary.run)
        commit = await self.store.commit(summary.run, summary.id)
        subject = commit or await self.find_row(summary.run, summary.id)
        if isinstance(subject, Event):
            raise _no_row(summary.run)
        self.perform(self.commands.record_summary(summary, subject))

    async def find_row(self, run_id: str, message: str) -> HaltPoint | Event:
        """Find a row's halt point or debug message.

        Raises:
            CommandError: `unknown_run`, or `unknown_content`: the run has no such row.
            DamagedRunError: The stored run is damaged.
        """
        self.debugger.run(run_id)
        try:
            found = await self.store.message(run_id, message)
        except Exception:
            self.debugger.run(run_id)  # deleted meanwhile
            raise
        if found is None or (
            isinstance(found, Event) and found.kind is not EventKind.DEBUG_MESSAGE
        ):
            raise _no_row(run_id)
        return found

    def delete(self, run_id: str, origin: ViewPeer | None = None) -> None:
        """Delete a run that has ended; errors as `Commands.delete`."""
        self.perform(self.commands.delete(run_id), origin)
        self.agent_liveness.on_run_deleted(run_id)

    async def export(self, run_id: str, format: Format = "run") -> tuple[str, bytes]:
        """A run's name and its file. Errors as `history`."""
        history = await self.history(run_id)
        # On a thread, as below: a long run takes seconds, in which agents and people would wait.
        dump = archive.dump_archive if format == "archive" else runfile.dump_run
        return history.run.name, await asyncio.to_thread(dump, history)

    async def import_run(self, data: bytes) -> Run:
        """Import a run's file as a new run.

        Raises:
            ProtocolError: The file is damaged, too large, or of a newer version.
            CommandError: `store_failed`.
        """
        self.check_store()
        return await self.import_history(await self._imports.load(data, self.new_id()))

    async def import_history(self, history: RunHistory) -> Run:
        """Import a run that was read from a file, under a new id."""
        self.perform(self.commands.import_run(history))
        await self.wait_recorded()
        self.log.info("%s imported", extract_first_line(history.run.name))
        return history.run

    # ---- for sessions -------------------------------------------------------------------------------

    def new_id(self) -> str:
        """A new UUIDv7."""
        return str(uuid_utils.uuid7())

    def check_store(self) -> None:
        """Raise an error if the store can't record, so that no new work begins.

        Raises:
            CommandError: `store_failed`.
        """
        if self.store.is_write_blocked and self.store_info.trouble is not None:
            said = f"This Core can't store runs now: {self.store_info.trouble}"
            raise CommandError("store_failed", said)

    def mark_detached(self, run_id: str) -> None:
        """Mark a run whose agent is disconnected and may come back."""
        self.perform(self.debugger.detach(run_id, self.clock()))
        self.log.info("run %s: its agent is away", extract_first_line(run_id))
        self.agent_liveness.on_agent_disconnected(self.run(run_id))

    def finish(
        self,
        run_id: str,
        ending: RunEnding,
        failure: Failure | None = None,
        *,
        is_reported: bool = True,
        exit_code: int | None = None,
    ) -> None:
        """End a run.

        Args:
            run_id: The run's id.
            ending: The run's ending.
            failure: The failure that ended the run.
            is_reported: Whether the agent reported the ending.
            exit_code: The exit code of the agent's process, if known.
        """
        exit_info = self.agent_liveness.on_run_ending(self.run(run_id), is_reported=is_reported)
        code = exit_info if exit_code is None else exit_code
        ids = (self.new_id(), self.new_id())
        self.perform(self.debugger.finish_run(run_id, ending, self.clock(), ids, failure, code))
        self.log.info("run %s ended: %s", extract_first_line(run_id), ending)

    def report_exit(self, run_id: str, code: int, failure: Failure | None) -> None:
        """As `Debugger.report_exit`."""
        self.perform(self.debugger.report_exit(run_id, code, failure))

    def perform(
        self,
        outputs: Sequence[Output],
        origin: ViewPeer | None = None,
        *,
        on_synced: Callable[[], None] | None = None,
        on_notified: Callable[[], None] | None = None,
    ) -> None:
        """Perform outputs in their order: all are recorded first.

        Args:
            outputs: The debugger's outputs.
            origin: The UI whose command made the outputs.
            on_synced: Called once the outputs are durable.
            on_notified: Called once they are recorded, and agents, UIs and listeners are notified.
        """
        saved = [output for output in outputs if isinstance(output, RecordOutput)]
        records = [output.record for output in saved]
        done = partial(self._notify_all, outputs, saved, origin, on_notified)
        self.store.append(records, done, durable=needs_durability(outputs), on_synced=on_synced)

    def call_when_recorded(self, done: Callable[[], None]) -> None:
        """Call back once all outputs performed so far are recorded and sent."""
        self.store.append((), done)

    async def wait_recorded(self) -> None:
        """Wait until all outputs performed so far are recorded and sent."""
        await wait_for_callback(self.call_when_recorded)

    async def wait_store_settled(self) -> None:
        """Wait until all that was performed so far is recorded, where anything can be."""
        await wait_for_callback(self.store.call_when_recorded)

    def _notify_all(
        self,
        outputs: Sequence[Output],
        saved: Sequence[RecordOutput],
        origin: ViewPeer | None,
        on_notified: Callable[[], None] | None,
    ) -> None:
        if len(saved) < len(outputs):
            self._notify_agents(outputs)
        for each in saved:
            for ui in list(self._views):
                ui.notify(each, origin)
            for listener in self.listeners:
                listener.notify(each)
        if on_notified is not None:
            on_notified()

    def _notify_agents(self, outputs: Sequence[Output]) -> None:
        """Send agents their leases, and then the answers that they wait for: see `LeaseGranted`."""
        for output in outputs:
            if isinstance(output, LeaseGranted) and (agent := self._agents.get(output.run)):
                agent.send_lease(output)
        for output in outputs:
            if isinstance(output, AnswerOutput) and (
                agent := self._agents.get(output.halt_point.run)
            ):
                agent.reply(output.halt_point, output.answer)

    def _on_trouble(self, info: StoreInfo) -> None:
        self.store_info = replace(info, size=None)
        for ui in list(self._views):
            ui.notify_store(info)


def _no_row(run: str) -> CommandError:
    return CommandError("unknown_content", "This run has no such message. Open the run again.", run)
