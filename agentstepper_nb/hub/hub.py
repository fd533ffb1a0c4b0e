"""The switchboard: agents and UIs around one debugger and one store.

Every input goes to the debugger, and its outputs are performed in their order: recorded first, then the
agent is answered and the UIs are told. All of it happens on one event loop.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Protocol

import uuid_utils
from msgspec.structs import replace

from ..core import Debugger, Leased, Output, Reply, Saved
from ..core.summaries import one_line
from ..errors import CommandError
from ..protocol.records import RunHistory
from ..protocol.ui import Format, Found
from ..protocol.v1 import runfile
from ..protocol.values import Ending, Failure, Run, StoreInfo
from ..store import Store, archive
from . import endings
from .agents import AgentSession
from .agents_v1 import AgentSessionV1
from .agents_v2 import AgentSessionV2
from .commands import PeoplesCommands
from .connection import NO_CONTROL, Connection, Rights
from .durable import asks_for_durable
from .edit_checks import EditChecks
from .extensions import Extension, Extensions
from .imports import Imports
from .presence import Presence
from .retention import ALL, Keep, Retention
from .uis import UiSession
from .uis_v1 import UiSessionV1
from .uis_v2 import UiSessionV2


class Listener(Protocol):
    """Who is told, after the UIs, of all that was recorded."""

    def tell(self, saved: Saved) -> None:
        """This was recorded. Mustn't take long, nor raise."""

    async def close(self) -> None:
        """The Core stops."""


