"""A queue from the connection's thread to the main thread, which can be selected like a socket."""

from __future__ import annotations

import select
import socket
from collections.abc import Iterator
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

Item = TypeVar("Item")


class SelectableQueue(Generic[Item]):
    """A queue that `select` can wait for, beside the keyboard."""

    def __init__(self) -> None:
        self._items: SimpleQueue[Item] = SimpleQueue()
        self._awake, self._bell = socket.socketpair()
        self._bell.setblocking(False)

    def fileno(self) -> int:
        """The descriptor that is readable when the queue has items."""
        return self._awake.fileno()

    def put(self, item: Item) -> None:
        """Put something in, from any thread."""
        self._items.put(item)
        try:
            self._bell.send(b"!")
        except BlockingIOError:
            pass  # it has been ringing for long
        except OSError:
            pass  # closed: nobody listens any more

    def wait(self) -> Iterator[Item]:
        """Wait for items, and yield all of them."""
        select.select([self._awake], [], [])
        self._awake.recv(4096)
        while True:
            try:
                yield self._items.get_nowait()
            except Empty:
                return

    def close(self) -> None:
        """Close the sockets."""
        self._awake.close()
        self._bell.close()
