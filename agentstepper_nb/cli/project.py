"""`agentstepper project`: background agents as tables in LanceDB, written for as long as it runs."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from argparse import Namespace
from contextlib import ExitStack
from functools import partial
from importlib import import_module
from pathlib import Path

from ..errors import AgentStepperError, StoreError
from ..protocol.runtime_requests import PROJECTION_SERVICE
from ..rpc.persistent_connection import FindEndpoint, ReconnectingCaller
from ..runtime.projection_service import ProjectionService
from ..runtime.remote_queue import RemoteQueue
from ..store.folder_lock import lock_folder
from ..store.lance.projection import Embed, Projection
from ..worker.serve_loop import WorkerEnd, run_worker
from . import EXIT_FAILURE, EXIT_INTERRUPTED, EXIT_OK
from .terminal_text import escape_controls, log_to_stderr
from .worker import make_core_finder

log = logging.getLogger("agentstepper_nb.projection")


def run(namespace: Namespace) -> int:
    """Run the command.

    Args:
        namespace: The parsed command line.

    Returns:
        1 if the projection can't be written or the Core can't be reached, else 0.
    """
    log_to_stderr(namespace.log_level, "%(levelname)s %(message)s")
    try:
        with ExitStack() as stack:
            to = namespace.to
            if (
                "://" not in to
            ):  # in an object store nothing tells two writers apart, and neither harms
                to = str(Path(to).expanduser().absolute())
                stack.enter_context(lock_folder(Path(to), "agentstepper project"))
            asyncio.run(_project(to, make_core_finder(namespace), namespace))
    except AgentStepperError as error:
        print(f"agentstepper project: {escape_controls(str(error))}", file=sys.stderr)
        return EXIT_FAILURE
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    return EXIT_OK


def load_embedding(name: str) -> Embed:
    """Import the function of `MODULE:FUNCTION`; the module may lie in the current folder.

    Raises:
        StoreError: There is no such function.
    """
    module, _, function = name.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found: Embed = getattr(import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise StoreError(
            f"The embedding function {name!r} can't be imported: {error}. Name it as MODULE:FUNCTION."
        ) from error
    return found


async def _project(to: str, find: FindEndpoint, options: Namespace) -> None:
    """Write, and serve searches, until the Core refuses it, or a signal asks for the end."""
    embed = None if options.embed is None else load_embedding(options.embed)
    caller = ReconnectingCaller()
    service = ProjectionService(
        RemoteQueue(caller),
        partial(_open, to, embed, options),
        log,
        options.poll,
        once=options.once,
    )
    working = asyncio.create_task(
        run_worker(find, {PROJECTION_SERVICE: service}, caller, log, WorkerEnd())
    )
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, working.cancel)
    await asyncio.wait((working, service.following), return_when=asyncio.FIRST_COMPLETED)
    working.cancel()
    results = await asyncio.gather(working, service.following, return_exceptions=True)
    for result in results:
        if isinstance(result, Exception):
            raise result


async def _open(to: str, embed: Embed | None, options: Namespace, place: str) -> Projection:
    return await Projection.open(to, place, embed, rebuild=options.rebuild)