class Hub(PeoplesCommands):
    """All agents and UIs of one Core.

    Args:
        store: Where runs are kept; the hub replays what it holds and closes it.
        logger: Gets one line a connection, run, commit and refusal.
        clock: Tells POSIX seconds.
        extensions: What it is extended by. None takes the extensions that are installed.
        keep: How long runs are kept.

    Raises:
        ValueError: Two of the extensions name the same, or one names what is there already.
    """

    def __init__(
        self,
        store: Store,
        *,
        logger: logging.Logger | None = None,
        clock: Callable[[], float] = time.time,
        extensions: Iterable[Extension] | None = None,
        keep: Keep = ALL,
    ) -> None:
        self.store = store
        self.log = logger or logging.getLogger("agentstepper_nb")
        self.extensions = Extensions(extensions, self.log)
        self.debugger = Debugger(self.extensions.vocabulary)
        self.clock = clock
        self.presence = Presence(self)
        #: How runs are kept, without the size.
        self.kept = StoreInfo(kind="memory")
        self.listeners: list[Listener] = []
        self.closing = False
        #: Held while a stop is tried on a run.
        self.trying = asyncio.Lock()
        self._retention = Retention(self, keep)
        self._imports = Imports()
        self._agents: dict[str, AgentSession] = {}  # by run
        self._connected: set[AgentSession] = set()  # with a run or without
        self._uis: list[UiSession] = []
        self.debugger.replay(store.load())

    # ---- life ---------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Begin, on the loop: who was connected to the Core before is waited for."""
        self.store.on_trouble = self._on_trouble
        self.kept = replace(await self.store.info(), size=None)
        for run in self.runs():
            if not run.live or run.id in self._agents:
                continue
            if self.debugger.proof(run.id) is None:
                self.finish(run.id, Ending.LOST, endings.CORE_WENT, said=False)
            else:
                self.leave(run.id)
        self._retention.start()

    async def close(self) -> None:
        """Keep what there is, and close every connection and the store. Idempotent.

        Runs whose agents can come back go on with the next Core.
        """
        if self.closing:
            return
        self.closing = True  # what comes from now on is the next Core's
        self.presence.close()
        self._retention.close()
        self._imports.close()
        for listener in self.listeners:
            await listener.close()
        for agent in list(self._connected):
            agent.core_stops()
        await asyncio.to_thread(self.store.close)
        await asyncio.sleep(0)  # what the store has called back for
        for agent in list(self._connected):
            agent.core_stopped()
        for ui in list(self._uis):
            ui.connection.close(1001, "The Core is stopping.")

    # ---- connections --------------------------------------------------------------------------------

    def connect_agent(
        self, connection: Connection, version: int, rights: Rights = NO_CONTROL
    ) -> AgentSession:
        """An agent connected; its first message says who it is.

        Args:
            connection: Its socket.
            version: 2, or 1 where it chose no subprotocol.
            rights: What its token lets it do.
        """
        self.log.info("agent connected, version %d", version)
        session: AgentSession
        if version == 1:
            session = AgentSessionV1(self, connection)
        else:
            session = AgentSessionV2(self, connection, rights)
        self._connected.add(session)
        if self.closing:
            session.core_stopped()
        return session

    def connect_ui(self, connection: Connection, version: int, rights: Rights) -> UiSession:
        """A UI connected.

        Args:
            connection: Its socket.
            version: 2, or 1 where it chose no subprotocol.
            rights: What its login may do.
        """
        self.log.info("UI connected, version %d", version)
        kind = UiSessionV1 if version == 1 else UiSessionV2
        session = kind(self, connection, rights)
        self._uis.append(session)
        session.greet()
        return session

    def bind_agent(self, run: str, session: AgentSession) -> None:
        """A session speaks for a run from now on."""
        self._agents[run] = session
        self.presence.back(run)

    def forget_agent(self, session: AgentSession) -> None:
        """An agent's connection is gone."""
        self._connected.discard(session)

    def drop_agent(self, run: str) -> None:
        """A run's session is gone."""
        self._agents.pop(run, None)

    def replace_agent(self, run: str) -> None:
        """A run's agent connects again: the connection it may still have is of no use."""
        session = self._agents.pop(run, None)
        if isinstance(session, AgentSessionV2):
            session.replaced()

    def drop_ui(self, session: UiSession) -> None:
        """A UI is gone."""
        if session in self._uis:
            self._uis.remove(session)
            self.log.info("UI disconnected")

    # ---- for REST and for programs ------------------------------------------------------------------

    def runs(self) -> list[Run]:
        """The headers of all runs, oldest first."""
        return self.debugger.runs

    def run(self, run_id: str) -> Run:
        """One run's header. Raises `CommandError` `unknown_run`."""
        return self.debugger.run(run_id)

    def when_listed(self, tell: Callable[[list[Run]], None]) -> None:
        """Give the headers of all runs, oldest first, once what they say is recorded."""
        self.store.settled(partial(tell, self.runs()))

    async def listed(self) -> list[Run]:
        """As `when_listed`."""
        runs = self.runs()
        await self.settled()
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
            raise CommandError("unknown_run", "No run is live: start an agent first.")
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
        await self.settled()  # what it says may be newer than what was read
        return replace(history, run=header)

    async def search(self, query: str, run: str | None = None, limit: int = 100) -> Found:
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
        return Found(hits=tuple(hits[:limit]), more=len(hits) > limit)

    def _edit_checks(self, run_id: str) -> EditChecks | None:
        agent = self._agents.get(run_id)
        return agent.edit_checks if isinstance(agent, AgentSessionV2) else None

    def delete(self, run_id: str, by: UiSession | None = None) -> None:
        """As `Debugger.delete`."""
        self.perform(self.debugger.delete(run_id), by)
        self.presence.deleted(run_id)

    async def export(self, run_id: str, format: Format = "run") -> tuple[str, bytes]:
        """A run's name and its file. Errors as `history`."""
        history = await self.history(run_id)
        # On a thread, as below: a long run takes seconds, in which agents and people would wait.
        dump = archive.dump if format == "archive" else runfile.dump
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
        self.perform(self.debugger.import_run(history))
        await self.recorded()
        self.log.info("%s imported", one_line(history.run.name))
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
        if self.store.stuck and self.kept.trouble is not None:
            raise CommandError(
                "store_failed", f"This Core can't keep runs right now: {self.kept.trouble}"
            )

    def leave(self, run_id: str) -> None:
        """A run's agent is away, and may come back."""
        self.perform(self.debugger.detach(run_id, self.clock()))
        self.log.info("run %s: its agent is away", one_line(run_id))
        self.presence.left(self.run(run_id))

    def finish(
        self,
        run_id: str,
        ending: Ending,
        failure: Failure | None = None,
        *,
        said: bool = True,
        exit_code: int | None = None,
    ) -> None:
        """A run ends.

        Args:
            run_id: The run.
            ending: How it ended.
            failure: What ended it.
            said: Whether its agent said so.
            exit_code: Of its process, where that is known.
        """
        told = self.presence.ends(self.run(run_id), said=said)
        code = told if exit_code is None else exit_code
        ids = (self.new_id(), self.new_id())
        self.perform(self.debugger.finish_run(run_id, ending, self.clock(), ids, failure, code))
        self.log.info("run %s ended: %s", one_line(run_id), ending)

    def tell_exit(self, run_id: str, code: int, failure: Failure | None) -> None:
        """As `Debugger.tell_exit`."""
        self.perform(self.debugger.tell_exit(run_id, code, failure))

    def perform(
        self,
        outputs: Sequence[Output],
        by: UiSession | None = None,
        *,
        synced: Callable[[], None] | None = None,
    ) -> None:
        """Perform outputs in their order: all are recorded first.

        Args:
            outputs: Of the debugger.
            by: The UI whose command this is.
            synced: Called once they are durable.
        """
        records = [output.record for output in outputs if isinstance(output, Saved)]
        done = partial(self._effects, outputs, by)
        self.store.append(records, done, durable=asks_for_durable(outputs), synced=synced)

    def when_recorded(self, done: Callable[[], None]) -> None:
        """Call back once all that was performed so far is recorded, and told."""
        self.store.append((), done)

    async def recorded(self) -> None:
        """Wait until all that was performed so far is recorded, and told."""
        await _called_back(self.when_recorded)

    async def settled(self) -> None:
        """Wait until all that was performed so far is recorded, where anything can be."""
        await _called_back(self.store.settled)

    def _effects(self, outputs: Sequence[Output], by: UiSession | None) -> None:
        saved = [output for output in outputs if isinstance(output, Saved)]
        if len(saved) < len(outputs):
            self._tell_agents(outputs)
        for each in saved:
            for ui in list(self._uis):
                ui.tell(each, by)
            for listener in self.listeners:
                listener.tell(each)

    def _tell_agents(self, outputs: Sequence[Output]) -> None:
        """Tell agents their leases, and then what they wait for: see `Leased`."""
        for output in outputs:
            if isinstance(output, Leased) and (agent := self._agents.get(output.run)):
                agent.let(output)
        for output in outputs:
            if isinstance(output, Reply) and (agent := self._agents.get(output.breakpoint.run)):
                agent.reply(output.breakpoint, output.answer)

    def _on_trouble(self, info: StoreInfo) -> None:
        self.kept = replace(info, size=None)
        for ui in list(self._uis):
            ui.tell_store(info)


async def _called_back(ask: Callable[[Callable[[], None]], None]) -> None:
    done = asyncio.Event()
    ask(done.set)
    await done.wait()
