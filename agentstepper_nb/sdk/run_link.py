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
from functools import partial
from typing import Final, TypeVar

from ..core.breakpoints import EditRuleEngine
from ..discover import CoreEndpoint
from ..errors import ConnectionLostError
from ..protocol.agent import (
    AgentMessage,
    Bye,
    GetTimeline,
    Hello,
    Timeline,
    UserMessageAwaited,
)
from ..protocol.answers import Answer, StopAnswer
from ..protocol.data_model import EventKind, EventSide
from .connection_state import LinkLimits, OnDisconnect, RunConnectionListener
from .core_location import OFFLINE_URL
from .flow_effects import EditCheck
from .live_scopes import LiveScopes
from .offline_transport import NoTransport, OfflineTransport
from .outbox import HaltLease, Outbox
from .payload import PayloadEncoder
from .query_samples import QuerySampler
from .run_protocol import RunProtocol
from .send_queue import HaltQuestions, MessageBatch, PendingFutures, UncancellableFuture
from .shared_connection import open_run

log = logging.getLogger("agentstepper_nb.sdk")

T = TypeVar("T")

CLOSED_MESSAGE: Final = (
    "This AgentStepper is closed, and its run has ended. Create a new AgentStepper."
)


class RunLink:
    """A run's connection to a Core: connecting, connected, away, or over.

    Args:
        endpoint: The Core's endpoint.
        hello: Introduces the agent.
        on_disconnect: The agent's behaviour where the Core goes away.
        is_open_deferred: Whether the Core may be away from the start, and is known to speak version 2.
        limits: Limits of the bytes that wait for the Core, and of the goodbye's time.
        scopes: The run's scopes that haven't ended.
        encoder: Encodes the agent's values for sending.
    """

    def __init__(
        self,
        endpoint: CoreEndpoint,
        hello: Hello,
        on_disconnect: OnDisconnect,
        is_open_deferred: bool,
        limits: LinkLimits,
        encoder: PayloadEncoder,
        scopes: LiveScopes | None = None,
    ) -> None:
        self._run_id = hello.run
        if endpoint.url == OFFLINE_URL:
            on_disconnect, is_open_deferred = "continue", True
        self._waiting = PendingFutures()
        self._outbox = Outbox(NoTransport(endpoint), limits)
        self._halt_lease = HaltLease(
            hello.program,
            self._outbox,
            self._waiting,
            workspace=hello.workspace or "",
            scopes=scopes,
        )
        self._questions = HaltQuestions(
            encoder, hello.inspects is True, lambda: self._halt_lease.prices, self._send_aside
        )
        self._lost: ConnectionLostError | None = None
        self._is_closing = False
        self._is_exiting = False
        self.is_stopped = False
        """Whether the person pressed Stop: set where that is answered."""
        self.halted_s = 0.0
        """Seconds for which the agent waited at halt points; those of parallel ones are added up."""
        self._marks = itertools.count(1)
        self._end_callbacks: list[Callable[[], None]] = []
        self._on_disconnected: Callable[[], None] = lambda: None
        self._unreported = [True]  # popped by whoever tells what wasn't delivered
        self.opened = UncancellableFuture[None]()
        self.closed = UncancellableFuture[None]()
        self._protocol = self._outbox.protocol = RunProtocol(
            hello,
            on_disconnect,
            is_open_deferred,
            self._waiting,
            self._make_listener(),
            lambda: self._outbox.is_full,
            self._outbox.release_halt,
            limits,
        )
        if is_open_deferred:
            self.opened.set_result(None)

    def _make_listener(self) -> RunConnectionListener:
        """Make the listener, whose callbacks the agent itself must not call."""
        return RunConnectionListener(
            is_in_continue_mode=lambda: self._halt_lease.is_in_continue_mode,
            on_lease=self._halt_lease.accept_lease,
            on_lease_absent=self._halt_lease.expect_no_lease,
            on_edit_check=self._questions.on_edit_check,
            on_inspection=self._questions.on_inspection,
            on_disconnected_changed=lambda: self._on_disconnected(),
            on_opened=self._set_opened,
            on_connection_needed=self._connect_elsewhere,
            on_ended=self._end,
        )

    def open(self) -> None:
        """Begin to connect; `opened` has the outcome. After an interrupt here, close the link."""
        if self.endpoint.url == OFFLINE_URL:
            OfflineTransport(self._outbox)
        else:
            open_run(self.endpoint, self._outbox)

    @property
    def endpoint(self) -> CoreEndpoint:
        """The Core's endpoint, or its last one."""
        return self._outbox.transport.endpoint

    @property
    def has_snapshots(self) -> bool:
        """Whether the Core, once it is open, has a word for snapshots of the workspace."""
        return self._protocol.has_snapshots

    @property
    def max_message_bytes(self) -> int:
        """Bytes of the largest message that the Core, once it is open, takes."""
        return self._protocol.max_message_bytes

    @property
    def can_resume(self) -> bool:
        """Whether the run outlives its connections."""
        return self._protocol.can_resume

    @property
    def is_disconnected(self) -> bool:
        """Whether the Core is away and may come back, or has just come back for the goodbye."""
        return self._protocol.is_disconnected and not self.closed.done()

    @property
    def is_halted(self) -> bool:
        """Whether a halt point waits for its answer."""
        return bool(self._waiting.halt_points())

    @property
    def edit_rules(self) -> EditRuleEngine:
        """The edit rules in force."""
        return self._halt_lease.edit_rules

    def may_halt(self, kind: EventKind, side: EventSide, name: str | None) -> bool:
        """Whether the agent may have to wait at such a halt point, by the current breakpoints and mode.

        Args:
            kind: The event's kind.
            side: The begin or the end of the event.
            name: The tool, the model or the custom event's type.
        """
        return self._halt_lease.may_halt(kind, side, name)

    def on_halted(self, callback: Callable[[], None]) -> None:
        """Call this, on whatever thread, each time that `is_halted` may be another."""
        self._waiting.on_waiting_halt_points = callback

    def on_disconnected(self, callback: Callable[[], None]) -> None:
        """Call this, on a thread of the link's, each time that `is_disconnected` may be another."""
        self._on_disconnected = callback

    @property
    def hash_key(self) -> bytes | None:
        """The key of the run's hashes; None where no Core has sent one."""
        return self._protocol.hash_key

    @property
    def undelivered_count(self) -> int:
        """The number of messages that no Core is known to have stored."""
        return self._protocol.undelivered_count

    # ---- sending ------------------------------------------------------------------------------------

    def send(self, messages: tuple[AgentMessage, ...]) -> None:
        """Send messages, with no other between them.

        Raises:
            ConnectionLostError: The run is over.
        """
        self.raise_if_ended()
        self._halt_lease.send(messages)

    def request_answer(
        self,
        messages: tuple[AgentMessage, ...],
        halt_point: str,
        check: EditCheck | None = None,
        is_task: bool = False,
        sampler: QuerySampler | None = None,
    ) -> Future[Answer] | None:
        """Send messages, the last of which is a halt point; the future gets its answer.

        Args:
            messages: The messages to send.
            halt_point: The halt point's id.
            check: Says whether an edit of the halt point is valid, until `end_halt`; called in a copy of
                this context. None: each edit is valid.
            is_task: Whether the running task waits, and not the thread.
            sampler: Resamples the halt point's query, until `end_halt`.

        Returns:
            None where the halt point doesn't wait: the agent goes on at once.

        Raises:
            ConnectionLostError: The run is over.
        """
        self.raise_if_ended()
        if check is not None:
            self._questions.expect_edit(halt_point, check)
        begin = partial(self._begin_halt, halt_point, is_task, sampler)
        return self._halt_lease.send(messages, halt_point, begin)

    def _begin_halt(self, halt_point: str, is_task: bool, sampler: QuerySampler | None) -> None:
        self.raise_if_ended()
        self._questions.begin(halt_point, is_task, sampler)

    def end_halt(self, halt_point: str, answer: Answer | None, seconds: float) -> None:
        """End the wait at a halt point: neither its answer nor edits of it count from now on.

        Args:
            halt_point: The halt point's id.
            answer: The halt point's answer; None where there is none.
            seconds: The seconds that the agent waited.
        """
        self.halted_s += seconds
        self._questions.end(halt_point, answer is not None)
        if answer is None:
            self._waiting.forget(halt_point)
        elif isinstance(answer, StopAnswer):  # nothing of the run may be tried again
            self.is_stopped = True

    def request(self, message: GetTimeline, id: str) -> Future[Timeline | None]:
        """Send a message that is answered under its id.

        Args:
            message: The message.
            id: A new id.

        Returns:
            A future for the answer; None where no Core can answer.

        Raises:
            ConnectionLostError: The run is over.
        """
        future = self._waiting.expect(id, "request", self.raise_if_ended)
        self._outbox.request(message, id)
        return future

    def _send_aside(self, message: AgentMessage) -> None:
        """Send what answers a question, past what breakpoints see."""
        self._outbox.put(MessageBatch((message,), size=0))

    def flush(self) -> Future[None]:
        """A future, done once all earlier items are stored here, and written if a Core is connected.

        Raises:
            ConnectionLostError: The run is over.
        """
        mark = f"mark {next(self._marks)}"
        future = self._waiting.expect(mark, "mark", self.raise_if_ended)
        self._outbox.put_flush_marker(mark)
        return future

    def forget(self, key: str) -> None:
        """Nobody waits for the answer to this request any more."""
        self._waiting.forget(key)

    def await_message(self) -> None:
        """Tell the Core that the agent is idle until a person's next message. Never waits."""
        with suppress(ConnectionLostError):  # the run is over
            self.send((UserMessageAwaited(),))

    def withdraw(self, error: Callable[[], BaseException]) -> None:
        """Withdraw all halt points that wait, on every thread.

        Args:
            error: Makes the exception that each wait raises, a new one each time.
        """
        for key in self._waiting.halt_points():
            self._waiting.complete(key, error())

    def raise_if_ended(self) -> None:
        """Check that the run isn't over.

        Raises:
            ConnectionLostError: The run is over.
        """
        if self._lost is not None:
            # A new one each time: an exception that is raised twice collects tracebacks.
            raise ConnectionLostError(*self._lost.args)
        if self._is_closing:
            raise ConnectionLostError(CLOSED_MESSAGE)

    # ---- the end ------------------------------------------------------------------------------------

    def close(self, bye: Bye) -> None:
        """Say bye after all that was sent, and close. No lock: a garbage collection may call it."""
        self._is_closing = True
        # An interrupt came before the link was opened.
        if isinstance(self._outbox.transport, NoTransport):
            self._end(None)
        else:
            self._outbox.end(bye)

    def mark_exiting(self) -> None:
        """The interpreter goes down: who still waits, on a daemon thread, is left to wait.

        Told of the end, such a thread would print an error just then, which can abort the process.
        """
        self._is_exiting = True

    def give_up(self) -> None:
        """Give up on a Core that is away, or doesn't let us close."""
        self._outbox.transport.give_up(self._outbox)
        self.report_undelivered()

    def add_end_callback(self, callback: Callable[[], None]) -> None:
        """Call this once the run is over, on a thread of the link's."""
        self._end_callbacks.append(callback)
        if self._lost is not None:
            self._clean_up()

    def _set_opened(self, error: BaseException | None) -> None:
        if error is None:
            self.opened.set_result(None)
        elif not self.opened.done():
            self.opened.set_exception(error)

    def _connect_elsewhere(self) -> None:
        self._outbox.transport.forget(self._run_id)
        open_run(self.endpoint, self._outbox)

    def _end(self, lost: ConnectionLostError | None) -> None:
        reason = lost or ConnectionLostError(CLOSED_MESSAGE)

        def record_lost() -> None:
            self._lost = reason

        left = self._waiting.end(record_lost)
        for future in left if not self._is_exiting else ():
            future.set_exception(ConnectionLostError(*reason.args))
        self._outbox.transport.forget(self._run_id)
        self._clean_up()
        if not self._is_exiting:
            self.report_undelivered()
        self.closed.set_result(None)

    def _clean_up(self) -> None:
        while (callback := _pop_first(self._end_callbacks)) is not None:
            try:
                callback()
            except Exception:
                log.exception("Cleaning up after a run failed.")

    def report_undelivered(self) -> None:
        """Say once how much of a run that was closed didn't reach its Core."""
        left = self.undelivered_count
        if not (self._is_closing and left) or self._protocol.is_settled:
            return
        if _pop_first(self._unreported) is None:
            return
        said = "1 message of run %s wasn't" if left == 1 else f"{left} messages of run %s weren't"
        why = self._protocol.unreachable_reason or f"the Core at {self.endpoint.url} doesn't answer"
        log.warning(f"{said} delivered: %s", self._run_id, why)


def _pop_first(items: list[T]) -> T | None:
    """The first item, taken out in one operation; None where another thread was faster."""
    try:
        return items.pop(0)
    except IndexError:
        return None
