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
from ..worker.serve_loop import run_worker
from ..worker.services import ServiceContext, load_services
from . import EXIT_FAILURE, EXIT_INTERRUPTED, EXIT_OK
from .terminal_text import log_to_stderr


def run(namespace: Namespace) -> int:
    """Run the command.

    Args:
        namespace: What the command line set.

    Returns:
        The exit code.
    """
    log_to_stderr(namespace.log_level, "%(levelname)s %(message)s")
    for chatty in ("websockets", "httpx", "httpx2"):  # a line for each request
        logging.getLogger(chatty).setLevel(logging.WARNING)
    try:
        asyncio.run(_work(_finder(namespace), namespace))
    except (ConnectionLostError, DiscoveryError) as error:
        print(f"agentstepper: {error}", file=sys.stderr)
        return EXIT_FAILURE
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    return EXIT_OK


def _finder(namespace: Namespace) -> FindEndpoint:
    """What says where the Core is: once found it stays, but may come back with another token."""
    token = namespace.token or os.environ.get(discover.WORKER_TOKEN_VARIABLE)
    first = discover.find_worker_endpoint(namespace.url, token)
    # What it runs is debugged where it serves, unless a person said otherwise.
    os.environ.setdefault(discover.URL_VARIABLE, discover.to_agents_url(first.url))
    if token is not None:
        return lambda: first
    return partial(discover.find_worker_endpoint, first.url)


async def _work(find: FindEndpoint, options: Namespace) -> None:
    """Serve until the Core's end, or until a signal asks for the end of this process."""
    caller = ReconnectingCaller()
    context = ServiceContext(
        data_dir=Path(options.data) if options.data else discover.data_dir(),
        core_caller=caller,
        lease_s=options.lease,
        poll_s=options.poll,
    )
    working = asyncio.current_task()
    assert working is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, working.cancel)
    try:
        services = load_services(context)
        await run_worker(
            find, services, caller, context.log, exits_at_stdin_eof=options.exits_at_stdin_eof
        )
    except asyncio.CancelledError:
        context.log.info("ended by a signal")
