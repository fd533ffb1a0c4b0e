"""The protocol between the runs of one process and the Core on one connection, without I/O.

`receive_data` takes a received text, `data_to_send` returns the next text to write, `connection_lost`
reports a lost connection, and `drain` returns actions that the caller executes. The caller holds a
lock, and releases the lock before it reads, writes or executes these actions. Times are arguments.
`run_protocol.RunProtocol` holds the state of each run.
"""

from __future__ import annotations

import logging
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from typing import Final

from msgspec import UNSET, Struct
from websockets.exceptions import ConnectionClosed, ConnectionClosedError
from websockets.frames import Close

from ..discover import CoreEndpoint
from ..errors import ConnectionLostError, ProtocolError
from ..protocol import agent as messages
from ..protocol.envelope import add_run
from . import handshake
from .connection_state import RunConnectionEvent, RunConnectionState
from .handshake import AgentRefusedError
from .run_protocol import RunProtocol
from .send_queue import QueueItem
from .wire_versions import WireVersion2

log = logging.getLogger("agentstepper_nb.sdk")

#: Characters of a text that goes in one piece where several runs share a connection.
MAX_PART_CHARS: Final = 256 * 1024

_RESTART_ADVICE: Final = "Start the agent again."
_STATES_BEFORE_HELLO: Final = (RunConnectionState.OPENING, RunConnectionState.DISCONNECTED)
_STATES_AWAITING_WELCOME: Final = (RunConnectionState.OPENING, RunConnectionState.RETURNING)


