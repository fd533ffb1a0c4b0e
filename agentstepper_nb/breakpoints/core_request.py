"""One question to the Core that agents of this process find, on a connection of its own."""

from __future__ import annotations

from typing import Final, TypeVar

from msgspec import Struct

from ..discover import CoreEndpoint, discover_control_endpoint
from ..errors import CommandError, ConnectionLostError, ProtocolError
from ..protocol.agent import AgentError, from_agent, to_agent

ResponseT = TypeVar("ResponseT", bound=Struct)

#: Seconds that a Core has to answer: for a dry run it reads long runs.
_TIMEOUT_S: Final = 60.0
#: What a Core says that can't be carried out now; all else is the question's fault.
_COMMANDS: Final = frozenset(
    {
        *("watch_only", "unknown_run", "unknown_stop", "unknown_edit_rule"),
        *("store_failed", "internal"),
    }
)


def send_request(
    request: Struct, response_type: type[ResponseT], endpoint: CoreEndpoint | None = None
) -> ResponseT:
    """Ask the Core.

    Args:
        request: A message that needs no hello.
        response_type: What answers it.
        endpoint: The Core, with its control token; None: the one that is running.

    Raises:
        ConnectionError: There is no Core, it can't be reached, or is older than this.
        ProtocolError: It refuses the question: `invalid_stop`, say.
        CommandError: It can't answer now; or `watch_only`: it asks for its control token.
    """
    # A condition is read without the SDK, as the terminal does.
    from ..sdk.handshake import explain_not_opened, open_socket

    endpoint = endpoint or discover_control_endpoint()
    try:
        with open_socket(endpoint) as connection:
            connection.send(from_agent.encode(request, 1, "ask"))
            _, answer = to_agent.decode(connection.recv(timeout=_TIMEOUT_S))
    except Exception as error:
        raise explain_not_opened(endpoint, error) from None
    match answer:
        case AgentError(code=code, message=message) if code in _COMMANDS:
            raise CommandError(code, message)
        case AgentError(code=code, message=message):
            raise ProtocolError(code, message)
    if not isinstance(answer, response_type):
        raise ConnectionLostError(
            f"The Core at {endpoint.url} sent an unexpected answer. Check that the Core "
            "isn't older than this package."
        )
    return answer
