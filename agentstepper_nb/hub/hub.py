"""The hub: one Core's service, its extensions, and the sessions of the agents and UIs that connect."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from msgspec.structs import replace

from ..discover import CoreEndpoint
from ..protocol.data_model import RunEnding
from ..store import Store
from . import end_reasons
from .agent_connection import AgentConnection
from .agents_v1 import AgentPeerSessionV1
from .command_starter import CommandStarter
from .connection import NO_CONTROL, AccessRights, Connection, PeerSession
from .extensions import Extension, Extensions, read_disabled_checks
from .limits import DEFAULT_HUB_LIMITS, HubLimits
from .retention import UNLIMITED, Retention, RetentionLimits
from .run_searches import RunSearches
from .run_service import RunService
from .run_test_exports import RunTestExporter
from .views import ViewSession
from .views_v1 import ViewSessionV1
from .views_v2 import ViewSessionV2


class Hub(RunService):
    """All agents and UIs of one Core.

    Args:
        store: The store of the runs; the hub replays its contents, and closes it.
        logger: Gets one line for each connection, run, commit and refusal.
        clock: Returns POSIX seconds.
        extensions: The Core's extensions. None: the installed extensions.
        retention: The limits of the runs' age and size.
        limits: The hub's limits of work and time.

    Raises:
        ValueError: Two of the extensions use the same name, or one uses a name of the Core.
    """

    def __init__(
        self,
        store: Store,
        *,
        logger: logging.Logger | None = None,
        clock: Callable[[], float] = time.time,
        extensions: Iterable[Extension] | None = None,
        retention: RetentionLimits = UNLIMITED,
        limits: HubLimits = DEFAULT_HUB_LIMITS,
    ) -> None:
        log = logger or logging.getLogger("agentstepper_nb")
        self.extensions = Extensions(extensions, log, read_disabled_checks())
        super().__init__(store, log, clock, self.extensions.event_registry, limits)
        self.retention = Retention(self, retention)

    # ---- start and close -----------------------------------------------------------------------------

    async def start(self) -> None:
        """Start on the event loop, and wait for agents that were connected before the Core restarted."""
        self.store.on_write_trouble = self._on_trouble
        self.store_info = replace(await self.store.info(), size=None)
        for run in self.runs():
            if not run.live or run.id in self._agents:
                continue
            if self.debugger.agent_credentials(run.id) is None:
                self.finish(run.id, RunEnding.LOST, end_reasons.CORE_GONE, is_reported=False)
            else:
                self.mark_detached(run.id)
        self.retention.start()

    async def close(self) -> None:
        """Store all records, then close every connection and the store. Idempotent.

        Runs whose agents can reconnect resume with the next Core.
        """
        if self.closing:
            return
        self.closing = True  # what comes from now on is the next Core's
        self.agent_liveness.close()
        self.retention.close()
        self._imports.close()
        for listener in self.listeners:
            await listener.close()
        for agent in list(self._connected):
            agent.on_core_closing()
        await asyncio.to_thread(self.store.close)
        await asyncio.sleep(0)  # what the store has called back for
        for agent in list(self._connected):
            agent.on_core_closed()
        for ui in list(self._views):
            ui.on_core_closed()

    def enable_restarts(
        self, find_core: Callable[[], CoreEndpoint], folder: Path, certificate: str = ""
    ) -> None:
        """Let views start commands of runs again, with the data in the Core's folder.

        Args:
            find_core: Returns the Core's address for agents, and the agent token.
            folder: The folder that stores the runs.
            certificate: The file with the Core's TLS certificate; "": none.
        """
        self.command_starter = CommandStarter(find_core, folder, self.log, certificate)
        self.run_searches = RunSearches(self.command_starter, self.log)
        self.test_exporter = RunTestExporter(self.command_starter, folder)
        self.listeners += [self.command_starter, self.run_searches]

    # ---- connections --------------------------------------------------------------------------------

    def connect_agent(
        self, connection: Connection, version: int, rights: AccessRights = NO_CONTROL
    ) -> PeerSession:
        """Open the session of an agent that connected. The agent's first message names its run.

        Args:
            connection: The agent's socket.
            version: 2, or 1 if the agent chose no subprotocol.
            rights: The rights of the agent's token.
        """
        self.log.info("agent connected, version %d", version)
        session: AgentPeerSessionV1 | AgentConnection
        if version == 1:
            session = AgentPeerSessionV1(self, connection)
        else:
            session = AgentConnection(self, connection, rights)
        self._connected.add(session)
        if self.closing:
            session.on_core_closed()
        return session

    def connect_view(
        self, connection: Connection, version: int, rights: AccessRights
    ) -> ViewSession:
        """Open the session of a UI that connected.

        Args:
            connection: The UI's socket.
            version: 2, or 1 if the UI chose no subprotocol.
            rights: The rights of the UI's login.
        """
        self.log.info("UI connected, version %d", version)
        session: ViewSession
        if version == 1:
            session = ViewSessionV1(self, connection, rights)
        else:
            session = ViewSessionV2(self, connection, rights, self.extensions)
        self._views.append(session)
        session.send_initial_state()
        return session
