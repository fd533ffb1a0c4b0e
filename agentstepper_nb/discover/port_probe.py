"""A probe whether a server listens at an address, which a runtime file alone doesn't tell."""

from __future__ import annotations

import socket
from typing import Final
from urllib.parse import urlsplit

#: Seconds that a Core of this machine has to take a connection.
_TIMEOUT_S: Final = 1.0
_PORTS: Final = {"ws": 80, "wss": 443}


def is_listening(url: str) -> bool:
    """Whether a connection to a WebSocket URL is taken: a Core that was killed leaves its file, and by
    now its process id may be another program's.
    """
    try:
        parts = urlsplit(url)
        address = (parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 0))
        socket.create_connection(address, _TIMEOUT_S).close()
    except (OSError, ValueError):
        return False
    return True
