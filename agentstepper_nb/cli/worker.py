"""`agentstepper worker`: a process that serves a Jupyter server's Core."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from argparse import Namespace
from pathlib import Path

from .. import discover
from ..discover import Endpoint
from ..errors import ConnectionLostError, DiscoveryError
from ..worker.run import work
from ..worker.service import ServiceContext, load_services
from . import FAILED, INTERRUPTED, OK


def run(given: Namespace) -> int:
    """Run the command.

    Args:
        given: What the command line set.

    Returns:
        The exit code.
    """
    logging.basicConfig(
        level=given.log_level.upper(), stream=sys.stderr, format="%(levelname)s %(message)s"
    )
    for chatty in ("websockets", "httpx", "httpx2"):  # a line for each request
        logging.getLogger(chatty).setLevel(logging.WARNING)
    try:
        endpoint = discover.worker_endpoint()
        asyncio.run(_work(endpoint, given))
    except (ConnectionLostError, DiscoveryError) as error:
        print(f"agentstepper: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    return OK


async def _work(endpoint: Endpoint, options: Namespace) -> None:
    """Serve until the Core's end, or until a signal asks for the end of this process."""
    context = ServiceContext(data_dir=Path(options.data) if options.data else discover.data_dir())
    working = asyncio.current_task()
    assert working is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, working.cancel)
    try:
        services = load_services(context)
        await work(endpoint, services, context.log, until_eof=options.until_eof)
    except asyncio.CancelledError:
        context.log.info("ended by a signal")