class AgentProtocol:
    """The runs of one process on their connection to one Core.

    Args:
        endpoint: The Core's endpoint.
        close_connection: Closes the connection; one of the actions that `drain` returns.
    """

    def __init__(self, endpoint: CoreEndpoint, close_connection: Callable[[], None]) -> None:
        self.endpoint = endpoint
        self.runs: dict[str, RunProtocol] = {}
        #: Runs that may have messages to write; `data_to_send` checks each of them.
        self.ready: OrderedDict[str, RunProtocol] = OrderedDict()
        #: Runs that may have a deadline, for `handle_timeout` and `deadline`.
        self.runs_with_deadline: dict[str, RunProtocol] = {}
        #: Whether the connection is open.
        self.is_connected = False
        #: Whether further runs may say hello on the connection.
        self.is_shared = False
        self._close_connection = close_connection
        #: The run whose hello opened the connection: its messages don't name it.
        self._first_run_id: str | None = None
        self._carried: dict[str, RunProtocol] = {}  # whose messages the connection carries
        self._effects: list[Callable[[], object]] = []  # its runs' too

    # ---- runs ---------------------------------------------------------------------------------------

    def add(self, run: RunProtocol) -> None:
        """Add a run; on a shared connection, the run says hello in its turn."""
        self.runs[run.id] = run
        self._effects += run.effects
        run.effects = self._effects
        self.ready[run.id] = run

    def accept_items(self, run: RunProtocol, items: Iterable[QueueItem], now: float) -> None:
        """Accept items that a run's agent has queued."""
        try:
            for item in items:
                run.accept_item(item, now)
            if run.is_closing:
                self.runs_with_deadline[run.id] = run
        except Exception as error:
            self._fail_run(run, error)
        self.ready[run.id] = run

    def give_up(self, run: RunProtocol) -> None:
        """End a run, since the agent no longer waits for the delivery of its messages."""
        if run.id in self.runs and run.state is not RunConnectionState.ENDED:
            self._end_run(run, None)

    def connection_opened(
        self, run: RunProtocol, welcome: messages.Welcome | None, now: float
    ) -> None:
        """Handle an open connection, on which the Core welcomed a run; None: a Core of version 1."""
        self.is_connected = True
        self.is_shared = welcome is not None and welcome.shares_connection is True
        self._first_run_id, run.address = run.id, None
        if run.id not in self.runs:  # given up meanwhile
            self._effects.append(self._close_connection)
            return
        self._carried = {run.id: run}
        self._welcome(run, welcome, now)
        for other in list(self.runs.values()):
            if other is not run and other.state in _STATES_BEFORE_HELLO:
                if self.is_shared:
                    self.ready[other.id] = other
                else:
                    self._start_over(other)

    def opening_failed(self, run: RunProtocol, error: Exception) -> None:
        """Handle a connection that failed to open, or the Core's refusal of the hello that opened it."""
        fails_all = not isinstance(error, AgentRefusedError)
        for other in list(self.runs.values()):
            if other is run or (fails_all and other.state is RunConnectionState.OPENING):
                self._end_unopened_run(other, error)
            else:
                self._start_over(other)

    def refuse(self, run: RunProtocol, url: str, why: ConnectionError, code: str) -> None:
        """Handle a Core's refusal to resume a run after the run said hello again."""
        if run.id not in self.runs:
            return  # it ended while the Core was asked
        run.unreachable_reason = str(why)
        if run.prepare_restart(code):
            return
        if run.is_closing and code == "run_ended":
            run.is_settled = True  # the goodbye was heard, its acknowledgement wasn't
        said = f"The Core at {url} refused to continue this run: {why}"
        # Most refusals of a Core's say it themselves.
        advice = "" if _RESTART_ADVICE.casefold() in said.casefold() else f" {_RESTART_ADVICE}"
        self._end_run(run, ConnectionLostError(said + advice))

    def fail(self, error: Exception) -> None:
        """Something failed that no connection can help: all runs are over."""
        for run in list(self.runs.values()):
            if run.state is RunConnectionState.OPENING:
                self._end_unopened_run(run, error)
            else:
                self._end_run(run, self._failure(run, error), broken=True)

    # ---- writing ------------------------------------------------------------------------------------

    def data_to_send(self, now: float) -> bytes | None:
        """The next text to write; None while there is none. What was given before was written."""
        while self.ready:
            _, run = self.ready.popitem(last=False)
            try:
                text = self._next_of(run, now) if self.is_connected else None
            except Exception as error:
                self._fail_run(run, error)
                continue
            if text is not None:
                self.ready[run.id] = run
                return text
            if run.waiting_for_space:
                run.release_waiting()
            if run.is_closing and run.is_all_recorded():
                self._end_delivered_run(run)
        return None

    def _next_of(self, run: RunProtocol, now: float) -> bytes | None:
        if run.outgoing:
            return run.outgoing.popleft()
        if run.state is RunConnectionState.OPEN and run.id in self._carried:
            text = run.next_text()
            if text is not None and len(text) > MAX_PART_CHARS and len(self._carried) > 1:
                return self._split(run, text.decode())
            if text is not None and run.address is not None:
                return add_run(text.decode(), run.address).encode()
            return text
        if self.is_shared and run.state in _STATES_BEFORE_HELLO and run.id not in self._carried:
            return self._greet(run, now)
        return None

    def _greet(self, run: RunProtocol, now: float) -> bytes | None:
        if now < run.retry_at:
            self.runs_with_deadline[run.id] = run
            return None
        hello = messages.from_agent.encode(run.make_hello(), 1, run=run.id)  # message 1 of its run
        run.has_sent_hello, run.greeted_at, run.address = True, now, run.id
        if run.state is RunConnectionState.DISCONNECTED:
            run.apply_event(RunConnectionEvent.HELLO_SENT)
        self._carried[run.id] = self.runs_with_deadline[run.id] = run
        return hello.encode()

    def _split(self, run: RunProtocol, text: str) -> bytes:
        """Let a long text of a run go in parts, since others share the connection; gives the first."""
        for start in range(0, len(text), MAX_PART_CHARS):
            end = start + MAX_PART_CHARS
            part = messages.MessagePart(text=text[start:end], last=end >= len(text))
            encoded = messages.from_agent.encode(part, run.written_number, run=run.address)
            run.outgoing.append(encoded.encode())
        return run.outgoing.popleft()

    def _end_delivered_run(self, run: RunProtocol) -> None:
        """End a run that said bye, and whose messages the Core has all stored."""
        is_open = run.state is RunConnectionState.OPEN
        if run.state is RunConnectionState.ABANDONED or (is_open and len(self._carried) > 1):
            self._end_run(run, None)
        elif is_open:
            self.is_shared = False  # who comes now opens another connection
            self._effects.append(self._close_connection)

    # ---- reading ------------------------------------------------------------------------------------

    def receive_data(self, text: str, now: float) -> None:
        """Process a received text.

        Raises:
            ProtocolError: The text can't be decoded.
        """
        run = self._carried.get(self._first_run_id or "")
        if not self.is_shared:
            if run is not None and run.receive(run.wire_version.decode(text), now):
                self.ready[run.id] = run
            return
        envelope, message = messages.to_agent.decode(text)
        if envelope.run is not UNSET:
            run = self._carried.get(envelope.run)
        if run is None:
            return  # the run has left
        if isinstance(message, messages.RunDisconnected) or run.state in _STATES_AWAITING_WELCOME:
            self._receive_for_connection(run, message, now)
            return
        assert isinstance(run.wire_version, WireVersion2)
        if run.receive(run.wire_version.read(envelope, message), now):
            self.ready[run.id] = run

    def _receive_for_connection(self, run: RunProtocol, message: Struct, now: float) -> None:
        """Handle a message about a run's place on a shared connection, or about its hello."""
        is_answer = isinstance(message, messages.Welcome | messages.AgentError)
        if isinstance(message, messages.RunDisconnected):
            close_error = ConnectionClosedError(Close(message.code, message.reason), None)
            self._handle_connection_lost(run, close_error, now)
            if run.id in self.runs:  # else it is over, or has another connection from now on
                self.ready[run.id] = run
        elif is_answer or run.state is RunConnectionState.OPENING:  # else older than the hello
            try:
                self._welcome(run, handshake.check_welcome(message), now)
            except AgentRefusedError as error:
                self._handle_refusal(run, error, now)

    def _handle_refusal(self, run: RunProtocol, error: AgentRefusedError, now: float) -> None:
        """Handle the refusal of a hello that a run sent on another run's connection."""
        if run.state is RunConnectionState.OPENING:
            self._end_unopened_run(run, error)
            return
        run.apply_event(RunConnectionEvent.REFUSED)
        del self._carried[run.id]
        if handshake.is_final_refusal(error):
            why = handshake.explain_not_opened(self.endpoint, error)
            self.refuse(run, self.endpoint.url, why, error.code)
        else:
            run.schedule_retry(now)
        self.ready[run.id] = run

    def _welcome(self, run: RunProtocol, welcome: messages.Welcome | None, now: float) -> None:
        if run.is_closing:
            self.runs_with_deadline[run.id] = run
        else:
            self.runs_with_deadline.pop(run.id, None)
        run.receive_welcome(welcome, now)
        self.ready[run.id] = run

    # ---- losing -------------------------------------------------------------------------------------

    def connection_lost(self, close_error: Exception, now: float) -> None:
        """The connection is gone."""
        carried = list(self._carried.values())
        self.is_connected = self.is_shared = False
        for run in self.ready.values():
            run.outgoing.clear()
        for run in carried:
            self._handle_connection_lost(run, close_error, now)
        self._carried.clear()
        self._first_run_id = None
        for run in list(self.runs.values()):
            if run.state is RunConnectionState.OPENING:  # its turn to say hello didn't come
                self._start_over(run)

    def _handle_connection_lost(self, run: RunProtocol, close_error: Exception, now: float) -> None:
        """A run's connection is gone."""
        self._carried.pop(run.id, None)
        if run.state is RunConnectionState.OPENING:
            self._start_over(run)
            return
        delivered = run.is_closing and run.is_all_recorded()
        run.connection_lost()
        if delivered:
            self._end_run(run, None)
        elif not isinstance(close_error, ConnectionClosed):
            self._end_run(run, self._failure(run, close_error))
        elif handshake.is_too_large(close_error) or not run.can_resume:
            why = handshake.explain_lost(self.endpoint.url, close_error, run.max_message_bytes)
            self._end_run(run, ConnectionLostError(why))
        else:
            run.unreachable_reason = handshake.explain_close(close_error)
            run.schedule_retry(now)

    def _start_over(self, run: RunProtocol) -> None:
        """Let a run have a connection of its own: one that isn't open yet fails as soon as any other."""
        run.greeted_at, run.effects = None, []  # what it left here is done here
        del self.runs[run.id]
        self.ready.pop(run.id, None)
        self.runs_with_deadline.pop(run.id, None)
        self._effects.append(run.listener.on_connection_needed)

    def _end_unopened_run(self, run: RunProtocol, error: Exception) -> None:
        run.opening_failed(handshake.explain_not_opened(self.endpoint, error))
        self._remove(run)

    def _end_run(
        self, run: RunProtocol, lost: ConnectionLostError | None, *, broken: bool = False
    ) -> None:
        """A run ends, or goes on alone."""
        if run.state is RunConnectionState.OPENING:
            run.opening_failed(lost or ConnectionLostError(handshake.NO_ANSWER))
        else:
            run.end(lost, is_unrecoverable=broken)
        if run.state is RunConnectionState.ABANDONED:
            self.ready[run.id] = run
        else:
            self._remove(run)

    def _remove(self, run: RunProtocol) -> None:
        """Take a run that is over off the connection, which is closed where it was the last."""
        self.runs.pop(run.id, None)
        self.runs_with_deadline.pop(run.id, None)
        if self._carried.pop(run.id, None) is None or not self.is_connected:
            return
        if self._carried:
            self._leave_connection(run)
        else:
            self.is_shared = False
            self._effects.append(self._close_connection)

    def _leave_connection(self, run: RunProtocol) -> None:
        """Tell the Core that the connection carries a run no longer."""
        number, leave = run.written_number, messages.LeaveConnection()
        text = messages.from_agent.encode(leave, number, run=run.address)
        run.outgoing = deque((text.encode(),))  # in place of parts that nobody waits for
        self.ready[run.id] = run

    def _take_hello_back(self, run: RunProtocol, now: float) -> None:
        """Let a run say hello once more, since the Core didn't answer the last one."""
        del self._carried[run.id]
        run.connection_lost()
        run.unreachable_reason = handshake.NO_ANSWER
        run.schedule_retry(now)
        self._leave_connection(run)

    def _fail_run(self, run: RunProtocol, error: Exception) -> None:
        """Writing a run's messages failed, and with it the run."""
        log.error("Writing to the Core failed.", exc_info=error)
        if run.state is not RunConnectionState.ENDED:
            self._end_run(run, self._failure(run, error), broken=True)

    def _failure(self, run: RunProtocol, error: Exception) -> ConnectionLostError:
        if not (isinstance(error, ProtocolError) or run.is_closing):
            log.error("The connection to the Core failed.", exc_info=error)
        return ConnectionLostError(handshake.explain_failed(self.endpoint.url, error))

    # ---- time, and what is to be done outside -------------------------------------------------------

    def deadline(self) -> float | None:
        """The time at which the caller must call `handle_timeout`; None: no run has a deadline."""
        due = map(self._deadline_of, self.runs_with_deadline.values())
        return min((each for each in due if each is not None), default=None)

    def handle_timeout(self, now: float) -> None:
        """End what takes too long."""
        for run in list(self.runs_with_deadline.values()):
            due = self._deadline_of(run)
            if due is None:
                del self.runs_with_deadline[run.id]
            elif due <= now:
                self._handle_late_run(run, now)

    def _deadline_of(self, run: RunProtocol) -> float | None:
        if run.state in _STATES_AWAITING_WELCOME:
            return None if run.greeted_at is None else run.greeted_at + handshake.TIMEOUT_S
        if run.state is RunConnectionState.DISCONNECTED and self.is_shared:
            deadline = run.close_deadline
            return run.retry_at if deadline is None else min(run.retry_at, deadline)
        return run.close_deadline

    def _handle_late_run(self, run: RunProtocol, now: float) -> None:
        if run.state is RunConnectionState.OPENING:
            self._end_unopened_run(run, ConnectionLostError(handshake.NO_ANSWER))
        elif run.close_deadline is not None and run.close_deadline <= now:
            self._end_run(run, None)
        elif run.state is RunConnectionState.RETURNING:
            self._take_hello_back(run, now)
        else:
            self.ready[run.id] = run  # to say hello again

    def drain(self) -> list[Callable[[], object]]:
        """Remove and return the actions that the caller executes, in this order."""
        effects, self._effects[:] = self._effects.copy(), []  # the list is its runs' too
        return effects
