"""What no SDK would send, on a bare socket."""

import json
import socket
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse

import pytest

from agentstepper_nb.models.scripted import Script, ScriptedServer, ScriptRule, always, say
from agentstepper_nb.models.scripted.server import MAX_BODY_BYTES

CHAT = "/v1/chat/completions"
ASK = b'{"model": "m", "messages": []}'


@pytest.fixture
def connection() -> Iterator[HTTPConnection]:
    with ScriptedServer(Script("s", [ScriptRule(always, say("hi"))])) as server:
        connection = HTTPConnection("127.0.0.1", int(server.base_url.split(":")[2].split("/")[0]))
        yield connection
        connection.close()


def error(response: HTTPResponse) -> tuple[int, str, str]:
    assert response.headers["content-type"] == "application/json"
    body = json.loads(response.read())["error"]
    assert set(body) == {"message", "type", "param", "code"}
    return response.status, body["code"], body["message"]


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_an_unknown_path_is_a_404_that_says_what_there_is(
    connection: HTTPConnection, method: str
) -> None:
    connection.request(method, "/chat/completions?x=1", ASK)
    status, code, message = error(connection.getresponse())
    assert (status, code) == (404, "not_found")
    assert "POST /v1/chat/completions" in message


def test_the_wrong_method_is_a_405(connection: HTTPConnection) -> None:
    connection.request("GET", CHAT)
    response = connection.getresponse()
    assert response.headers["allow"] == "POST"
    assert error(response)[:2] == (405, "method_not_allowed")
    connection.request("POST", "/v1/models", b"{}")
    assert error(connection.getresponse())[0] == 405


def test_the_connection_goes_on_after_a_bad_request(connection: HTTPConnection) -> None:
    connection.request("POST", CHAT, b"{nonsense")
    status, code, message = error(connection.getresponse())
    assert (status, code) == (400, "invalid_request")
    assert "malformed" in message
    sock = connection.sock
    connection.request("POST", CHAT, ASK)
    response = connection.getresponse()
    assert json.loads(response.read())["choices"][0]["message"]["content"] == "hi"
    assert response.status == 200
    assert connection.sock is sock


def test_a_query_is_ignored(connection: HTTPConnection) -> None:
    connection.request("POST", f"{CHAT}?api-version=1", ASK)
    assert connection.getresponse().status == 200


@pytest.mark.parametrize("length", [None, "", "-1", "1e3", "²"])
def test_a_body_needs_its_length(connection: HTTPConnection, length: str | None) -> None:
    connection.putrequest("POST", CHAT)
    if length is not None:
        connection.putheader("Content-Length", length.encode())
    connection.endheaders()
    response = connection.getresponse()
    assert response.headers["connection"] == "close"
    assert error(response)[0] == 411


def test_a_body_may_not_be_endless(connection: HTTPConnection) -> None:
    connection.putrequest("POST", CHAT)
    connection.putheader("Content-Length", str(MAX_BODY_BYTES + 1))
    connection.endheaders()
    assert error(connection.getresponse())[0] == 413


def test_a_method_that_nobody_knows(connection: HTTPConnection) -> None:
    connection.request("BREW", CHAT)
    assert error(connection.getresponse())[:2] == (501, "bad_request")


def test_a_client_of_the_last_century_gets_no_chunks(connection: HTTPConnection) -> None:
    with socket.create_connection((connection.host, connection.port)) as sock:
        sock.sendall(b"POST %b HTTP/1.0\r\nContent-Length: 30\r\n\r\n%b" % (CHAT.encode(), ASK))
        head, _, body = sock.makefile("rb").read().partition(b"\r\n\r\n")
    assert b"transfer-encoding" not in head
    assert json.loads(body)["object"] == "chat.completion"


def test_what_is_no_http_is_answered_and_closed(connection: HTTPConnection) -> None:
    with socket.create_connection((connection.host, connection.port)) as sock:
        sock.sendall(b"good morning to you\r\n\r\n")
        assert json.loads(sock.makefile("rb").read())["error"]["code"] == "bad_request"


def test_clients_that_go_away_are_no_failure(
    connection: HTTPConnection, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.create_connection((connection.host, connection.port)) as sock:
        sock.sendall(b"POST %b HTTP/1.1\r\nContent-Length: 30\r\n\r\n{" % CHAT.encode())
    connection.request("POST", CHAT, ASK)
    assert connection.getresponse().status == 200
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []
