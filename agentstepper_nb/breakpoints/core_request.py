"""One request to the Core that this process's agents discover, on a connection of its own."""

from __future__ import annotations

from typing import Final, TypeVar

from msgspec import Struct

from ..discover import CoreEndpoint, discover_control_endpoint
from ..errors import CommandError, ConnectionLostError, ProtocolError
from ..protocol.agent import AgentError, from_agent, to_agent

ResponseT = TypeVar("ResponseT", bound=Struct)

#: Seconds that a Core has to answer: for a dry run it reads long runs.
_TIMEOUT_S: Final = 60.0
#: The Core's codes for a request that can't be executed now; with other codes the request is wrong.
_COMMANDS: Final = frozenset(
    {
        *("watch_only", "unknown_run", "unknown_stop", "unknown_edit_rule"),
        *("store_failed", "internal"),
    }
)


def send_request(
    request: Struct, response_type: type[ResponseT], endpoint: CoreEndpoint | None = None
) -> ResponseT:
    """Send a request to the Core, and return its answer.

    Args:
        request: A message that needs no hello.
        response_type: The answer's type.
        endpoint: The Core, with its control token; None: the running Core.

    Raises:
        ConnectionError: There is no Core, it can't be reached, or it is too old.
        ProtocolError: The Core rejects the request: for example, `invalid_stop`.
        CommandError: The Core can't answer now; `watch_only`: the Core asks for its control token.
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
