"""The connection of one process and its Core, for all runs: a thread that reads and one that writes.

Both call the `AgentProtocol` under one lock, which neither holds while it reads or writes, and which no
agent's thread takes: these put into an `Outbox`. All threads are daemons: an agent may exit.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from typing import Final, Literal, TypeVar

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection

from ..discover import CoreEndpoint
from ..rpc.backoff import Backoff
from . import core_search
from .agent_protocol import AgentProtocol
from .connection_state import RunConnectionState
from .core_search import CoreReached
from .handshake import TIMEOUT_S, exchange_hello, open_socket
from .outbox import Outbox
from .run_protocol import RunProtocol
from .send_queue import UncancellableFuture

log = logging.getLogger("agentstepper_nb.sdk")

Item = TypeVar("Item")

#: Seconds in which messages that need no answer are gathered, so that the agent is woken less often.
_GATHER_S: Final = 0.002


@dataclass(frozen=True)
class _Lost:
    """The connection is gone."""

    close_error: Exception
    processed: Future[None]


#: A signal for the writing thread: an outbox with messages, the lost connection, a call on the
#: protocol, or possible messages to write; None ends the thread.
_Signal = Outbox | _Lost | Callable[[], None] | Literal["wake"] | None


class SharedConnection:
    """Runs of this process and their connection, which is opened again when it is lost.

    Args:
        endpoint: The Core's endpoint.
        outbox: The first run's outbox.
    """

    def __init__(self, endpoint: CoreEndpoint, outbox: Outbox) -> None:
        self.outboxes: dict[str, Outbox] = {}
        self._protocol = AgentProtocol(endpoint, self._close_connection)
        self._lock = threading.Lock()
        self._signals: SimpleQueue[_Signal] = SimpleQueue()
        self._urgent: SimpleQueue[None] = SimpleQueue()
        self._wake: SimpleQueue[None] = SimpleQueue()  # the reading thread, where it waits
        self._backoff = Backoff(is_immediate=True)
        self._connection: ClientConnection | None = None
        self._abandoned_runs: set[str] = set()
        self._reporter = core_search.ReconnectReporter()
        _links.add(self)
        self._add_run(outbox)
        for name, target in (("read", self._read), ("write", self._write)):
            threading.Thread(target=target, name=f"agentstepper-{name}", daemon=True).start()

    @property
    def endpoint(self) -> CoreEndpoint:
        """The Core's endpoint, or its last one."""
        return self._protocol.endpoint

    # ---- from anywhere ------------------------------------------------------------------------------

    def signal(self, outbox: Outbox, is_immediate: bool) -> None:
        """Something was put into an outbox, perhaps to be written at once."""
        self._signals.put(outbox)
        if is_immediate:
            self._urgent.put(None)

    def add_run(self, outbox: Outbox) -> None:
        """Take another run on."""
        outbox.transport = self
        self._signal_now(partial(self._add_run, outbox))

    def forget(self, run: str) -> None:
        """A run is over."""
        self.outboxes.pop(run, None)
        self._abandoned_runs.discard(run)

    def give_up(self, outbox: Outbox) -> None:
        """Give up on a Core that is away, or doesn't let a run go."""
        self._abandoned_runs.add(outbox.protocol.id)
        self._signal_now(partial(self._protocol.give_up, outbox.protocol))
        self._wake.put(None)
        connection = self._connection
        if connection is not None and self._abandoned_runs.issuperset(list(self.outboxes)):
            with suppress(OSError):
                connection.socket.shutdown(socket.SHUT_RDWR)

    def abandon(self) -> None:
        """Leave the connection to the parent process, from a forked child, and send nothing."""
        if self._connection is not None:
            with suppress(OSError):
                self._connection.socket.close()

    def _signal_now(self, signal: _Signal) -> None:
        self._signals.put(signal)
        self._urgent.put(None)

    def _add_run(self, outbox: Outbox) -> None:
        outbox.transport = self
        self.outboxes[outbox.protocol.id] = outbox
        self._protocol.add(outbox.protocol)
        self._signals.put(outbox)  # what was put before

    def _under_lock(self, change: Callable[[], None]) -> None:
        """Change the protocol, and do what comes of it."""
        with self._lock:
            change()
            effects = self._protocol.drain()
            wakes = bool(self._protocol.ready)
        for effect in effects:
            effect()
        if wakes:
            self._signal_now("wake")

    def _close_connection(self, code: int = 1000) -> None:
        if (connection := self._connection) is not None:
            connection.close(code)

    # ---- the reading thread -------------------------------------------------------------------------

    def _read(self) -> None:
        """Keep the runs connected until all are over."""
        try:
            self._maintain_connection()
        except Exception as error:
            _unshare_link(self)
            self._under_lock(partial(self._protocol.fail, error))
        finally:
            _unshare_link(self)
            self._signal_now(None)

    def _maintain_connection(self) -> None:
        run = next(iter(self._protocol.runs.values()))
        found = self._open(run) if run.state is RunConnectionState.OPENING else self._reconnect()
        while found is not None:
            close_error = self._serve(*found)
            _unshare_link(self)
            runs = list(self._protocol.runs.values())
            self._reporter.report_lost(close_error, runs, self.endpoint.url)
            lost = _Lost(close_error, UncancellableFuture())
            self._signal_now(lost)
            lost.processed.result()  # by then all is taken in that was put before
            found = self._reconnect()

    def _open(self, run: RunProtocol) -> tuple[CoreReached, RunProtocol] | None:
        """Connect for the first time; errors go to the code that opens the run."""
        try:
            with ExitStack() as stack:
                connection = stack.enter_context(open_socket(self.endpoint))
                hello = run.make_hello()
                run.has_sent_hello = True
                welcome = exchange_hello(connection, hello)
                return CoreReached(connection, stack.pop_all(), self.endpoint, welcome), run
        except Exception as error:
            _unshare_link(self)
            self._under_lock(partial(self._protocol.opening_failed, run, error))
            return None

    def _serve(self, found: CoreReached, run: RunProtocol) -> Exception:
        """Read from a connection until it is gone, and say why it is."""

        def begin() -> None:
            self._connection = found.connection
            self._protocol.endpoint = found.endpoint
            self._protocol.connection_opened(run, found.welcome, time.monotonic())

        try:
            with found.exit_stack:
                if found.welcome is not None and found.welcome.shares_connection is True:
                    _share_link(self, found.endpoint)
                else:
                    _unshare_link(self)
                self._under_lock(begin)
                receive = self._protocol.receive_data
                text = found.connection.recv(decode=True)
                self._backoff.reset()  # the Core does something
                while True:  # until recv raises ConnectionClosed
                    self._under_lock(partial(receive, text, time.monotonic()))
                    text = found.connection.recv(decode=True)
        except Exception as error:
            return error
        finally:
            self._connection = None

    # ---- finding back -------------------------------------------------------------------------------

    def _reconnect(self) -> tuple[CoreReached, RunProtocol] | None:
        """Try until a Core resumes a run; None where no run is left."""
        _drain(self._wake)
        while (run := self._wait_for_away_run()) is not None:
            with self._lock:
                hello = run.make_hello()
            cores = core_search.list_running_cores()
            candidates = core_search.list_candidates(self.endpoint, cores)
            found = core_search.reach_core(candidates, hello, TIMEOUT_S)
            run.has_sent_hello |= isinstance(found, CoreReached) or found.has_sent_hello
            if isinstance(found, CoreReached):
                if run.state is RunConnectionState.DISCONNECTED:
                    self._reporter.report_reconnected(found.endpoint.url)
                    return found, run
                found.exit_stack.close()  # given up meanwhile
            elif found.is_refused:
                self._backoff.reset()
                refuse, url = self._protocol.refuse, found.endpoint.url
                self._under_lock(partial(refuse, run, url, found.error, found.code))
            else:
                self._reporter.report_not_found(str(found.error), self._away(), self.endpoint.url)
        return None

    def _wait_for_away_run(self) -> RunProtocol | None:
        """The run to find back next, after a pause; None where no run is left."""
        waited = False
        while self._protocol.runs:
            self._under_lock(partial(self._protocol.handle_timeout, time.monotonic()))
            away = self._away()
            if away and waited:
                return away[0]
            pause = self._pause(away) if away else None
            waited = bool(away)
            with suppress(Empty):
                self._wake.get(timeout=pause)
        return None

    def _away(self) -> list[RunProtocol]:
        runs = list(self._protocol.runs.values())
        return [run for run in runs if run.state is RunConnectionState.DISCONNECTED]

    def _pause(self, away: list[RunProtocol]) -> float:
        """Seconds to wait before the next attempt."""
        now = time.monotonic()
        deadlines = (run.close_deadline for run in away)
        left = [max(0.0, each - now) for each in deadlines if each is not None]
        return min([self._backoff.next_delay_s(), *left])

    # ---- the writing thread -------------------------------------------------------------------------

    def _write(self) -> None:
        """Write until the reading thread ends."""
        ends = False
        while not ends:
            signals = self._wait_for_signals()
            ends = None in signals
            try:
                self._process_signals(signals)
                self._send_all()
            except Exception as error:
                log.exception("Writing to the Core failed.")
                _unshare_link(self)
                self._under_lock(partial(self._protocol.fail, error))
                self._close_connection(1011)
            for signal in signals:
                if isinstance(signal, _Lost):
                    signal.processed.set_result(None)
        for outbox in list(self.outboxes.values()):
            if outbox.protocol.id in self._protocol.runs:  # it came too late
                outbox.protocol.listener.on_connection_needed()  # elsewhere

    def _wait_for_signals(self) -> list[_Signal]:
        """Wait for a signal or a deadline; returns all signals that are queued then."""
        _drain(self._urgent)
        with self._lock:
            due = self._protocol.deadline() if self._protocol.runs_with_deadline else None
        try:
            wait = None if due is None else max(0.0, due - time.monotonic())
            signal = self._signals.get(timeout=wait)
        except Empty:
            return ["wake"]
        if isinstance(signal, Outbox):
            with suppress(Empty):
                self._urgent.get(timeout=_GATHER_S)
        return [signal, *_drain(self._signals)]

    def _process_signals(self, signals: list[_Signal]) -> None:
        with self._lock:
            now = time.monotonic()
            for signal in dict.fromkeys(signals):
                # What was put into an outbox that has left was put before it moved, and its new
                # connection looks into it after that.
                if isinstance(signal, Outbox) and signal.protocol.id in self._protocol.runs:
                    run = signal.protocol
                    self._protocol.accept_items(run, _drain(signal.inbox), now)
                    if run.is_closing or run.state is RunConnectionState.ENDED:
                        self._wake.put(None)
                elif isinstance(signal, _Lost):
                    self._protocol.connection_lost(signal.close_error, now)
                elif callable(signal):
                    signal()
            if self._protocol.runs_with_deadline:
                self._protocol.handle_timeout(now)
            effects = self._protocol.drain()
        for effect in effects:
            effect()

    def _send_all(self) -> None:
        while True:
            with self._lock:
                connection = self._connection
                text = self._protocol.data_to_send(time.monotonic())
                effects = self._protocol.drain()
            for effect in effects:
                effect()
            if text is None:
                return
            with suppress(ConnectionClosed):  # the reading thread says why
                if connection is not None:
                    connection.send(text, text=True)
                    continue
            with self._lock:
                self._protocol.is_connected = False  # `connection_lost` follows


