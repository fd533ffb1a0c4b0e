"""How it stands with a Core's agents that run on their own: it is asked as any client asks it."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..discover import Endpoint, RuntimeFile, runtime_url
from .facts import Agents

if TYPE_CHECKING:
    from ..protocol.runtime_wire import RuntimeStatus

#: Seconds that a Core has to answer: it is near, and a person waits.
PATIENCE: Final = 5.0

_log = logging.getLogger(__name__)


def agents(core: RuntimeFile) -> Agents:
    """Ask a Core, from a thread that has no event loop. No worker is started for it.

    Args:
        core: It takes workers.
    """
    from ..errors import AgentStepperError, CommandError

    endpoint = Endpoint(runtime_url(core.url), core.tokens.control or None)
    try:
        # A Runner, as nest_asyncio has another asyncio.run, which needs the main thread.
        with asyncio.Runner() as runner:
            return _facts(runner.run(_ask(endpoint)))
    except TimeoutError:
        return Agents(problem=f"It said nothing for {PATIENCE:g} seconds.")
    except CommandError as error:
        if error.code == "store_failed":
            return Agents(damaged=error.message)
        return Agents(problem=error.message)
    except AgentStepperError as error:
        return Agents(problem=str(error))


async def _ask(endpoint: Endpoint) -> RuntimeStatus:
    from ..protocol.runtime_wire import SERVICE, AskStatus, RuntimeStatus
    from ..rpc.dialing import open_line
    from ..rpc.reconnecting import Door

    async with asyncio.timeout(PATIENCE):
        opened = await open_line(endpoint, {}, _log)
        try:
            door = Door()
            door.open(opened.line)
            return await door.call(SERVICE, "status", AskStatus(), RuntimeStatus)
        finally:
            await opened.close()


def _facts(status: RuntimeStatus) -> Agents:
    from ..store.checkup.examination import put_aside

    store = status.store
    if store is None:
        return Agents(workers=status.dispatchers)
    aside = put_aside(Path(store.place)) if store.kind == "sqlite" else ()
    return Agents(
        kind=store.kind,
        place=store.place,
        size=store.size or 0,
        live=store.live,
        open=store.open,
        workers=status.dispatchers,
        aside=tuple(map(str, aside)),
    )
