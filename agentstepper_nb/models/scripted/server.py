"""An HTTP/1.1 server on 127.0.0.1 that answers model requests from a script."""

from __future__ import annotations

import logging
import socket
import sys
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import TracebackType
from typing import Any, Self

from .script import DisconnectFaultError, PauseGate, Script
from .scripted_model import (
    APIS,
    CHAT_COMPLETIONS,
    ScriptedExchange,
    ScriptedModel,
    ScriptedResponse,
    make_error_response,
)

_log = logging.getLogger(__name__)

#: The largest accepted body of a request, in bytes.
MAX_BODY_BYTES = 64 * 1024 * 1024

#: The HTTP method of each path.
METHODS = dict.fromkeys(APIS, "POST") | {"/v1/models": "GET"}


class ScriptHTTPServer(ThreadingHTTPServer):
    """Serves each connection on a thread of its own; all threads end with the server."""

    request_queue_size = 128
    daemon_threads = True  # a server that nobody closed doesn't keep the interpreter alive

    def __init__(self, port: int, model: ScriptedModel) -> None:
        self.model = model
        self._connections: dict[Thread, socket.socket] = {}  # touched by the serving loop alone
        super().__init__(("127.0.0.1", port), ScriptRequestHandler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection on a new thread, and register the thread until it ends."""
        thread = Thread(
            target=self.process_request_thread,
            args=(request, client_address),
            name=f"scripted-{client_address[1]}",
            daemon=True,
        )
        self._connections = {t: c for t, c in self._connections.items() if t.is_alive()}
        self._connections[thread] = request
        thread.start()

    def break_connections(self) -> None:
        """Break all connections, idle or busy. Call after `serve_forever` has returned."""
        for connection in list(self._connections.values()):
            with suppress(OSError):  # it ended by itself
                connection.shutdown(socket.SHUT_RDWR)

    def join_connections(self) -> None:
        """Wait for the threads of the broken connections."""
        for thread in list(self._connections):
            thread.join()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log the error of a request. A client that disconnects isn't an error."""
        if not isinstance(sys.exception(), ConnectionError):
            _log.exception("a request from %s failed", client_address)


class ScriptRequestHandler(BaseHTTPRequestHandler):
    """Reads the requests of one connection and sends the responses."""

    server: ScriptHTTPServer
    protocol_version = "HTTP/1.1"
    server_version = "agentstepper-scripted"
    sys_version = ""
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        """Answer `GET /v1/models`."""
        self._send(self._misdirected("GET") or self.server.model.list_models())

    def do_POST(self) -> None:
        """Answer a model request in the API of the request's path."""
        body = self._read_body()
        if body is not None:
            misdirected = self._misdirected("POST")
            self._send(misdirected or self.server.model.answer(self._where, body))

    @property
    def _where(self) -> str:
        """The request's path without its query string."""
        return self.path.partition("?")[0]

    def _misdirected(self, method: str) -> ScriptedResponse | None:
        path = self._where
        allowed = METHODS.get(path)
        if allowed is None:
            known = ", ".join(f"{method} {path}" for path, method in METHODS.items())
            return make_error_response(
                404, f"There is nothing at {path}. The paths are {known}.", code="not_found"
            )
        if allowed != method:
            text = f"{path} answers {allowed}, not {method}."
            headers = {"allow": allowed}
            api = APIS.get(path, CHAT_COMPLETIONS)
            return make_error_response(
                405, text, code="method_not_allowed", headers=headers, api=api
            )
        return None

    def _read_body(self) -> bytes | None:
        length = self.headers.get("content-length", "")
        if not length.isascii() or not length.isdigit():
            self.send_error(411, "The request has no Content-Length. Send the body with one.")
            return None
        if int(length) > MAX_BODY_BYTES:
            self.send_error(413, f"The body is longer than {MAX_BODY_BYTES} bytes.")
            return None
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            self.close_connection = True
            return None
        return body

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer an invalid HTTP request with an error response, and close the connection."""
        answer = make_error_response(code, message or self.responses[code][0], code="bad_request")
        self.close_connection = True
        self._send(answer)

    def _send(self, answer: ScriptedResponse) -> None:
        chunked = self.request_version >= "HTTP/1.1"
        self.send_response(answer.status)
        self.send_header("content-type", answer.content_type)
        if chunked:
            self.send_header("transfer-encoding", "chunked")
        if self.close_connection:
            self.send_header("connection", "close")
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.end_headers()
        try:
            for piece in answer.pieces:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece)
        except DisconnectFaultError:
            self.close_connection = True
            return
        if chunked:
            self.wfile.write(b"0\r\n\r\n")

    def log_message(self, format: str, *args: Any) -> None:
        """Log one line per request."""
        _log.info(format, *args)


class ScriptedServer:
    """Serves a script on 127.0.0.1, on threads of its own, until `close` is called.

    The server answers OpenAI's `POST /v1/chat/completions` and `POST /v1/responses` and Anthropic's
    `POST /v1/messages`, as JSON and as streams, and `GET /v1/models`. The server accepts any API key.
    Use the server as a context manager, or call `start` and `close`.

    Args:
        script: The script that answers.
        port: The port to listen on; 0: a free port.
    """

    def __init__(self, script: Script, *, port: int = 0) -> None:
        self._model = ScriptedModel(script)
        self._port = port
        self._http: ScriptHTTPServer | None = None
        self._thread: Thread | None = None

    @property
    def base_url(self) -> str:
        """The base URL for OpenAI's clients, as in OPENAI_BASE_URL.

        Raises:
            RuntimeError: The server is not started.
        """
        return f"{self.root_url}/v1"

    @property
    def root_url(self) -> str:
        """The base URL for Anthropic's clients, as in ANTHROPIC_BASE_URL; without `/v1`.

        Raises:
            RuntimeError: The server is not started.
        """
        if self._http is None:
            raise RuntimeError("the scripted server is not started")
        return f"http://127.0.0.1:{self._http.server_port}"

    @property
    def exchanges(self) -> list[ScriptedExchange]:
        """The newest requests with the status of their responses, oldest first."""
        return self._model.exchanges

    def gate(self, name: str) -> PauseGate:
        """Return the gate that holds the answers with `PauseFault(name)`.

        Raises:
            KeyError: No rule of the script has a `PauseFault` of this name.
        """
        return self._model.gates[name]

    def start(self) -> Self:
        """Start the server; clients can connect when `start` returns. A second call does nothing.

        Raises:
            OSError: The port is in use.
        """
        if self._http is None:
            self._http = ScriptHTTPServer(self._port, self._model)
            self._thread = Thread(
                target=self._http.serve_forever,
                kwargs={"poll_interval": 0.05},
                name="scripted-server",
                daemon=True,
            )
            self._thread.start()
        return self

    def close(self) -> None:
        """Stop listening, break all connections, open the gates, and wait for the threads."""
        http, thread, self._http, self._thread = self._http, self._thread, None, None
        if http is None or thread is None:
            return
        http.shutdown()
        thread.join()
        http.server_close()
        # In this order: who waits at a gate must not be answered after all.
        http.break_connections()
        for gate in self._model.gates.values():
            gate.open()
        http.join_connections()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
