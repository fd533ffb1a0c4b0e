"""HTTP/1.1 around the model: requests read, answers sent, nothing decided."""

from __future__ import annotations

import logging
import socket
import sys
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from .apis import APIS, CHAT
from .faults import BrokenOffError
from .model import Answer, ScriptedModel, error_answer

_log = logging.getLogger(__name__)

#: Bytes of a request's body that are accepted.
MAX_BODY = 64 * 1024 * 1024

#: Each path, and the one method it answers.
METHODS = dict.fromkeys(APIS, "POST") | {"/v1/models": "GET"}


class HTTPServer(ThreadingHTTPServer):
    """One thread a connection; all of them end with the server."""

    request_queue_size = 128
    daemon_threads = True  # a server that nobody closed doesn't keep the interpreter alive

    def __init__(self, port: int, model: ScriptedModel) -> None:
        self.model = model
        self._connections: dict[Thread, socket.socket] = {}  # touched by the serving loop alone
        super().__init__(("127.0.0.1", port), Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection on a thread that is known until it ends."""
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
        """Break all connections, idle or busy; the loop has ended."""
        for connection in list(self._connections.values()):
            with suppress(OSError):  # it ended by itself
                connection.shutdown(socket.SHUT_RDWR)

    def join_connections(self) -> None:
        """Wait for the threads of the broken connections."""
        for thread in list(self._connections):
            thread.join()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log what failed; a client that goes away is no failure."""
        if not isinstance(sys.exception(), ConnectionError):
            _log.exception("a request from %s failed", client_address)


class Handler(BaseHTTPRequestHandler):
    """Reads requests and sends answers, for one connection."""

    server: HTTPServer
    protocol_version = "HTTP/1.1"
    server_version = "agentstepper-scripted"
    sys_version = ""
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        """Answer `GET /v1/models`."""
        self._send(self._misdirected("GET") or self.server.model.list_models())

    def do_POST(self) -> None:
        """Answer a question, in the API of its path."""
        body = self._read_body()
        if body is not None:
            misdirected = self._misdirected("POST")
            self._send(misdirected or self.server.model.answer(self._where, body))

    @property
    def _where(self) -> str:
        """The path that is asked, without its query."""
        return self.path.partition("?")[0]

    def _misdirected(self, method: str) -> Answer | None:
        path = self._where
        allowed = METHODS.get(path)
        if allowed is None:
            known = ", ".join(f"{method} {path}" for path, method in METHODS.items())
            return error_answer(404, f"Nothing is at {path}; there is {known}.", code="not_found")
        if allowed != method:
            text = f"{path} answers {allowed}, not {method}."
            headers = {"allow": allowed}
            api = APIS.get(path, CHAT)
            return error_answer(405, text, code="method_not_allowed", headers=headers, api=api)
        return None

    def _read_body(self) -> bytes | None:
        length = self.headers.get("content-length", "")
        if not length.isascii() or not length.isdigit():
            self.send_error(411, "Send the body with a Content-Length.")
            return None
        if int(length) > MAX_BODY:
            self.send_error(413, f"The body is longer than {MAX_BODY} bytes.")
            return None
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            self.close_connection = True
            return None
        return body

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse what is not a request, in the API's form, and close: the rest can't be read."""
        answer = error_answer(code, message or self.responses[code][0], code="bad_request")
        self.close_connection = True
        self._send(answer)

    def _send(self, answer: Answer) -> None:
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
        except BrokenOffError:
            self.close_connection = True
            return
        if chunked:
            self.wfile.write(b"0\r\n\r\n")

    def log_message(self, format: str, *args: Any) -> None:
        """Log a line a request."""
        _log.info(format, *args)
