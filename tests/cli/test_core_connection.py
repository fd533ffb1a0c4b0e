"""The link against servers that aren't what they should be."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http import HTTPStatus
from pathlib import Path
from queue import SimpleQueue

import pytest
from websockets.http11 import Request, Response
from websockets.sync.server import ServerConnection, serve
from websockets.typing import Subprotocol

from agentstepper_nb.cli.core_connection import (
    ConnectionEvent,
    CoreConnected,
    CoreConnection,
    CoreConnectionLost,
    CoreConnectionRefused,
    CoreMessageReceived,
)
from agentstepper_nb.discover import CA_FILE_VARIABLE, find_view_endpoint
from agentstepper_nb.protocol import ui
from agentstepper_nb.protocol.delta_encoding import EncodedContent
from agentstepper_nb.protocol.envelope import SUBPROTOCOL
from agentstepper_nb.protocol.store_info import StoreInfo

STORE = StoreInfo(kind="memory")
HELLO = ui.to_ui.encode(
    ui.CoreHello(
        version=2,
        core="a Core",
        control=True,
        runs=(),
        more=0,
        store=STORE,
        breakpoints=(),
        prices=(),
    ),
    1,
    "hello",
)


class RefusingServer:
    """Says what the test wants to whoever connects, then hangs up."""

    def __init__(self, *messages: str, version: int = 2, status: int | None = None) -> None:
        self.messages = list(messages)
        self._status = status
        self._server = serve(
            self._send_messages,
            "127.0.0.1",
            0,
            subprotocols=[Subprotocol(SUBPROTOCOL)] if version == 2 else None,
            process_request=self._refuse,
        )
        self.url = f"ws://127.0.0.1:{self._server.socket.getsockname()[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever)

    def __enter__(self) -> RefusingServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()

    def _refuse(self, connection: ServerConnection, request: Request) -> Response | None:
        if self._status is None:
            return None
        return connection.respond(HTTPStatus(self._status), "not here\n")

    def _send_messages(self, connection: ServerConnection) -> None:
        connection.recv()
        for message in self.messages:
            connection.send(message)


@contextmanager
def linked(url: str) -> Iterator[Callable[[], ConnectionEvent]]:
    """A link to a URL, and what happens on it, one after the other."""
    happenings: SimpleQueue[ConnectionEvent] = SimpleQueue()
    link = CoreConnection(find_view_endpoint(url), happenings.put)
    with ExitStack() as stack:
        stack.callback(link.close)
        link.start()
        yield lambda: happenings.get(timeout=30)
    assert not link.is_alive()


@pytest.mark.parametrize(
    ("server", "said"),
    [
        (RefusingServer(version=1), "only with its control token"),
        (RefusingServer(status=403), "not here Give --token"),
        (RefusingServer(status=404), "not here"),
        (RefusingServer(ui.to_ui.encode(ui.CommandDone(), 1, "hello")), "sent no hello"),
        (RefusingServer("{}"), "that this version doesn't understand"),
        (
            RefusingServer(
                ui.to_ui.encode(ui.UiError(code="version_mismatch", message="Upgrade."), 1)
            ),
            "Upgrade.",
        ),
        (
            RefusingServer(),
            "the debugger closed the connection. Start one with `agentstepper serve`",
        ),
    ],
)
def test_what_is_no_core_is_named(server: RefusingServer, said: str) -> None:
    with server, linked(server.url) as next_happening:
        happened = next_happening()
        assert isinstance(happened, CoreConnectionRefused)
        assert said in happened.reason


def test_a_file_of_certificates_that_cannot_be_used_is_named(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CA_FILE_VARIABLE, str(home / "none.pem"))
    with linked("wss://127.0.0.1:1") as next_happening:
        happened = next_happening()
    assert isinstance(happened, CoreConnectionRefused)
    assert happened.reason.endswith(
        "No such file or directory. Check the file, and AGENTSTEPPER_CA_FILE."
    )


def test_what_is_no_url_is_named() -> None:
    with linked("http://127.0.0.1") as next_happening:
        happened = next_happening()
        assert isinstance(happened, CoreConnectionRefused)
        assert "http://127.0.0.1 isn't a valid URI" in happened.reason


def test_it_is_tried_again_less_and_less_often() -> None:
    with RefusingServer(HELLO, ui.to_ui.encode(ui.RunRemoved(run="r"), 2)) as server:
        with linked(server.url) as next_happening:
            assert isinstance(next_happening(), CoreConnected)
            assert next_happening() == CoreMessageReceived(ui.RunRemoved(run="r"), None)
            assert next_happening() == CoreConnectionLost("the debugger closed the connection", 0.5)
            server.messages = []  # it is there and hangs up: no better than away
            assert next_happening() == CoreConnectionLost("the debugger closed the connection", 1.0)


def body(data: str, pieces: EncodedContent | None = None) -> ui.MessageBody:
    return ui.MessageBody(
        run="r", message="m", revision=1, data=data, pieces=pieces, edit=None, is_strict_json=True
    )


def test_contents_in_pieces_are_joined_anew_on_each_connection() -> None:
    told = [
        body("", EncodedContent(number=1, rest=("[1", ",2]"))),
        body("", EncodedContent(number=2, prefix_of=1, prefix_pieces=1, rest=(2,))),
        body("", EncodedContent(number=3, rest=(7,))),
    ]
    texts = [ui.to_ui.encode(message, n) for n, message in enumerate(told, 2)]
    with RefusingServer(HELLO, *texts) as server, linked(server.url) as next_happening:
        for delay in (0.5, 0.5):
            assert isinstance(next_happening(), CoreConnected)
            assert [next_happening(), next_happening()] == [
                CoreMessageReceived(body("[1,2]"), None)
            ] * 2
            lost = next_happening()
            assert isinstance(lost, CoreConnectionLost)
            assert "has no piece 7" in lost.reason
            assert lost.retry_delay_s == delay


def test_a_message_of_a_newer_core_ends_it() -> None:
    with RefusingServer(HELLO, '{"n": 2, "type": "dance", "body": {}}') as server:
        with linked(server.url) as next_happening:
            assert isinstance(next_happening(), CoreConnected)
            happened = next_happening()
            assert isinstance(happened, CoreConnectionRefused)
            assert "dance" in happened.reason
