"""Stands between a client and a server, and cuts their connection at a commit."""

from __future__ import annotations

import re
import socket
import threading
from contextlib import suppress

_COMMIT = b"COMMIT"
_NOTICE = re.compile(rb"(; )?NOTIFY [^']*'[^']*'")


class CuttingProxy:
    """Passes bytes on, on threads, until it is told to cut.

    Args:
        port: The server's, on 127.0.0.1.

    Attributes:
        port: Its own.
        cuts_before: Cut the next connection that commits before the server hears of it.
        cuts_after: Cut it once the server has answered, before the client hears of it.
        cuts_notices: So many notices the server doesn't hear of; of what it is sent before one, it does
            hear. Then the connection is cut, as with `cuts_after`.
        cuts: How often it cut.
    """

    def __init__(self, port: int) -> None:
        self._server_port = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listening.getsockname()[1])
        self.cuts_before = self.cuts_after = False
        self.cuts_notices = 0
        self.cuts = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        _shut(self._listening)  # else who waits for the next connection still accepts it
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                server = socket.create_connection(("127.0.0.1", self._server_port))
                silenced = threading.Event()
                for work in (self._to_server, self._to_client):
                    threading.Thread(
                        target=work, args=(client, server, silenced), daemon=True
                    ).start()

    def _to_server(
        self, client: socket.socket, server: socket.socket, silenced: threading.Event
    ) -> None:
        with suppress(OSError), client, server:
            while data := client.recv(65536):
                if _COMMIT in data and self.cuts_before:
                    self.cuts_before, self.cuts = False, self.cuts + 1
                    _shut(client, server)
                    return
                if _COMMIT in data and self.cuts_after:
                    self.cuts_after, self.cuts = False, self.cuts + 1
                    silenced.set()
                if self.cuts_notices and _NOTICE.search(data):
                    self.cuts_notices, self.cuts = self.cuts_notices - 1, self.cuts + 1
                    silenced.set()
                    data = _NOTICE.sub(lambda found: b" " * len(found[0]), data)
                server.sendall(data)
            _shut(client, server)

    def _to_client(
        self, client: socket.socket, server: socket.socket, silenced: threading.Event
    ) -> None:
        with suppress(OSError):
            while data := server.recv(65536):
                if silenced.is_set():
                    _shut(client, server)
                    return
                client.sendall(data)
            _shut(client, server)


def _shut(*sockets: socket.socket) -> None:
    for each in sockets:
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
