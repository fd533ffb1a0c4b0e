"""`agentstepper worker`: a process that serves a Core."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from argparse import Namespace
from functools import partial
from pathlib import Path

from .. import discover
from ..errors import ConnectionLostError, DiscoveryError
from ..rpc.persistent_connection import FindEndpoint, ReconnectingCaller
from ..worker.serve_loop import WorkerEnd, run_worker
from ..worker.services import ServiceContext, load_services
from . import EXIT_FAILURE, EXIT_INTERRUPTED, EXIT_OK
from .terminal_text import log_to_stderr


def run(namespace: Namespace) -> int:
    """Run the command.

    Args:
        namespace: The parsed command line.

    Returns:
        The exit code.
    """
    log_format = "%(levelname)s %(message)s"
    log_to_stderr(namespace.log_level, log_format, is_json=namespace.log_json)
    for chatty in ("websockets", "httpx", "httpx2"):  # a line for each request
        logging.getLogger(chatty).setLevel(logging.WARNING)
    try:
        return asyncio.run(_work(make_core_finder(namespace), namespace))
    except (ConnectionLostError, DiscoveryError) as error:
        print(f"agentstepper: {error}", file=sys.stderr)
        return EXIT_FAILURE
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED


def make_core_finder(namespace: Namespace) -> FindEndpoint:
    """Make the function that finds the Core: always the first one found, with its present token."""
    token = namespace.token or os.environ.get(discover.WORKER_TOKEN_VARIABLE)
    first = discover.find_worker_endpoint(namespace.url, token)
    # What it runs is debugged where it serves, unless a person said otherwise.
    os.environ.setdefault(discover.URL_VARIABLE, discover.to_agents_url(first.url))
    if token is not None:
        return lambda: first
    return partial(discover.find_worker_endpoint, first.url)


async def _work(find: FindEndpoint, options: Namespace) -> int:
    """Serve until the Core's end, or until a signal asks for the end of this process; the exit code."""
    caller = ReconnectingCaller()
    context = ServiceContext(
        data_dir=Path(options.data) if options.data else discover.data_dir(),
        core_caller=caller,
        lease_s=options.lease,
        poll_s=options.poll,
        isolation=options.isolation,
        processes=options.processes,
        labels=tuple(dict.fromkeys(options.label)),
        max_sessions=options.max_sessions,
    )
    end = WorkerEnd(
        drain_timeout_s=options.drain_timeout,
        at_stdin_eof=options.exits_at_stdin_eof,
        orphan_timeout_s=options.orphan_timeout,
    )
    _handle_signals(end, context.log)
    try:
        services = load_services(context)
        await run_worker(find, services, caller, context.log, end)
    except asyncio.CancelledError:
        context.log.info("ended by a second signal: what was under way is begun again elsewhere")
        return EXIT_INTERRUPTED
    return EXIT_OK


def _handle_signals(end: WorkerEnd, log: logging.Logger) -> None:
    """Handle signals: the first SIGTERM or SIGINT drains this worker, and the second ends it at once."""
    working = asyncio.current_task()
    assert working is not None

    def handle() -> None:
        if end.drain.is_set():
            working.cancel()
            return
        log.info(
            "draining: steps under way have %g seconds to end; a second signal ends them at once",
            end.drain_timeout_s,
        )
        end.drain.set()

    for each in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(each, handle)
