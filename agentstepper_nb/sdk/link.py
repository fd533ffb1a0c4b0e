"""One connection to a Core, with a thread that reads and a thread that writes.

The agent's threads only put messages into a queue and wait on futures. So an interrupt can't cut a
message in two, an event loop is never blocked, and saying goodbye is safe even in a garbage collection.
All threads are daemons: nothing here keeps an agent from exiting.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, Final

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection

from ..discover import Endpoint
from ..errors import ConnectionLostError
from ..protocol.agent import AgentMessage, Answer, Bye, GetTimeline, Hello, Timeline
from .dialects import Dialect
from .dialing import dial, greet, why_lost, why_not_opened

log = logging.getLogger("agentstepper_nb.sdk")

CLOSED: Final = "This AgentStepper is closed, and its run has ended: make a new one."

_MARK: Final = "mark"


@dataclass(frozen=True)
class _Request:
    id: str
    message: AgentMessage


#: What the writer takes: messages to send together, one that is answered under its id, a mark to say
#: that it got here, or the end.
_Item = tuple[AgentMessage, ...] | _Request | str | None


class Link:
    """A connection that is being opened, open, or gone.

    Args:
        endpoint: Where the Core is.
        hello: Introduces the agent.
    """

    def __init__(self, endpoint: Endpoint, hello: Hello) -> None:
        self._endpoint = endpoint
        self._hello = hello
        self._outbox: SimpleQueue[_Item] = SimpleQueue()
        self._lock = threading.Lock()
        self._waiting: dict[str, Future[Any]] = {}  # by breakpoint, request or mark
        self._lost: ConnectionLostError | None = None
        self._closing = False
        self._exiting = False
        self._socket: ClientConnection | None = None
        self._marks = 0
        self._at_end: list[Callable[[], None]] = []
        self.opened: Future[None] = _future()
        self.closed: Future[None] = _future()
        #: Whether the Core, once it is open, has a word for snapshots of the workspace.
        self.snapshots = False
        _links.add(self)
        self._start("read", self._run)

    # ---- for the agent's threads --------------------------------------------------------------------

    def send(self, messages: tuple[AgentMessage, ...]) -> None:
        """Send messages, with no other between them.

        Raises:
            ConnectionLostError: The connection is gone.
        """
        self._check()
        self._outbox.put(messages)

    def ask(self, messages: tuple[AgentMessage, ...], breakpoint: str) -> Future[Answer]:
        """Send messages; the future gets the breakpoint's answer.

        Raises:
            ConnectionLostError: The connection is gone.
        """
        future = self._expect(breakpoint)
        self._outbox.put(messages)
        return future

    def request(self, message: GetTimeline, id: str) -> Future[Timeline | None]:
        """Send a message that is answered under its id.

        Args:
            message: The message.
            id: A new one.

        Returns:
            A future for the answer; None where the Core's version has none.

        Raises:
            ConnectionLostError: The connection is gone.
        """
        future = self._expect(id)
        self._outbox.put(_Request(id, message))
        return future

    def flush(self) -> Future[None]:
        """A future for when all that was put before is written.

        Raises:
            ConnectionLostError: The connection is gone.
        """
        self._check()
        with self._lock:
            self._marks += 1
            mark = f"{_MARK} {self._marks}"
        future = self._expect(mark)
        self._outbox.put(mark)
        return future

    def forget(self, key: str) -> None:
        """Nobody waits for the answer to this breakpoint or request any more."""
        with self._lock:
            self._waiting.pop(key, None)

    def close(self, bye: Bye | None = None) -> None:
        """Say bye after all that was sent, and close. No lock: a garbage collection may call it."""
        self._closing = True
        if bye is not None:
            self._outbox.put((bye,))
        self._outbox.put(None)

    def exiting(self) -> None:
        """The interpreter goes down: who still waits, on a daemon thread, is left to wait.

        Told of the end, such a thread would print an error just then, which can abort the process.
        """
        self._exiting = True

    def cut(self) -> None:
        """Give up on a Core that doesn't let us close."""
        if self._socket is not None:
            with suppress(OSError):
                self._socket.socket.shutdown(socket.SHUT_RDWR)

    def at_end(self, callback: Callable[[], None]) -> None:
        """Call this once the connection is gone, on the reading thread."""
        with self._lock:
            if self._lost is None:
                self._at_end.append(callback)
                return
        callback()

    def abandon(self) -> None:
        """In a forked child: leave the connection to the parent, without a word on it."""
        if self._socket is not None:
            with suppress(OSError):
                self._socket.socket.close()

    def _check(self) -> None:
        if self._lost is not None:
            # A new one each time: an exception that is raised twice collects tracebacks.
            raise ConnectionLostError(*self._lost.args)
        if self._closing:
            raise ConnectionLostError(CLOSED)

    def _expect(self, key: str) -> Future[Any]:
        self._check()  # before the lock: in a forked child nobody may be there to release it
        future = _future()
        with self._lock:
            self._check()
            self._waiting[key] = future
        return future

    # ---- the reading thread -------------------------------------------------------------------------

    def _run(self) -> None:
        lost: ConnectionLostError | None = None
        try:
            with dial(self._endpoint) as connection:
                self._socket = connection
                dialect = greet(connection, self._hello)
                self.snapshots = dialect.snapshots
                self._start("write", self._write, connection, dialect)
                self.opened.set_result(None)
                self._read(connection, dialect)
        except Exception as error:
            lost = self._judge(error)
        finally:
            self._end(lost or ConnectionLostError(CLOSED))

    def _read(self, connection: ClientConnection, dialect: Dialect) -> None:
        while True:  # until recv raises ConnectionClosed
            reply = dialect.decode(connection.recv(decode=True))
            if reply is None:
                continue
            future = self._take(reply.key)
            if future is None:
                continue  # withdrawn, or nobody waited
            if isinstance(reply.answer, Exception):
                future.set_exception(reply.answer)
            else:
                future.set_result(reply.answer)

    def _take(self, key: str | None) -> Future[Any] | None:
        with self._lock:
            if key is not None:
                return self._waiting.pop(key, None)
            # A refused message whose number couldn't be read: if only one waits, it was that one's.
            asking = [key for key in self._waiting if not key.startswith(_MARK)]
            if len(asking) == 1:
                return self._waiting.pop(asking[0])
        return None

    def _judge(self, error: Exception) -> ConnectionLostError | None:
        """Say what went wrong, to whoever opens the connection or waits on it."""
        if not self.opened.done():
            self.opened.set_exception(why_not_opened(self._endpoint, error))
            return None
        if self._closing:
            return None
        if isinstance(error, ConnectionClosed):
            return ConnectionLostError(why_lost(self._endpoint.url, error))
        log.error("The connection to the Core failed.", exc_info=error)
        return ConnectionLostError(
            f"Connection lost to the Core at {self._endpoint.url}: {error!r}"
        )

    def _end(self, lost: ConnectionLostError) -> None:
        with self._lock:
            self._lost = lost
            waiting, self._waiting = self._waiting, {}
        self._outbox.put(None)  # for the writer, if it waits
        for future in waiting.values() if not self._exiting else ():
            future.set_exception(ConnectionLostError(*lost.args))
        for callback in self._at_end:
            try:
                callback()
            except Exception:
                log.exception("Cleaning up after a run failed.")
        self.closed.set_result(None)

    # ---- the writing thread -------------------------------------------------------------------------

    def _write(self, connection: ClientConnection, dialect: Dialect) -> None:
        try:
            while (item := self._outbox.get()) is not None:
                if isinstance(item, str):
                    self._reached(item)
                elif isinstance(item, _Request):
                    self._send_request(connection, dialect, item)
                else:
                    self._send_all(connection, dialect, item)
            connection.close()
        except ConnectionClosed:
            pass  # the reading thread says why
        except Exception:
            log.exception("Writing to the Core failed.")
            connection.close(1011)

    def _send_all(
        self, connection: ClientConnection, dialect: Dialect, messages: tuple[AgentMessage, ...]
    ) -> None:
        for message in messages:
            text = dialect.encode(message)
            if text is not None:
                connection.send(text)

    def _send_request(
        self, connection: ClientConnection, dialect: Dialect, request: _Request
    ) -> None:
        text = dialect.encode(request.message, request.id)
        if text is None:
            self._reached(request.id)  # nobody will answer it
        else:
            connection.send(text)

    def _reached(self, key: str) -> None:
        future = self._take(key)
        if future is not None:
            future.set_result(None)

    def _start(self, name: str, target: Callable[..., None], *args: Any) -> None:
        thread = threading.Thread(
            target=target, args=args, name=f"agentstepper-{name}", daemon=True
        )
        thread.start()


def _future() -> Future[Any]:
    """A future that can't be cancelled: an awaiting task that gives up must not break the reader."""
    future: Future[Any] = Future()
    future.set_running_or_notify_cancel()
    return future


_links: weakref.WeakSet[Link] = weakref.WeakSet()


def _abandon_all() -> None:
    for link in list(_links):
        link.abandon()


os.register_at_fork(after_in_child=_abandon_all)
