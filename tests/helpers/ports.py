"""Ports of this machine for what is started, killed and started again at the same place."""

from __future__ import annotations

import os
import secrets
import socket
from contextlib import ExitStack, suppress
from typing import Final

#: Below the ports that systems give to who asks for any: nobody gets one while its server is away.
_FIRST: Final = 10_000
#: The ports of one process of pytest-xdist, and how many processes have ports of their own.
_SHARE: Final = 2_700
_SHARES: Final = 8


def find_ports(count: int) -> list[int]:
    """Find free ports of 127.0.0.1, which the other workers of this pytest-xdist don't use."""
    number = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    first = _FIRST + number % _SHARES * _SHARE
    found: list[int] = []
    with ExitStack() as stack:
        while len(found) < count:
            each = stack.enter_context(socket.socket())
            each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do
            with suppress(OSError):  # another one has it
                each.bind(("127.0.0.1", first + secrets.randbelow(_SHARE)))
                found.append(int(each.getsockname()[1]))
    return found
