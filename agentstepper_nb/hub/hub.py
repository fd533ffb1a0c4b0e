"""The switchboard: agents and UIs around one debugger and one store.

Every input goes to the debugger, and its outputs are performed in their order: recorded first, then the
agent is answered and the UIs are told. All of it happens on one event loop.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from functools import partial

import uuid_utils
from msgspec.structs import replace

from ..core import Debugger, Output, Reply, Saved
from ..core.summaries import one_line
from ..errors import CommandError
from ..protocol.records import RunHistory
from ..protocol.v1 import runfile
from ..protocol.values import AnswerKind, Breakpoint, Run
from ..store import Store
from .agents import AgentSession, AgentSessionV1, AgentSessionV2
from .connection import Connection, Rights
from .extensions import Extension, Extensions
from .uis import UiSession
from .uis_v1 import UiSessionV1
from .uis_v2 import UiSessionV2


class Hub:
    """All agents and UIs of one Core.

    Args:
        store: Where runs are kept; the hub replays what it holds and closes it.
        logger: Gets one line a connection, run, commit and refusal.
        clock: Tells POSIX seconds.
        extensions: What it is extended by. None takes the extensions that are installed.

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
    ) -> None:
        self.store = store
        self.log = logger or logging.getLogger("agentstepper_nb")
        self.extensions = Extensions(extensions, self.log)
        self.debugger = Debugger(self.extensions.vocabulary)
        self.clock = clock
        self._agents: dict[str, AgentSession] = {}  # by run
        self._uis: list[UiSession] = []
        self.debugger.replay(store.load())

    # ---- connections --------------------------------------------------------------------------------

    def connect_agent(self, connection: Connection, version: int) -> AgentSession:
        """An agent connected; its first message says who it is.

        Args:
            connection: Its socket.
            version: 2, or 1 where it chose no subprotocol.
        """
        self.log.info("agent connected, version %d", version)
        if version == 1:
            return AgentSessionV1(self, connection)
        return AgentSessionV2(self, connection)

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

    def drop_agent(self, run: str) -> None:
        """A run's session is gone."""
        self._agents.pop(run, None)

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

    async def history(self, run_id: str) -> RunHistory:
        """One run, whole. Raises `CommandError` `unknown_run`."""
        self.debugger.run(run_id)
        history = await self.store.history(run_id)
        return replace(history, run=self.debugger.run(run_id))

    def step(
        self,
        run_id: str,
        breakpoint: str | None = None,
        revision: int | None = None,
        edit: str | None = None,
    ) -> None:
        """As `Debugger.step`."""
        self.perform(self.debugger.step(run_id, self.clock(), breakpoint, revision, edit))

    def resume(
        self,
        run_id: str,
        breakpoint: str | None = None,
        revision: int | None = None,
        edit: str | None = None,
    ) -> None:
        """As `Debugger.resume`."""
        self.perform(self.debugger.resume(run_id, self.clock(), breakpoint, revision, edit))

    def halt(self, run_id: str) -> None:
        """As `Debugger.halt`."""
        self.perform(self.debugger.halt(run_id))

    def stop(self, run_id: str) -> None:
        """As `Debugger.stop`."""
        self.perform(self.debugger.stop(run_id, self.clock()))

    def edit(
        self, run_id: str, breakpoint: str, edit: str | None, revision: int | None = None
    ) -> None:
        """As `Debugger.edit`."""
        self.perform(self.debugger.edit(run_id, breakpoint, edit, revision))

    def rename(self, run_id: str, name: str, by: UiSession | None = None) -> None:
        """As `Debugger.rename`."""
        self.perform(self.debugger.rename(run_id, name), by)

    def delete(self, run_id: str, by: UiSession | None = None) -> None:
        """As `Debugger.delete`."""
        self.perform(self.debugger.delete(run_id), by)

    async def export(self, run_id: str) -> tuple[str, bytes]:
        """A run's name and its `.run` file. Raises `CommandError` `unknown_run`."""
        history = await self.history(run_id)
        # On a thread, as below: a long run takes seconds, in which agents and people would wait.
        return history.run.name, await asyncio.to_thread(runfile.dump, history)

    async def import_run(self, data: bytes) -> Run:
        """Take a `.run` file in, as a run of its own. Raises `ProtocolError`."""
        history = await asyncio.to_thread(runfile.load, data, self.new_id())
        self.perform(self.debugger.import_run(history))
        self.log.info("%s imported", one_line(history.run.name))
        return history.run

    def close(self) -> None:
        """End the runs whose agents are connected, and close every connection and the store."""
        for agent in list(self._agents.values()):
            agent.closed()
            agent.connection.close(1001, "The Core is stopping.")
        for ui in list(self._uis):
            ui.connection.close(1001, "The Core is stopping.")
        self.store.close()

    # ---- for sessions -------------------------------------------------------------------------------

    def new_id(self) -> str:
        """A new UUIDv7."""
        return str(uuid_utils.uuid7())

    def perform(self, outputs: list[Output], by: UiSession | None = None) -> None:
        """Perform outputs in their order: all are recorded first.

        Args:
            outputs: Of the debugger.
            by: The UI whose command this is.
        """
        records = [output.record for output in outputs if isinstance(output, Saved)]
        self.store.append(records, partial(self._effects, outputs, by))

    async def recorded(self) -> None:
        """Wait until all that was performed so far is recorded."""
        done = asyncio.Event()
        self.store.append((), done.set)
        await done.wait()

    def _effects(self, outputs: list[Output], by: UiSession | None) -> None:
        for output in outputs:
            if isinstance(output, Reply):
                self._reply(output.breakpoint, output.answer)
        for output in outputs:
            if isinstance(output, Saved):
                for ui in list(self._uis):
                    ui.tell(output, by)

    def _reply(self, breakpoint: Breakpoint, answer: AnswerKind) -> None:
        agent = self._agents.get(breakpoint.run)
        if agent:
            agent.reply(breakpoint, answer)

    def active_run(self) -> Run:
        """The live run that halted or started last.

        Raises:
            CommandError: `unknown_run`: none is live.
        """
        run = self.debugger.active
        if run is None:
            raise CommandError("unknown_run", "No run is live: start an agent first.")
        return run
