"""Opening a link: who isn't there, who refuses, and who is something else."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from types import SimpleNamespace
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve
from websockets.typing import Subprotocol

from agentstepper_nb import AgentStepper, ConnectionLostError, DiscoveryError
from agentstepper_nb.discover import CoreEndpoint
from agentstepper_nb.protocol.agent import AgentError, Welcome
from agentstepper_nb.protocol.envelope import SUBPROTOCOL
from agentstepper_nb.sdk.handshake import exchange_hello, open_socket
from agentstepper_nb.sdk.send_queue import PendingFutures
from tests.helpers.ports import find_ports
from tests.sdk.both_steppers import both, end_at_once, run
from tests.sdk.run_protocols import make_run_protocol
from tests.sdk.scripted_core import TIMEOUT_S, ScriptedCore


@both
def test_nobody_listens(stepper_kind: str, core: ScriptedCore) -> None:
    (core.port,) = find_ports(1)
    with pytest.raises(DiscoveryError, match="agentstepper serve") as caught:
        run(stepper_kind, core, end_at_once)
    assert f"ws://127.0.0.1:{core.port}" in str(caught.value)
    assert isinstance(caught.value, ConnectionError)


@both
@pytest.mark.parametrize("token", [None, "wrong"])
def test_a_missing_or_wrong_token(stepper_kind: str, token: str | None) -> None:
    with ScriptedCore(token="right") as core:
        with pytest.raises(ConnectionLostError, match="AGENTSTEPPER_TOKEN") as caught:
            run(stepper_kind, core, end_at_once, token=token)
        assert "no token, no entry" in str(caught.value)
        run(stepper_kind, core, end_at_once, token="right")


@both
@pytest.mark.parametrize(
    ("welcome", "said"),
    [
        (Welcome(version=3, core="newer", run="r"), "the Core 3. Upgrade"),
        (AgentError(code="version_mismatch", message="Upgrade the SDK."), "Upgrade the SDK."),
    ],
    ids=["another version", "refused"],
)
def test_hello_is_refused(stepper_kind: str, welcome: Any, said: str) -> None:
    with ScriptedCore(welcome=welcome) as core, pytest.raises(ConnectionLostError, match=said):
        run(stepper_kind, core, end_at_once)


def test_something_else_listens() -> None:
    def reply(connection: Any, request: Any) -> Any:
        return connection.respond(404, "<html>not here</html>")

    with serve(lambda _: None, "127.0.0.1", 0, process_request=reply) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        port = server.socket.getsockname()[1]
        with pytest.raises(DiscoveryError, match="no Core on this path"):
            AgentStepper("T", url=f"http://127.0.0.1:{port}/lab")
        server.shutdown()
        thread.join()


def test_an_address_that_is_none() -> None:
    with pytest.raises(DiscoveryError, match="must be ws://"):
        AgentStepper("T", url="ftp://somewhere")


def test_arguments_that_contradict() -> None:
    with pytest.raises(ValueError, match="either url=, or address"):
        AgentStepper("T", "localhost", url="ws://localhost")
    with pytest.raises(ValueError, match="one of 'wait', 'continue', 'raise'"):
        AgentStepper("T", "localhost", 1, on_disconnect="ignore")  # type: ignore[arg-type]


def test_a_core_that_does_not_answer_hello() -> None:
    hello = make_run_protocol(PendingFutures()).make_hello()
    with (
        silent_server() as port,
        open_socket(CoreEndpoint(f"ws://127.0.0.1:{port}")) as connection,
        pytest.raises(ConnectionLostError, match="Look at the Core's log"),
    ):
        exchange_hello(connection, hello, timeout_s=0.1)


@both
@pytest.mark.parametrize(
    ("welcome", "said"),
    [("nonsense", "can't be decoded"), ("", "can't be decoded"), (None, "with 1000")],
)
def test_a_core_that_answers_nonsense(stepper_kind: str, welcome: str | None, said: str) -> None:
    with silent_server(welcome) as port, pytest.raises(ConnectionLostError, match=said):
        run(stepper_kind, SimpleNamespace(port=port), end_at_once)


@contextmanager
def silent_server(*says: str | None) -> Iterator[int]:
    """Chooses version 2, hears hello, and says one thing at most."""

    def handle(connection: ServerConnection) -> None:
        connection.recv()
        if says and says[0] is not None:
            connection.send(says[0])
        if not says or says[0] is not None:
            with suppress(ConnectionClosed):
                connection.recv()

    protocol = Subprotocol(SUBPROTOCOL)
    with serve(handle, "127.0.0.1", 0, select_subprotocol=lambda *_: protocol) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.socket.getsockname()[1]
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (b"220 mail.example ESMTP\r\n", "isn't a Core"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", "answered 200 instead.*says: hi"),
        (
            b'HTTP/1.1 403 No\r\nContent-Length: 36\r\n\r\n{"code":"x","message":"Origin bad."}',
            "says: Origin bad",
        ),
    ],
    ids=["mail", "web", "jupyter"],
)
def test_another_server(reply: bytes, said: str) -> None:
    def answer(server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection:
            connection.recv(10_000)
            connection.sendall(reply)
            connection.recv(10_000)

    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(1) as pool:
        answered = pool.submit(answer, server)
        with pytest.raises(ConnectionError, match=said):
            AgentStepper("T", "127.0.0.1", server.getsockname()[1])
        answered.result(TIMEOUT_S)


def test_a_name_that_does_not_resolve() -> None:
    with pytest.raises(DiscoveryError, match="No Core listens"):
        AgentStepper("T", "no.such.host.invalid", 1)