def _drain(queue: SimpleQueue[Item]) -> list[Item]:
    """All that is in a queue, which only one thread empties."""
    found: list[Item] = []
    while not queue.empty():
        found.append(queue.get_nowait())
    return found


# ---- the links of this process -----------------------------------------------------------------------

_links: weakref.WeakSet[SharedConnection] = weakref.WeakSet()
#: Connections that further runs may share: each is open, or about to open.
_open_links: dict[CoreEndpoint, SharedConnection] = {}
#: Held while these change, for no longer. A signal's handler may open a run while it is held.
_opening = threading.RLock()


def open_run(endpoint: CoreEndpoint, outbox: Outbox) -> None:
    """Let a run have a connection: the one that this process has to the Core, or a new one."""
    with _opening:
        if (known := _open_links.get(endpoint)) is not None:
            known.add_run(outbox)
            return
        link = SharedConnection(endpoint, outbox)
        if outbox.protocol.state is RunConnectionState.OPENING:
            _open_links[endpoint] = link


def _share_link(link: SharedConnection, endpoint: CoreEndpoint) -> None:
    with _opening:
        _open_links.setdefault(endpoint, link)


def _unshare_link(link: SharedConnection) -> None:
    with _opening:
        for endpoint in [each for each, found in _open_links.items() if found is link]:
            del _open_links[endpoint]


def _abandon_all() -> None:
    global _opening
    _opening = threading.RLock()
    _open_links.clear()
    for link in list(_links):
        link.abandon()


os.register_at_fork(after_in_child=_abandon_all)
