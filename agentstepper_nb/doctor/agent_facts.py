"""The state of a Core's background agents, read from the Core as any client reads it."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..discover import CoreEndpoint, CoreInfo, to_runtime_url
from .facts import BackgroundAgentFacts

if TYPE_CHECKING:
    from ..protocol.runtime_requests import RuntimeStatus

#: Seconds that a Core has to answer: it is near, and a person waits.
TIMEOUT_S: Final = 5.0

_log = logging.getLogger(__name__)


def collect_agent_facts(core: CoreInfo) -> BackgroundAgentFacts:
    """Ask a Core, from a thread that has no event loop. No worker is started for it.

    Args:
        core: It takes workers.
    """
    from ..errors import AgentStepperError, CommandError

    endpoint = CoreEndpoint(to_runtime_url(core.url), core.tokens.control or None)
    try:
        # A Runner, as nest_asyncio has another asyncio.run, which needs the main thread.
        with asyncio.Runner() as runner:
            return _facts(runner.run(_request_status(endpoint)))
    except TimeoutError:
        return BackgroundAgentFacts(problem=f"The Core didn't answer within {TIMEOUT_S:g} seconds.")
    except CommandError as error:
        if error.code == "store_failed":
            return BackgroundAgentFacts(damaged=error.message)
        return BackgroundAgentFacts(problem=error.message)
    except AgentStepperError as error:
        return BackgroundAgentFacts(problem=str(error))


async def _request_status(endpoint: CoreEndpoint) -> RuntimeStatus:
    from ..protocol.runtime_requests import SERVICE, GetRuntimeStatus, RuntimeStatus
    from ..rpc.connection import open_connection
    from ..rpc.persistent_connection import ReconnectingCaller

    async with asyncio.timeout(TIMEOUT_S):
        opened = await open_connection(endpoint, {}, _log)
        try:
            caller = ReconnectingCaller()
            caller.attach(opened.rpc_session)
            return await caller.call(SERVICE, "status", GetRuntimeStatus(), RuntimeStatus)
        finally:
            await opened.close()


def _facts(status: RuntimeStatus) -> BackgroundAgentFacts:
    from ..store.checkup.core_files import list_set_aside_stores

    store = status.store
    if store is None:
        return BackgroundAgentFacts(
            problem="A worker of an earlier version stores them. Upgrade it."
        )
    aside = list_set_aside_stores(Path(store.place)) if store.kind == "sqlite" else ()
    return BackgroundAgentFacts(
        kind=store.kind,
        store_location=store.place,
        size_bytes=store.size or 0,
        live_sessions=store.live,
        open_actions=store.open - store.delayed,  # the others need no worker yet
        workers=status.dispatchers,
        waiting=tuple((each.sessions, each.reason) for each in status.waiting),
        set_aside_files=tuple(map(str, aside)),
    )
