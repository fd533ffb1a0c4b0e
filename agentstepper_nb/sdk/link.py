"""A run's link to its Core, which outlives its connections: a thread that reads and one that writes.

The agent's threads only put messages into a queue and wait on futures. So an interrupt can't cut a
message in two, an event loop is never blocked, and saying goodbye is safe even in a garbage collection.
All threads are daemons: nothing here keeps an agent from exiting.
"""

from __future__ import annotations

import itertools
import logging
import os
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Final, TypeVar

from ..discover import Endpoint
from ..errors import ConnectionLostError
from ..protocol.agent import AgentMessage, Answer, Bye, GetTimeline, Hello, MessageAwaited, Timeline
from .connections import Connections, OnDisconnect
from .edit_checks import Check
from .waiting import Waiting, new_future

log = logging.getLogger("agentstepper_nb.sdk")

T = TypeVar("T")

CLOSED: Final = "This AgentStepper is closed, and its run has ended: make a new one."


class Link:
    """A run on its way to a Core: connecting, connected, away, or over.

    Args:
        endpoint: Where the Core is.
        hello: Introduces the agent.
        on_disconnect: What to do where the Core goes away.
        patient: Whether it may be away from the start, and is known to speak version 2.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        hello: Hello,
        on_disconnect: OnDisconnect = "wait",
        patient: bool = False,
    ) -> None:
        self._run_id = hello.run
        self._waiting = Waiting()
        self._connections = Connections(endpoint, hello, on_disconnect, patient, self._waiting)
        self._outbox = self._connections.outbox
        self._leasehold = self._connections.leasehold
        self._lost: ConnectionLostError | None = None
        self._closing = False
        self._exiting = False
        self._marks = itertools.count(1)
        self._at_end: list[Callable[[], None]] = []
        self._untold = [True]  # popped by whoever tells what wasn't delivered
        self.opened = self._connections.opened
        self.closed: Future[None] = new_future()
        _links.add(self)
        for name, target in (("read", self._run), ("write", self._outbox.run)):
            thread = threading.Thread(target=target, name=f"agentstepper-{name}", daemon=True)
            thread.start()

    @property
    def endpoint(self) -> Endpoint:
        """Where the Core is, or was last."""
        return self._connections.endpoint

    @property
    def snapshots(self) -> bool:
        """Whether the Core, once it is open, has a word for snapshots of the workspace."""
        return self._connections.snapshots

    @property
    def limit(self) -> int:
        """Bytes of the largest message that the Core, once it is open, takes."""
        return self._connections.limit

    @property
    def resumes(self) -> bool:
        """Whether the run outlives its connections."""
        return self._connections.resumes

    @property
    def away(self) -> bool:
        """Whether the Core is away and may come back, or has just come back for the goodbye."""
        return self._connections.away and not self.closed.done()

    @property
    def halted(self) -> bool:
        """Whether a breakpoint waits for its answer."""
        return bool(self._waiting.breakpoints())

    def on_halted(self, callback: Callable[[], None]) -> None:
        """Call this, on whatever thread, each time that `halted` may be another."""
        self._waiting.on_breakpoints = callback

    def on_away(self, callback: Callable[[], None]) -> None:
        """Call this, on a thread of the link's, each time that `away` may be another."""
        self._connections.on_away = callback

    @property
    def undelivered(self) -> int:
        """How many messages no Core is known to keep."""
        return self._outbox.undelivered

    # ---- sending ------------------------------------------------------------------------------------

    def send(self, messages: tuple[AgentMessage, ...]) -> None:
        """Send messages, with no other between them.

        Raises:
            ConnectionLostError: The run is over.
        """
        self.check()
        self._leasehold.send(messages)

    def ask(
        self, messages: tuple[AgentMessage, ...], breakpoint: str, check: Check | None = None
    ) -> Future[Answer] | None:
        """Send messages, the last of which is a breakpoint; the future gets its answer.

        Args:
            messages: What to send.
            breakpoint: The breakpoint's id.
            check: Says whether an edit of it can be taken, until `answered`.

        Returns:
            None where nobody is asked: the agent goes on at once.

        Raises:
            ConnectionLostError: The run is over.
        """
        self.check()
        if check is not None:
            self._connections.edit_checks.expect(breakpoint, check)
        return self._leasehold.ask(messages, breakpoint, self.check)

    def answered(self, breakpoint: str) -> None:
        """A breakpoint waits no more: its edits aren't checked from now on."""
        self._connections.edit_checks.forget(breakpoint)

    def request(self, message: GetTimeline, id: str) -> Future[Timeline | None]:
        """Send a message that is answered under its id.

        Args:
            message: The message.
            id: A new one.

        Returns:
            A future for the answer; None where there is nobody who could give one.

        Raises:
            ConnectionLostError: The run is over.
        """
        future = self._waiting.expect(id, "request", self.check)
        self._outbox.request(message, id)
        return future

    def flush(self) -> Future[None]:
        """A future for when all that was put before is kept here, and written where a Core is there.

        Raises:
            ConnectionLostError: The run is over.
        """
        mark = f"mark {next(self._marks)}"
        future = self._waiting.expect(mark, "mark", self.check)
        self._outbox.mark(mark)
        return future

    def forget(self, key: str) -> None:
        """Nobody waits for the answer to this breakpoint or request any more."""
        self._waiting.forget(key)

    def await_message(self) -> None:
        """Tell the Core that nothing runs until a person's next message. Waits for nobody."""
        with suppress(ConnectionLostError):  # the run is over
            self.send((MessageAwaited(),))

    def withdraw(self, error: Callable[[], BaseException]) -> None:
        """Let nobody wait at a breakpoint any more: each is withdrawn, whatever thread waits there.

        Args:
            error: Makes what is raised there, each time a new one.
        """
        for key in self._waiting.breakpoints():
            self._waiting.give(key, error())

    def check(self) -> None:
        """Make sure that the run isn't over.

        Raises:
            ConnectionLostError: It is.
        """
        if self._lost is not None:
            # A new one each time: an exception that is raised twice collects tracebacks.
            raise ConnectionLostError(*self._lost.args)
        if self._closing:
            raise ConnectionLostError(CLOSED)

    # ---- the end ------------------------------------------------------------------------------------

    def close(self, bye: Bye) -> None:
        """Say bye after all that was sent, and close. No lock: a garbage collection may call it."""
        self._closing = True
        self._outbox.end(bye)
        self._connections.close()

    def exiting(self) -> None:
        """The interpreter goes down: who still waits, on a daemon thread, is left to wait.

        Told of the end, such a thread would print an error just then, which can abort the process.
        """
        self._exiting = True

    def cut(self) -> None:
        """Give up on a Core that is away, or doesn't let us close."""
        self._connections.cut()
        self.tell_undelivered()

    def at_end(self, callback: Callable[[], None]) -> None:
        """Call this once the run is over, on the reading thread."""
        self._at_end.append(callback)
        if self._lost is not None:
            self._clean_up()

    def abandon(self) -> None:
        """In a forked child: leave the connection to the parent, without a word on it."""
        self._connections.abandon()

    def _run(self) -> None:
        self._end(self._connections.run() or ConnectionLostError(CLOSED))

    def _end(self, lost: ConnectionLostError) -> None:
        def over() -> None:
            self._lost = lost

        left = self._waiting.end(over)
        for future in left if not self._exiting else ():
            future.set_exception(ConnectionLostError(*lost.args))
        self._outbox.stop()
        self._clean_up()
        if not self._exiting:
            self.tell_undelivered()
        self.closed.set_result(None)

    def _clean_up(self) -> None:
        while (callback := _popped(self._at_end)) is not None:
            try:
                callback()
            except Exception:
                log.exception("Cleaning up after a run failed.")

    def tell_undelivered(self) -> None:
        """Say once how much of a run that was closed didn't reach its Core."""
        left = self.undelivered
        if not (self._closing and left) or self._connections.settled:
            return
        if _popped(self._untold) is None:
            return
        said = "1 message of run %s wasn't" if left == 1 else f"{left} messages of run %s weren't"
        log.warning(f"{said} delivered: %s", self._run_id, self._connections.why)


def _popped(items: list[T]) -> T | None:
    """The first item, taken out in one operation; None where another thread was faster."""
    try:
        return items.pop(0)
    except IndexError:
        return None


_links: weakref.WeakSet[Link] = weakref.WeakSet()


def _abandon_all() -> None:
    for link in list(_links):
        link.abandon()


os.register_at_fork(after_in_child=_abandon_all)
