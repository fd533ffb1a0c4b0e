"""How the standalone Core accepts connections, also when it is out of file descriptors, or stops."""

from __future__ import annotations

import asyncio
import errno
import logging
import resource
from collections.abc import Sequence
from typing import Any, Final

from websockets.asyncio.server import Server

#: The connections that asyncio accepts at once. If it can't, it starts a timer for each of so many
#: tries, and each timer tries as often again: with asyncio's default of 100, soon all it does.
ACCEPTS_PER_TURN: Final = 1
#: Connections that the system queues until they are accepted.
_BACKLOG: Final = 128
#: Seconds between two lines about one trouble.
_LOG_INTERVAL_S: Final = 60.0
#: asyncio's message for a connection that it couldn't accept; it tries again after a second.
_NOT_ACCEPTED: Final = "socket.accept() out of system resource"
_OPEN_FILES: Final = (errno.EMFILE, errno.ENFILE)
#: Turns of the event loop from accepting a connection until websockets has a task for it.
_LOOP_TURNS: Final = 3


def enlarge_backlog(server: Server) -> None:
    """Queue as many connections as if asyncio accepted them all at once.

    Args:
        server: A listening server.
    """
    for each in server.sockets:
        with each.dup() as listening:
            listening.listen(_BACKLOG)


async def stop_accepting(servers: Sequence[Server]) -> None:
    """Accept no more connections, and wait until websockets has a task for each that was accepted.

    A server of websockets that is closed forgets the connections that asyncio is about to hand to it, so
    that their tasks outlive the event loop.

    Args:
        servers: Servers of the running loop.
    """
    loop = asyncio.get_running_loop()
    for server in servers:
        for listening in server.sockets:
            loop.remove_reader(listening.fileno())
    for _ in range(_LOOP_TURNS):
        await asyncio.sleep(0)


class AcceptErrorLog:
    """Logs once a minute that no connection can be accepted; other errors go to asyncio's handler.

    Args:
        log: Receives the line.
    """

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._logged_at: float | None = None

    def handle(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Handle an exception that the event loop caught, as `loop.set_exception_handler` requires."""
        if context.get("message") != _NOT_ACCEPTED:
            loop.default_exception_handler(context)
            return
        now = loop.time()
        if self._logged_at is None or now - self._logged_at >= _LOG_INTERVAL_S:
            self._logged_at = now
            self._log.error(
                "The Core can't accept a connection: %s. %s",
                context.get("exception"),
                _make_advice(context.get("exception")),
            )


def _make_advice(error: object) -> str:
    if isinstance(error, OSError) and error.errno in _OPEN_FILES:
        limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        return (
            f"Close other connections, or start the Core with a higher limit than {limit} "
            "open files (ulimit -n)."
        )
    return "The Core tries again every second."
