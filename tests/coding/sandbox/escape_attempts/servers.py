"""What listens on this machine, and counts who comes."""

from __future__ import annotations

import socket
import tempfile
from contextlib import suppress
from pathlib import Path


class Servers:
    """A TCP, a UDP and two Unix servers that count who comes.

    Args:
        name: What the abstract Unix socket is called.
    """

    def __init__(self, name: str) -> None:
        self._contacts: set[str] = set()
        # A folder of its own: a Unix socket's path is short.
        self._folder = tempfile.TemporaryDirectory(prefix="s")
        path, abstract = f"{self._folder.name}/docker.sock", f"\0{name}"
        tcp = socket.create_server(("127.0.0.1", 0))
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.bind(("127.0.0.1", 0))
        named, unnamed = (socket.socket(socket.AF_UNIX) for _ in range(2))
        named.bind(path)
        unnamed.bind(abstract)
        Path(path).chmod(0o777)
        Path(self._folder.name).chmod(0o755)
        self.values = {
            "@PORT@": str(tcp.getsockname()[1]),
            "@UDP@": str(udp.getsockname()[1]),
            "@SOCK@": path,
            "@ABSTRACT@": name,
        }
        self._sockets = {
            "TCP": tcp,
            "UDP": udp,
            "a Unix socket": named,
            "an abstract socket": unnamed,
        }
        for each in (tcp, named, unnamed):
            each.listen()
        for each in self._sockets.values():
            each.setblocking(False)

    def contacts(self) -> set[str]:
        """Who was reached since the last look."""
        found: set[str] = set()
        for what, each in self._sockets.items():
            with suppress(BlockingIOError):
                while True:
                    if what == "UDP":
                        each.recv(1)
                    else:
                        each.accept()[0].close()
                    found.add(f"reached {what}")
        return found

    def close(self) -> None:
        """Close them."""
        for each in self._sockets.values():
            each.close()
        self._folder.cleanup()
