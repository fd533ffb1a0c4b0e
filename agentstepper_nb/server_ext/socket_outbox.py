"""The bytes that may wait for a socket's peer before the peer counts as too slow."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from tornado.iostream import StreamClosedError
from tornado.websocket import WebSocketClosedError

#: The bytes that may wait for one peer, behind the message that is on its way to it.
MAX_PENDING_BYTES = 64 * 1024 * 1024


class WriteFuture(Protocol):
    """The future of one message: done when the operating system has accepted all of it."""

    def add_done_callback(self, fn: Callable[[Any], object], /) -> None:
        """Call `fn` with this future when it is done."""

    def cancelled(self) -> bool:
        """Whether the write was cancelled."""

    def exception(self) -> BaseException | None:
        """The exception of the write; None if it succeeded."""


class SocketOutbox:
    """Writes messages in order without ever waiting, and counts the bytes in progress.

    The message being written doesn't count, however large: a whole run must reach a peer that reads.

    Args:
        write: Starts to write one message and returns its future; futures are done in their order.
        on_too_slow: Called once, when more than `max_pending_bytes` wait.
        max_pending_bytes: The most waiting bytes.
    """

    def __init__(
        self,
        write: Callable[[bytes], WriteFuture],
        on_too_slow: Callable[[], object],
        max_pending_bytes: int = MAX_PENDING_BYTES,
    ) -> None:
        self._sizes: deque[int] = deque()  # of the messages that aren't written yet
        self._pending_bytes = 0  # their sum
        self._write = write
        self._on_too_slow = on_too_slow
        self._max_pending_bytes = max_pending_bytes
        self._is_stopped = False

    def send(self, text: str) -> None:
        """Write one message, unless sending has stopped or the connection is gone."""
        if self._is_stopped:
            return
        message = text.encode("utf-8", "replace")
        if self.waiting_bytes + len(message) > self._max_pending_bytes and self._sizes:
            self.stop_sending()
            self._on_too_slow()
            return
        try:
            written = self._write(message)
        except (WebSocketClosedError, StreamClosedError):
            self.stop_sending()
            return
        self._sizes.append(len(message))
        self._pending_bytes += len(message)
        written.add_done_callback(self._on_written)

    @property
    def waiting_bytes(self) -> int:
        """The bytes that wait behind the message on its way."""
        return self._pending_bytes - self._sizes[0] if self._sizes else 0

    def stop_sending(self) -> None:
        """Send nothing from now on."""
        self._is_stopped = True

    def _on_written(self, done: WriteFuture) -> None:
        self._pending_bytes -= self._sizes.popleft()
        if done.cancelled() or done.exception() is not None:
            self.stop_sending()
