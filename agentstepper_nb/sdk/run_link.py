"""A run's link to its Core, which outlives its connections; other runs may share these.

The agent's threads only put messages into a queue and wait on futures. So an interrupt can't cut a
message in two, an event loop is never blocked, and saying goodbye is safe even in a garbage collection.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Final, TypeVar

from ..discover import CoreEndpoint
from ..errors import ConnectionLostError
from ..protocol.agent import (
    AgentMessage,
    Answer,
    Bye,
    CheckEdit,
    GetTimeline,
    Hello,
    LeaseMessage,
    MessageAwaited,
    Timeline,
)
from .connection_state import OnDisconnect
from .edits import Check, EditReaders
from .outbox import HaltLease, NoCarrier, Outbox
from .run_protocol import RunProtocol
from .send_queue import PendingFutures, make_future
from .shared_connection import open_run

log = logging.getLogger("agentstepper_nb.sdk")

T = TypeVar("T")

CLOSED: Final = "This AgentStepper is closed, and its run has ended: make a new one."


class RunLink:
    """A run on its way to a Core: connecting, connected, away, or over.

    Args:
        endpoint: Where the Core is.
        hello: Introduces the agent.
        on_disconnect: What to do where the Core goes away.
        patient: Whether it may be away from the start, and is known to speak version 2.
    """

    def __init__(
        self,
        endpoint: CoreEndpoint,
        hello: Hello,
        on_disconnect: OnDisconnect = "wait",
        patient: bool = False,
    ) -> None:
        self._run_id = hello.run
        self._waiting = PendingFutures()
        self._outbox = Outbox(endpoint)
        self._leasehold = HaltLease(hello.program, self._outbox, self._waiting)
        self._edit_checks = EditReaders(self._leasehold.send)
        self._lost: ConnectionLostError | None = None
        self._closing = False
        self._exiting = False
        self._marks = itertools.count(1)
        self._at_end: list[Callable[[], None]] = []
        self._on_away: Callable[[], None] = lambda: None
        self._untold = [True]  # popped by whoever tells what wasn't delivered
        self.opened: Future[None] = make_future()
        self.closed: Future[None] = make_future()
        self._protocol = self._outbox.protocol = RunProtocol(
            hello,
            on_disconnect,
            patient,
            self._waiting,
            _Listener(self),
            lambda: self._outbox.full,
            self._outbox.freed,
        )
        if patient:
            self.opened.set_result(None)

    def open(self) -> None:
        """Begin to connect; `opened` tells of the end. An interrupt in here leaves it to be closed."""
        open_run(self.endpoint, self._outbox)

    @property
    def endpoint(self) -> CoreEndpoint:
        """Where the Core is, or was last."""
        return self._outbox.link.endpoint

    @property
    def snapshots(self) -> bool:
        """Whether the Core, once it is open, has a word for snapshots of the workspace."""
        return self._protocol.snapshots

    @property
    def limit(self) -> int:
        """Bytes of the largest message that the Core, once it is open, takes."""
        return self._protocol.limit

    @property
    def resumes(self) -> bool:
        """Whether the run outlives its connections."""
        return self._protocol.resumes

    @property
    def away(self) -> bool:
        """Whether the Core is away and may come back, or has just come back for the goodbye."""
        return self._protocol.away and not self.closed.done()

    @property
    def halted(self) -> bool:
        """Whether a halt point waits for its answer."""
        return bool(self._waiting.halt_points())

    def on_halted(self, callback: Callable[[], None]) -> None:
        """Call this, on whatever thread, each time that `halted` may be another."""
        self._waiting.on_waiting_halt_points = callback

    def on_away(self, callback: Callable[[], None]) -> None:
        """Call this, on a thread of the link's, each time that `away` may be another."""
        self._on_away = callback

    @property
    def undelivered(self) -> int:
        """How many messages no Core is known to keep."""
        return self._protocol.undelivered

    # ---- sending ------------------------------------------------------------------------------------

    def send(self, messages: tuple[AgentMessage, ...]) -> None:
        """Send messages, with no other between them.

        Raises:
            ConnectionLostError: The run is over.
        """
        self.check()
        self._leasehold.send(messages)

    def ask(
        self, messages: tuple[AgentMessage, ...], halt_point: str, check: Check | None = None
    ) -> Future[Answer] | None:
        """Send messages, the last of which is a halt point; the future gets its answer.

        Args:
            messages: What to send.
            halt_point: The halt point's id.
            check: Says whether an edit of it can be taken, until `answered`.

        Returns:
            None where nobody is asked: the agent goes on at once.

        Raises:
            ConnectionLostError: The run is over.
        """
        self.check()
        if check is not None:
            self._edit_checks.expect(halt_point, check)
        return self._leasehold.send(messages, halt_point, self.check)

    def answered(self, halt_point: str) -> None:
        """A halt point waits no more: its edits aren't checked from now on."""
        self._edit_checks.forget(halt_point)

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
        """Nobody waits for the answer to this halt point or request any more."""
        self._waiting.forget(key)

    def await_message(self) -> None:
        """Tell the Core that nothing runs until a person's next message. Waits for nobody."""
        with suppress(ConnectionLostError):  # the run is over
            self.send((MessageAwaited(),))

    def withdraw(self, error: Callable[[], BaseException]) -> None:
        """Let nobody wait at a halt point any more: each is withdrawn, whatever thread waits there.

        Args:
            error: Makes what is raised there, each time a new one.
        """
        for key in self._waiting.halt_points():
            self._waiting.complete(key, error())

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
        if isinstance(self._outbox.link, NoCarrier):  # an interrupt came before it was opened
            self._end(ConnectionLostError(CLOSED))
        else:
            self._outbox.end(bye)

    def exiting(self) -> None:
        """The interpreter goes down: who still waits, on a daemon thread, is left to wait.

        Told of the end, such a thread would print an error just then, which can abort the process.
        """
        self._exiting = True

    def cut(self) -> None:
        """Give up on a Core that is away, or doesn't let us close."""
        self._outbox.link.cut(self._outbox)
        self.report_undelivered()

    def at_end(self, callback: Callable[[], None]) -> None:
        """Call this once the run is over, on a thread of the link's."""
        self._at_end.append(callback)
        if self._lost is not None:
            self._clean_up()

    def _end(self, lost: ConnectionLostError) -> None:
        def over() -> None:
            self._lost = lost

        left = self._waiting.end(over)
        for future in left if not self._exiting else ():
            future.set_exception(ConnectionLostError(*lost.args))
        self._outbox.link.forget(self._run_id)
        self._clean_up()
        if not self._exiting:
            self.report_undelivered()
        self.closed.set_result(None)

    def _clean_up(self) -> None:
        while (callback := _popped(self._at_end)) is not None:
            try:
                callback()
            except Exception:
                log.exception("Cleaning up after a run failed.")

    def report_undelivered(self) -> None:
        """Say once how much of a run that was closed didn't reach its Core."""
        left = self.undelivered
        if not (self._closing and left) or self._protocol.settled:
            return
        if _popped(self._untold) is None:
            return
        said = "1 message of run %s wasn't" if left == 1 else f"{left} messages of run %s weren't"
        why = self._protocol.why or f"the Core at {self.endpoint.url} doesn't answer"
        log.warning(f"{said} delivered: %s", self._run_id, why)


class _Listener:
    """Told of a run on its way; all that the agent itself mustn't call."""

    def __init__(self, link: RunLink) -> None:
        self._link = link

    @property
    def is_continuing(self) -> bool:
        """Whether the run continues, without a Core too, wherever no breakpoint halts it."""
        return self._link._leasehold.is_continuing

    def on_lease(self, lease: LeaseMessage) -> None:
        """The Core pushed a lease."""
        self._link._leasehold.take(lease)

    def on_lease_absent(self) -> None:
        """The Core is of version 1."""
        self._link._leasehold.decline()

    def on_edit_check(self, asked: CheckEdit) -> None:
        """The Core asks about an edit."""
        self._link._edit_checks.hear(asked)

    def on_away_changed(self) -> None:
        """The Core has gone away, or is back."""
        self._link._on_away()

    def opened(self, error: BaseException | None) -> None:
        """The first hello was answered, or never will be."""
        opened = self._link.opened
        if error is None:
            opened.set_result(None)
        elif not opened.done():
            opened.set_exception(error)

    def needs_connection(self) -> None:
        """The run isn't carried by the connection that it shared, and needs another."""
        outbox = self._link._outbox
        outbox.link.forget(self._link._run_id)
        open_run(outbox.link.endpoint, outbox)

    def ended(self, lost: ConnectionLostError | None) -> None:
        """The run is over."""
        self._link._end(lost or ConnectionLostError(CLOSED))


def _popped(items: list[T]) -> T | None:
    """The first item, taken out in one operation; None where another thread was faster."""
    try:
        return items.pop(0)
    except IndexError:
        return None
