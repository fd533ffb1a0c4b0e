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
#: Seconds that sent data may stay without TCP's acknowledgement.
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

#: The reason for a connection that fails because the Core doesn't answer.
NO_ANSWER: Final = "The Core didn't answer hello. Look at the Core's log, and restart it."

_IS_IT_INSTALLED = (
    "Check that agentstepper_nb is installed there, and its server extension enabled."
)


class AgentRefusedError(ConnectionLostError):
    """Raised where the Core refuses this agent.

    Args:
        message: The reason, for a person.
        code: The Core's error code, if any.
    """

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code


@contextmanager
def open_socket(endpoint: CoreEndpoint, timeout_s: float = TIMEOUT_S) -> Iterator[ClientConnection]:
    """Open a connection, and close it at the end of the context.

    Args:
        endpoint: The Core's endpoint.
        timeout_s: Seconds that opening may take, and closing.
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
    """Say hello if the Core chose version 2; None: the Core speaks version 1, which has no hello.

    Args:
        connection: The connection.
        hello: Introduces the agent.
        timeout_s: Seconds that the Core has to answer.

    Raises:
        AgentRefusedError: The Core refuses this agent.
        ConnectionLostError: The Core doesn't answer.
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
    """Shake hands as an agent would, with its token, and close the connection.

    Args:
        endpoint: The Core's endpoint.
        timeout_s: Seconds that the Core has to answer.

    Returns:
        The version of the protocol that the Core would speak with this SDK.

    Raises:
        ConnectionError: No Core runs there, it doesn't answer, or it refuses the token; the text says
            what to do.
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
    """Explain to a person why a connection failed to open, and what to do.

    Args:
        endpoint: The Core's expected endpoint.
        error: The error of the attempt.
        timeout_s: Seconds that the Core had to answer.
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
    """Explain that no Core runs at an address; None where the error doesn't show this."""
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
    """Explain to a person why an open connection failed.

    Args:
        url: The Core's address.
        error: The error; a ProtocolError where a message of the Core can't be decoded.
    """
    if isinstance(error, ProtocolError):
        return (
            f"A message of the Core at {url} can't be decoded: {error} Check that this "
            "isn't the views' address: agents use another."
        )
    return (
        f"The SDK failed while it spoke with the Core at {url}: {error!r}. The run has ended. Start the "
        "agent again; the log of agentstepper_nb.sdk has the traceback."
    )


def explain_close(error: ConnectionClosed | None, limit: int = MAX_MESSAGE_BYTES) -> str:
    """Explain why an open connection was closed, as part of a sentence."""
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
    """The message in a refusal's body, if the body is for a person."""
    text = body.decode(errors="replace").strip()
    try:
        document = json.loads(text)
    except ValueError:
        return f"It says: {text}" if 0 < len(text) < 300 and "<" not in text else ""
    message = document.get("message") if isinstance(document, dict) else None
    return f"It says: {message}" if isinstance(message, str) else ""
