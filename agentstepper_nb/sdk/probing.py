"""Asking whether a Core answers, without starting a run there."""

from __future__ import annotations

from typing import Final

from ..discover import Endpoint
from ..protocol.frame import VERSION
from .dialing import dial, why_not_opened

#: Seconds that a Core has to answer: it is near, and a person waits.
PATIENCE: Final = 3.0


def probe(endpoint: Endpoint, patience: float = PATIENCE) -> int:
    """Shake hands as an agent would, with its token, and leave again.

    Args:
        endpoint: Where the Core is.
        patience: Seconds that it has to answer.

    Returns:
        The version of the protocol that it would speak with this SDK.

    Raises:
        ConnectionError: There is no Core, it doesn't answer, or it refuses the token; the text says what
            to do.
    """
    try:
        with dial(endpoint, patience) as socket:
            # A handshake may be the work of a proxy before it; a pong is the Core's own.
            if not socket.ping().wait(patience):
                raise TimeoutError
            return 1 if socket.subprotocol is None else VERSION
    except Exception as error:
        raise why_not_opened(endpoint, error, patience) from None
