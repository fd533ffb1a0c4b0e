"""Stays connected to a Core: dials, and dials again where the connection breaks."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Final, NoReturn

from ..discover import Endpoint
from ..errors import ConnectionLostError
from .dialing import NotTakenError, OpenLine, open_line
from .door import Door
from .service import Service

#: Seconds to wait before dialling again: at first, and at most; each failure doubles them.
_FIRST_WAIT: Final = 0.1
_LONGEST_WAIT: Final = 5.0
#: Seconds in which a refusal isn't final where there was a connection before: a Core that starts again
#: listens before its new token can be found.
_RESTARTING: Final = 30.0

#: Says where the Core is. Asked before each dialling: one that started again may have a new token.
Find = Callable[[], Endpoint]


async def stay_connected(
    find: Find,
    services: Mapping[str, Service],
    door: Door,
    log: logging.Logger,
    opened: OpenLine | None = None,
) -> NoReturn:
    """Be connected for as long as this task isn't cancelled.

    Args:
        find: Says where the Core is.
        services: What it may ask for here.
        door: Opened while there is a connection.
        log: Gets a line for each connection.
        opened: A line to begin with; None: one is dialled.

    Raises:
        NotTakenError: The Core refuses this connection.
    """
    clock = asyncio.get_running_loop().time
    wait = _FIRST_WAIT
    refusable = clock()  # from when on a refusal is final
    while True:
        try:
            if opened is None:
                opened = await open_line(find(), services, log)
            await _use(opened, services, door, log)
            wait, refusable = _FIRST_WAIT, clock() + _RESTARTING
        except ConnectionLostError as error:
            if isinstance(error, NotTakenError) and clock() >= refusable:
                raise
            door.away = str(error)
            log.warning("%s", error)
        opened = None
        await asyncio.sleep(wait)
        wait = min(2 * wait, _LONGEST_WAIT)


async def _use(
    opened: OpenLine, services: Mapping[str, Service], door: Door, log: logging.Logger
) -> None:
    """Let the door lead to a line until that is gone."""
    log.info("connected to the Core, serving %s", ", ".join(services) or "nothing")
    opened.on_lost = door.shut
    door.open(opened.line)
    try:
        why = await opened.closed()
    finally:
        await opened.close()
    log.info("the connection to the Core is closed: %s", why)
