"""A UI connection within the Core's process: without a socket, on the Core's thread."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Final

from msgspec import UNSET, Struct

from .._version import __version__
from ..cli.core_connection import (
    ConnectionEvent,
    CoreConnected,
    CoreConnectionRefused,
    CoreMessageReceived,
)
from ..hub import PeerSession
from ..protocol import ui
from ..protocol.envelope import VERSION
from ..widgets.kernel_core import KernelCore

_HELLO: Final = ui.UiHello(version=VERSION, client=f"agentstepper_nb magics {__version__}")


class LocalConnection:
    """The counterpart of `cli.core_connection.CoreConnection` without a socket.

    Args:
        core: The Core.
        notify: Called with each connection event, on the Core's loop.
    """

    def __init__(self, core: KernelCore, notify: Callable[[ConnectionEvent], None]) -> None:
        self._core = core
        self._notify = notify
        self._peer = _LocalPeer(self._receive, lambda reason: notify(CoreConnectionRefused(reason)))
        self._session: PeerSession | None = None
        self._numbers = itertools.count(1)
        core.loop.call_soon_threadsafe(self._open)

    def send(self, command: Struct) -> str:
        """Send a command, from any thread. Returns its id."""
        number = next(self._numbers)
        id = f"c{number}"
        self._core.loop.call_soon_threadsafe(self._send_now, command, number, id)
        return id

    def close(self) -> None:
        """End the session, from any thread."""
        self._core.loop.call_soon_threadsafe(self._close)

    # ---- on the loop --------------------------------------------------------------------------------

    def _open(self) -> None:
        self._session = self._core.connect_view(self._peer)
        self._send_now(_HELLO, next(self._numbers), "hello")

    def _send_now(self, command: Struct, number: int, id: str) -> None:
        if self._session is not None:
            self._session.receive(ui.from_ui.encode(command, number, id))

    def _receive(self, text: str) -> None:
        envelope, message = ui.to_ui.decode(text)
        if isinstance(message, ui.CoreHello):
            self._notify(CoreConnected(message))
        else:
            self._notify(
                CoreMessageReceived(message, None if envelope.id is UNSET else envelope.id)
            )

    def _close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.on_closed()


class _LocalPeer:
    """The connection that the hub uses.

    Args:
        on_text: Called with each text.
        on_closed: Called with the reason when the Core closes the connection.
    """

    def __init__(self, on_text: Callable[[str], None], on_closed: Callable[[str], None]) -> None:
        self._on_text = on_text
        self._on_closed = on_closed

    def send(self, text: str) -> None:
        """Hand a text on."""
        self._on_text(text)

    def close(self, code: int, reason: str) -> None:
        """Handle the Core's end."""
        self._on_closed(reason)
