"""The connection to a Core, on a thread of its own, which reconnects by itself."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Final, NamedTuple

from msgspec import UNSET, Struct
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from .._version import __version__
from ..discover import CoreEndpoint, explain_tls_error, make_tls_context
from ..errors import DiscoveryError, ProtocolError
from ..protocol import ui
from ..protocol.delta_decoding import decode_contents
from ..protocol.delta_encoding import DeltaDecoder
from ..protocol.envelope import MAX_MESSAGE_BYTES, SUBPROTOCOL, VERSION

#: Seconds until the first new try, and the most between two.
_FIRST_DELAY_S: Final = 0.5
_MAX_DELAY_S: Final = 10.0
#: Seconds that a connection has to open.
_HELLO_TIMEOUT_S: Final = 10.0
#: The code of the answer to a hello that was not understood.
_NO_HELLO: Final = "invalid_message"
_VERSION_1_ONLY: Final = (
    "the server speaks version 1 only: is this the UIs' port of agentstepper_nb?"
)
_NO_TOKEN: Final = (
    "the server accepts views of this version only with its control token, which wasn't "
    "found here. Give --token, or set AGENTSTEPPER_CONTROL_TOKEN, to the content of the "
    "file control-token in the debugger's data folder. Is this the agents' port? Views "
    "have another."
)


class CoreConnected(NamedTuple):
    """The Core's hello was received."""

    hello: ui.CoreHello


class CoreMessageReceived(NamedTuple):
    """A message was received; `id` is that of the command it answers."""

    message: Struct
    id: str | None


class CoreConnectionLost(NamedTuple):
    """The connection is lost and will be tried again."""

    reason: str
    retry_delay_s: float  # seconds


class CoreConnectionRefused(NamedTuple):
    """The connection was refused, and another attempt would not help."""

    reason: str


ConnectionEvent = CoreConnected | CoreMessageReceived | CoreConnectionLost | CoreConnectionRefused


class CoreRefusedError(Exception):
    """The Core refuses this connection."""


class CoreConnection(threading.Thread):
    """Connects, says hello, and reads messages; reconnects when the connection is lost.

    Args:
        core: The Core's address for UIs, and the control token.
        notify: Called with each event, on this thread.
    """

    def __init__(self, core: CoreEndpoint, notify: Callable[[ConnectionEvent], None]) -> None:
        super().__init__(name="agentstepper-link", daemon=True)
        self._core = core
        self._notify = notify
        self._socket: ClientConnection | None = None
        self._ids = itertools.count(1)
        self._sent = 0
        self._has_connected = False  # ever
        self._retry_delay_s = _FIRST_DELAY_S
        self._is_closed = threading.Event()

    def send(self, command: Struct) -> str | None:
        """Send a command and return its id; None while there is no connection."""
        socket = self._socket
        if socket is None:
            return None
        id = f"c{next(self._ids)}"
        self._sent += 1
        try:
            socket.send(ui.from_ui.encode(command, self._sent, id))
        except ConnectionClosed:
            return None
        return id

    def close(self) -> None:
        """Close the connection and end the thread."""
        self._is_closed.set()
        socket = self._socket
        if socket is not None:
            socket.close()
        self.join(_HELLO_TIMEOUT_S)

    def run(self) -> None:
        """Keep the connection, until it is closed."""
        while not self._is_closed.is_set():
            try:
                reason = self._converse()
            except CoreRefusedError as error:
                self._notify(CoreConnectionRefused(str(error)))
                return
            if not self._has_connected:
                help = "Start one with `agentstepper serve`, or name another with --url."
                self._notify(CoreConnectionRefused(f"{reason}. {help}"))
                return
            if not self._is_closed.is_set():
                self._wait(reason)

    def _converse(self) -> str:
        """Send and receive messages while the connection lasts. Returns the reason of its end."""
        try:
            with self._connect() as socket:
                self._greet(socket)
                decoder = DeltaDecoder()
                while True:
                    received = _decode(socket)
                    self._notify(
                        received._replace(message=decode_contents(received.message, decoder))
                    )
        except InvalidURI as error:
            raise CoreRefusedError(f"{error}.") from None
        except InvalidStatus as error:
            raise CoreRefusedError(_status(error)) from None
        except ProtocolError as error:  # a content can't be joined: anew, it comes whole
            return error.message
        except ConnectionClosed as error:
            return (error.rcvd and error.rcvd.reason) or "the debugger closed the connection"
        except (OSError, InvalidHandshake) as error:
            if (said := explain_tls_error(self._core.url, error)) is not None:
                raise CoreRefusedError(said) from None
            return str(error)
        finally:
            self._socket = None

    def _wait(self, reason: str) -> None:
        """Wait before the next try: twice as long each time, until one succeeds."""
        delay = self._retry_delay_s
        self._retry_delay_s = min(2 * delay, _MAX_DELAY_S)
        self._notify(CoreConnectionLost(reason, delay))
        self._is_closed.wait(delay)

    def _connect(self) -> AbstractContextManager[ClientConnection]:
        token = self._core.token
        headers = {"Authorization": f"Bearer {token}"} if token else None
        try:
            tls = make_tls_context(self._core.url)
        except DiscoveryError as error:  # else it would be an OSError, which is tried again
            raise CoreRefusedError(str(error)) from None
        return connect(
            self._core.url,
            ssl=tls,
            subprotocols=[Subprotocol(SUBPROTOCOL)],
            additional_headers=headers,
            compression=None,
            max_size=MAX_MESSAGE_BYTES,
            open_timeout=_HELLO_TIMEOUT_S,
            proxy=None,
        )

    def _greet(self, socket: ClientConnection) -> None:
        if socket.subprotocol != SUBPROTOCOL:
            raise CoreRefusedError(_VERSION_1_ONLY if self._core.token else _NO_TOKEN)
        self._sent = 1
        hello = ui.UiHello(version=VERSION, client=f"agentstepper step {__version__}")
        socket.send(ui.from_ui.encode(hello, 1, "hello"))
        answer = _decode(socket).message
        if isinstance(answer, ui.UiError):
            hint = (
                " Is this the agents' port? Views have another." if answer.code == _NO_HELLO else ""
            )
            raise CoreRefusedError(answer.message + hint)
        if not isinstance(answer, ui.CoreHello):
            raise CoreRefusedError("the server sent no hello: is this the UIs' port?")
        self._has_connected, self._retry_delay_s = True, _FIRST_DELAY_S
        self._socket = socket
        self._notify(CoreConnected(answer))


def _decode(socket: ClientConnection) -> CoreMessageReceived:
    try:
        envelope, message = ui.to_ui.decode(socket.recv())
    except ProtocolError as error:
        raise CoreRefusedError(
            f"The debugger sent a message that this version doesn't understand: {error} "
            "Upgrade agentstepper_nb."
        ) from None
    return CoreMessageReceived(message, None if envelope.id is UNSET else envelope.id)


def _status(error: InvalidStatus) -> str:
    """Describe a refused handshake: the Core gives the reason in the body."""
    said = (error.response.body or b"").decode(errors="replace").strip()
    code = error.response.status_code
    if code in (401, 403):
        return f"{said or f'HTTP {code}'} Give --token, or set AGENTSTEPPER_CONTROL_TOKEN."
    return said or f"HTTP {code}: is this the UIs' port?"
