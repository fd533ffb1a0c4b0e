"""Opening a connection to a Core, and saying in words why it didn't work."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from websockets.exceptions import (
    ConnectionClosed,
    InvalidHandshake,
    InvalidStatus,
    InvalidURI,
)
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from ..discover import CoreEndpoint, explain_tls_error, make_tls_context
from ..errors import ConnectionLostError, DiscoveryError, ProtocolError
from ..protocol.agent import AgentError, Hello, Welcome, from_agent, to_agent
from ..protocol.envelope import MAX_MESSAGE_BYTES, SUBPROTOCOL, VERSION

#: Seconds to wait for the Core while opening, and for its answer to hello.
TIMEOUT_S: Final = 10
#: Seconds that what was sent may stay without TCP's word that it arrived.
_SILENCE_S: Final = 60

#: Seconds that a Core has to answer a probe: it is near, and a person waits.
PROBE_TIMEOUT_S: Final = 3.0

_START_ONE = "Start a Core with `agentstepper serve`, or JupyterLab with agentstepper_nb installed."

#: The WebSocket code for a message above the limit.
_TOO_LARGE: Final = 1009

#: The code of the answer to a hello that was not understood.
_NO_HELLO = "invalid_message"

#: Refusals that may be over the next time: the Core failed at this one, or its disk is full.
_TRANSIENT_CODES: Final = frozenset({"internal", "store_failed"})

#: Why a connection doesn't come about whose Core is silent.
NO_ANSWER: Final = "The Core didn't answer hello. Look at the Core's log, and restart it."

_IS_IT_INSTALLED = (
    "Check that agentstepper_nb is installed there, and its server extension enabled."
)


class AgentRefusedError(ConnectionLostError):
    """The Core doesn't take this agent.

    Args:
        message: Why, for a person.
        code: The Core's own word for it, where it gave one.
    """

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code


@contextmanager
def open_socket(endpoint: CoreEndpoint, timeout_s: float = TIMEOUT_S) -> Iterator[ClientConnection]:
    """Open a connection, and close it in the end.

    Args:
        endpoint: Where the Core is.
        timeout_s: Seconds that it has to open, and to close.
    """
    headers = {"Authorization": f"Bearer {endpoint.token}"} if endpoint.token else None
    opening = connect(
        endpoint.url,
        ssl=make_tls_context(endpoint.url),
        subprotocols=[Subprotocol(SUBPROTOCOL)],
        additional_headers=headers,
        proxy=None,
        compression=None,
        max_size=MAX_MESSAGE_BYTES,
        open_timeout=timeout_s,
        close_timeout=timeout_s,
        # A process that was stopped for a while is no lost connection: only TCP says so.
        ping_timeout=None,
    )
    with opening as connection:
        _set_silence_timeout(connection)
        yield connection


def _set_silence_timeout(connection: ClientConnection) -> None:
    """Let TCP give up sooner than after its quarter of an hour where the network is gone.

    The pings that the library sends make it notice while nothing else is sent.
    """
    option = getattr(socket, "TCP_USER_TIMEOUT", None)
    if option is not None:
        with suppress(OSError):
            connection.socket.setsockopt(socket.IPPROTO_TCP, option, _SILENCE_S * 1000)


def exchange_hello(
    connection: ClientConnection, hello: Hello, timeout_s: float = TIMEOUT_S
) -> Welcome | None:
    """Say hello where the Core chose version 2; None where it speaks version 1, which has no hello.

    Args:
        connection: The connection.
        hello: Introduces the agent.
        timeout_s: Seconds that the Core has to answer.

    Raises:
        AgentRefusedError: The Core doesn't take this agent.
        ConnectionLostError: It doesn't answer.
    """
    if connection.subprotocol is None:
        return None
    connection.send(from_agent.encode(hello, 1))
    try:
        _, answer = to_agent.decode(connection.recv(timeout=timeout_s))
    except TimeoutError:
        raise ConnectionLostError(NO_ANSWER) from None
    except ProtocolError as error:
        raise AgentRefusedError(f"The Core's answer to hello can't be decoded: {error}") from None
    return check_welcome(answer)


def check_welcome(answer: object) -> Welcome:
    """The welcome that answers hello.

    Raises:
        AgentRefusedError: The answer is none.
    """
    if isinstance(answer, AgentError):
        hint = (
            " Check that this isn't the views' address: agents use another."
            if answer.code == _NO_HELLO
            else ""
        )
        said = f"The Core refused this agent: {answer.message}{hint}"
        raise AgentRefusedError(said, answer.code)
    if not isinstance(answer, Welcome) or answer.version != VERSION:
        spoken = getattr(answer, "version", "another one")
        raise AgentRefusedError(
            f"This SDK speaks protocol version {VERSION}, and the Core {spoken}. Upgrade "
            "the older of the two."
        )
    return answer


def is_final_refusal(error: Exception) -> bool:
    """Whether the Core won't take the agent the next time either."""
    # Who refuses the token is another Core by now, or none, that has the port of ours.
    return isinstance(error, AgentRefusedError) and error.code not in _TRANSIENT_CODES


