"""The service at the bottom of the hub: the debugger, the store, and the order of effects.

Every input goes to the debugger, and its outputs are performed in their order: recorded first, then the
agent is answered and the UIs are told. All of it happens on one event loop. The sessions of agents and
UIs stand above and call this service; `hub.Hub` composes all of them.
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
    """All runs of one Core, and who is connected to them.

    Args:
        store: Where runs are kept; the service replays what it holds.
        log: Gets one line a run, commit and refusal.
        clock: Tells POSIX seconds.
        event_registry: What extensions add to the debugger's words.
        limits: How much it does at once, and how long it waits.
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
        """A connection of agents is gone."""
        self._connected.discard(peer)

    def unregister_agent(self, run: str) -> None:
        """A run's session is gone."""
        self._agents.pop(run, None)
        self.agent_questions.pop(run, None)

    def replace_agent(self, run: str) -> None:
        """A run's agent connects again: the connection it may still have is of no use."""
        session = self._agents.get(run)
        self.unregister_agent(run)
        if session is not None:
            session.on_replaced()

    def unregister_view(self, session: ViewPeer) -> None:
        """A UI is gone."""
        if session in self._views:
            self._views.remove(session)
            self.log.info("UI disconnected")

    # ---- for REST and for programs ------------------------------------------------------------------

    def runs(self) -> list[Run]:
        """The headers of all runs, oldest first."""
        return self.debugger.runs

    def run(self, run_id: str) -> Run:
        """One run's header. Raises `CommandError` `unknown_run`."""
        return self.debugger.run(run_id)

    def call_when_listed(self, notify: Callable[[list[Run]], None]) -> None:
        """Give the headers of all runs, oldest first, once what they say is recorded."""
        self.store.call_when_recorded(partial(notify, self.runs()))

    async def wait_listed(self) -> list[Run]:
        """As `call_when_listed`."""
        runs = self.runs()
        await self.wait_store_settled()
        return runs

    def find(self, run_id: str) -> Run | None:
        """One run's header, where there is such a run."""
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
        """One run, whole.

        Raises:
            CommandError: `unknown_run`.
            DamagedRunError: What is kept of it is hurt.
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
        """Where words stand, newest first.

        Args:
            query: As for `Store.search`.
            run: Look in this one alone.
            limit: The most that is given.

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
        """Ask an agent whether it takes an edit, before the edit is set.

        Raises:
            CommandError: `unknown_run`, `stale`.
            ProtocolError: `invalid_edit`: the agent doesn't, or it is no edit.
        """
        is_new = self.commands.is_new_edit(run_id, halt_point, edit, revision)
        questions = self.agent_questions.get(run_id)
        if is_new and questions is not None and questions.can_check_edits:
            await questions.check_edit(halt_point, edit)

    async def write_note(self, run_id: str, message: str, text: str) -> None:
        """Write beside a row, in place of what stands there; "" takes it away.

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
        """A row's halt point or debug message.

        Raises:
            CommandError: `unknown_run`, or `unknown_content`: the run has no such row.
            DamagedRunError: What is kept of the run is hurt.
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
        """Take a run's file in, as a run of its own.

        Raises:
            ProtocolError: It is damaged, above a bound, or of a newer version.
            CommandError: `store_failed`.
        """
        self.check_store()
        return await self.import_history(await self._imports.load(data, self.new_id()))

    async def import_history(self, history: RunHistory) -> Run:
        """Take a run in that was read from a file, by an id of its own."""
        self.perform(self.commands.import_run(history))
        await self.wait_recorded()
        self.log.info("%s imported", extract_first_line(history.run.name))
        return history.run

    # ---- for sessions -------------------------------------------------------------------------------

    def new_id(self) -> str:
        """A new UUIDv7."""
        return str(uuid_utils.uuid7())

    def check_store(self) -> None:
        """Refuse what need not begin while nothing can be kept.

        Raises:
            CommandError: `store_failed`.
        """
        if self.store.is_write_blocked and self.store_info.trouble is not None:
            said = f"This Core can't store runs now: {self.store_info.trouble}"
            raise CommandError("store_failed", said)

    def mark_detached(self, run_id: str) -> None:
        """A run's agent is away, and may come back."""
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
        """A run ends.

        Args:
            run_id: The run.
            ending: How it ended.
            failure: What ended it.
            is_reported: Whether its agent said so.
            exit_code: Of its process, where that is known.
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
            outputs: Of the debugger.
            origin: The UI whose command this is.
            on_synced: Called once they are durable.
            on_notified: Called once they are recorded, and agents, UIs and listeners are notified.
        """
        saved = [output for output in outputs if isinstance(output, RecordOutput)]
        records = [output.record for output in saved]
        done = partial(self._notify_all, outputs, saved, origin, on_notified)
        self.store.append(records, done, durable=needs_durability(outputs), on_synced=on_synced)

    def call_when_recorded(self, done: Callable[[], None]) -> None:
        """Call back once all that was performed so far is recorded, and told."""
        self.store.append((), done)

    async def wait_recorded(self) -> None:
        """Wait until all that was performed so far is recorded, and told."""
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
        """Tell agents their leases, and then what they wait for: see `LeaseGranted`."""
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