def probe(endpoint: CoreEndpoint, timeout_s: float = PROBE_TIMEOUT_S) -> int:
    """Shake hands as an agent would, with its token, and leave again.

    Args:
        endpoint: Where the Core is.
        timeout_s: Seconds that it has to answer.

    Returns:
        The version of the protocol that it would speak with this SDK.

    Raises:
        ConnectionError: There is no Core, it doesn't answer, or it refuses the token; the text says what
            to do.
    """
    try:
        with open_socket(endpoint, timeout_s) as socket:
            # A handshake may be the work of a proxy before it; a pong is the Core's own.
            if not socket.ping().wait(timeout_s):
                raise TimeoutError
            return 1 if socket.subprotocol is None else VERSION
    except Exception as error:
        raise explain_not_opened(endpoint, error, timeout_s) from None


def explain_not_opened(
    endpoint: CoreEndpoint, error: Exception, timeout_s: float = TIMEOUT_S
) -> ConnectionError:
    """Tell a person why no connection came about, and what to do.

    Args:
        endpoint: Where the Core was to be.
        error: What opening it raised.
        timeout_s: Seconds that it had.
    """
    url = endpoint.url
    match error:
        case AgentRefusedError():
            return AgentRefusedError(str(error), error.code)
        case ConnectionLostError() | DiscoveryError():
            return error
        case InvalidStatus():
            return _explain_refused(
                url, error.response.status_code, bytes(error.response.body or b"")
            )
        case ConnectionClosed():
            return ConnectionLostError(explain_lost(url, error))
    return _explain_not_reached(url, error, timeout_s) or ConnectionLostError(
        f"The connection to {url} failed: {error!r}."
    )


def _explain_not_reached(url: str, error: Exception, timeout_s: float) -> DiscoveryError | None:
    """Say that no Core is there; None where the error doesn't tell."""
    if (said := explain_tls_error(url, error)) is not None:
        return DiscoveryError(said)
    match error:
        case InvalidURI():
            return DiscoveryError(f"{url!r} isn't an address of a Core: it must be ws://host:port.")
        case TimeoutError():
            return DiscoveryError(
                f"No Core answered at {url} in {timeout_s:g} seconds. {_START_ONE}"
            )
        case InvalidHandshake():
            return DiscoveryError(
                f"The program at {url} isn't a Core ({error}). Check host and port, and use wss:// "
                "for a Core that speaks TLS."
            )
        case OSError():
            return DiscoveryError(f"No Core listens at {url} ({error}). {_START_ONE}")
    return None


def explain_lost(url: str, error: ConnectionClosed | None, limit: int = MAX_MESSAGE_BYTES) -> str:
    """Tell a person why an open connection is gone, and the run with it."""
    return (
        f"Connection lost to the Core at {url}: {explain_close(error, limit)}. The run "
        "has ended. Start the agent again."
    )


def explain_failed(url: str, error: Exception) -> str:
    """Why a connection that is there is of no use, for a person.

    Args:
        url: The Core's address.
        error: What went wrong; a ProtocolError where what the Core says can't be read.
    """
    if isinstance(error, ProtocolError):
        return (
            f"A message of the Core at {url} can't be decoded: {error} Check that this "
            "isn't the views' address: agents use another."
        )
    return f"Connection lost to the Core at {url}: {error!r}"


def explain_close(error: ConnectionClosed | None, limit: int = MAX_MESSAGE_BYTES) -> str:
    """Why an open connection is gone, as part of a sentence."""
    if error is not None and is_too_large(error):
        if not error.rcvd_then_sent:
            return "the Core's answer was larger than the agent accepts"
        said = f"{limit // 1024 // 1024} MiB"
        return f"a message was larger than the Core accepts ({said}); shorten it with redact="
    if error is None or error.rcvd is None:
        return "the Core went away; look at its log"
    return f"the Core closed the connection with {error.rcvd.code} {error.rcvd.reason}".rstrip(" .")


def is_too_large(error: ConnectionClosed) -> bool:
    """Whether a connection was closed over a message that would be too large the next time, too."""
    frames = (error.rcvd, error.sent)
    return any(frame is not None and frame.code == _TOO_LARGE for frame in frames)


def _explain_refused(url: str, status: int, body: bytes) -> ConnectionError:
    said = _describe_body(body)
    if status in (401, 403):
        return ConnectionLostError(
            f"The Core at {url} refused this agent ({status}): the token is missing or wrong. "
            "Pass token=, or set AGENTSTEPPER_TOKEN; a Jupyter server's is in its runtime file, "
            f"agentstepper-PID.json in the folder that `jupyter --runtime-dir` names. {said}".rstrip()
        )
    if status == 404:
        return DiscoveryError(f"The server at {url} has no Core on this path. {_IS_IT_INSTALLED}")
    # A page: Jupyter sends to its login from a path that it doesn't know.
    hint = f" {_IS_IT_INSTALLED}" if status == 200 else ""
    return DiscoveryError(
        f"The server at {url} answered {status} instead of a Core. {said}".rstrip() + hint
    )


def _describe_body(body: bytes) -> str:
    """What the body of a refusal says, where it is for a person."""
    text = body.decode(errors="replace").strip()
    try:
        document = json.loads(text)
    except ValueError:
        return f"It says: {text}" if 0 < len(text) < 300 and "<" not in text else ""
    message = document.get("message") if isinstance(document, dict) else None
    return f"It says: {message}" if isinstance(message, str) else ""
