"""What a run sends: a thread of its own numbers it, keeps it, and writes it.

The agent's threads only put into a queue, without a lock, and wait on futures. All else here belongs to
the writing thread, so that no interrupt can cut a batch of messages in two or make a number twice.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Final

from msgspec.structs import replace
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection

from ..protocol.agent import (
    Acknowledged,
    AgentMessage,
    BreakpointReached,
    Bye,
    GetTimeline,
    Resume,
    Withdraw,
)
from .buffer import Buffer
from .dialects import Dialect
from .waiting import Waiting, new_future

log = logging.getLogger("agentstepper_nb.sdk")

#: Seconds that the goodbye may take.
GOODBYE_PATIENCE: Final = 10.0


@dataclass(frozen=True)
class _Batch:
    """Messages that are sent with no other between them."""

    messages: tuple[AgentMessage, ...]
    breakpoint: str | None = None  # the one of them that somebody waits at


@dataclass(frozen=True)
class _Request:
    id: str
    message: GetTimeline


@dataclass(frozen=True)
class _Mark:
    key: str


@dataclass(frozen=True)
class _End:
    bye: Bye


@dataclass(frozen=True)
class _Connected:
    connection: ClientConnection
    dialect: Dialect
    received: int


@dataclass(frozen=True)
class _Lost:
    """The connection is gone."""

    heard: Future[None]


@dataclass(frozen=True)
class _Alone:
    """No Core will take anything any more, and the agent goes on."""


_Sendable = _Batch | _Request | _Mark | _End
_News = _Connected | _Lost | _Alone | Acknowledged


class Outbox:
    """The way out of a link. Its methods only put into a queue, and may be called from anywhere.

    Args:
        waiting: Who waits for what.
        goes_on: Whether breakpoints are passed unedited while no Core is there.
        broken: Called with what made the writing fail, if anything does.
        dialect: What the Core speaks, where that is known before the first connection.
    """

    def __init__(
        self,
        waiting: Waiting,
        goes_on: bool,
        broken: Callable[[Exception], None],
        dialect: Dialect | None = None,
    ) -> None:
        self._waiting = waiting
        self._goes_on = goes_on
        self._broken = broken
        self._inbox: SimpleQueue[_Sendable | _News | None] = SimpleQueue()
        # What follows is the writing thread's.
        self._parked: deque[_Sendable] = deque()
        self._buffer = Buffer()
        self._requests: dict[str, tuple[int, GetTimeline]] = {}  # without an answer
        self._connection: ClientConnection | None = None
        self._dialect = dialect
        self._written = 1  # the number of the last message on this connection
        self._alone = False
        self._told_full = False
        self._until: float | None = None  # when the goodbye's patience ends

    def send(self, messages: tuple[AgentMessage, ...]) -> None:
        """Send messages, with no other between them."""
        self._inbox.put(_Batch(messages))

    def ask(self, messages: tuple[AgentMessage, ...], breakpoint: str) -> None:
        """Send messages, one of which is a breakpoint that waits."""
        self._inbox.put(_Batch(messages, breakpoint))

    def request(self, message: GetTimeline, id: str) -> None:
        """Send what is answered under an id."""
        self._inbox.put(_Request(id, message))

    def mark(self, key: str) -> None:
        """Give None under a key once all that was put before is kept, and written if it can be."""
        self._inbox.put(_Mark(key))

    def end(self, bye: Bye) -> None:
        """Say bye after all that was put before, and close once the Core keeps all of it."""
        self._inbox.put(_End(bye))

    def connected(self, connection: ClientConnection, dialect: Dialect, received: int) -> None:
        """There is a connection, whose Core keeps the messages up to a number."""
        self._inbox.put(_Connected(connection, dialect, received))

    def lost(self) -> Future[None]:
        """The connection is gone; a future for when all that was put before is taken in."""
        heard = new_future()
        self._inbox.put(_Lost(heard))
        return heard

    def alone(self) -> None:
        """No Core will ever take what is sent: pass all breakpoints, and keep nothing."""
        self._inbox.put(_Alone())

    def acknowledged(self, word: Acknowledged) -> None:
        """The Core keeps the messages up to a number."""
        self._inbox.put(word)

    def stop(self) -> None:
        """End the thread."""
        self._inbox.put(None)

    @property
    def last(self) -> int:
        """The number of the newest message."""
        return self._buffer.last

    @property
    def heard(self) -> int:
        """The number up to which the Core said that it keeps them."""
        return self._buffer.acknowledged

    @property
    def undelivered(self) -> int:
        """How many messages no Core is known to keep."""
        return len(self._buffer) + sum(map(_count, tuple(self._parked)))

    # ---- the writing thread -------------------------------------------------------------------------

    def run(self) -> None:
        """Write, until it is stopped."""
        try:
            while (item := self._next()) is not None:
                if isinstance(item, _News):
                    self._hear(item)
                else:
                    self._park(item)
                self._advance()
        except Exception as error:
            log.exception("Writing to the Core failed.")
            self._broken(error)
            self._take_nothing()

    def _take_nothing(self) -> None:
        """Nothing can be written any more: the reading thread, which ends all, mustn't wait for us."""
        while (item := self._inbox.get()) is not None:
            if isinstance(item, _Lost):
                item.heard.set_result(None)

    def _next(self) -> _Sendable | _News | None:
        """The next item; where the goodbye takes too long, the connection is closed meanwhile."""
        if self._until is not None:
            try:
                return self._inbox.get(timeout=max(0.0, self._until - time.monotonic()))
            except Empty:
                self._until = None
                self._hang_up()
        return self._inbox.get()

    def _hear(self, news: _News) -> None:
        match news:
            case Acknowledged(received=number):
                self._buffer.acknowledge(number)
            case _Connected():
                self._begin(news)
            case _Lost(heard):
                self._connection = None
                self._let_go()
                heard.set_result(None)
            case _Alone():
                self._alone = True
                self._buffer.clear()

    def _park(self, item: _Sendable) -> None:
        self._parked.append(item)
        if isinstance(item, _End):
            self._until = time.monotonic() + GOODBYE_PATIENCE

    def _advance(self) -> None:
        """Take what is parked, as far as there is room, and write what can be written."""
        self._write()
        while self._parked and self._may_take(self._parked[0]):
            self._take(self._parked.popleft())
            self._write()
        if self._parked and self._connection is None and self._buffer.full:
            self._tell_full()
        if self._until is not None and self._all_kept():
            self._hang_up()

    def _tell_full(self) -> None:
        if not self._told_full:
            self._told_full = True
            log.warning(
                "%d messages wait for the Core, which is still away: now the agent waits, too.",
                len(self._buffer),
            )

    def _may_take(self, item: _Sendable) -> bool:
        if self._dialect is None:
            return False  # nothing has a form before it is known what the Core speaks
        return isinstance(item, _Mark) or not self._buffer.full

    def _take(self, item: _Sendable) -> None:
        match item:
            case _Batch(messages, breakpoint):
                self._take_batch(messages, breakpoint)
            case _Request(id, message):
                self._take_request(id, message)
            case _Mark(key):
                self._waiting.give(key, None)
            case _End(bye):
                self._add(bye)

    def _take_batch(self, messages: tuple[AgentMessage, ...], breakpoint: str | None) -> None:
        passes = breakpoint is not None and (self._alone or self._is_passed())
        for message in messages:
            if passes and isinstance(message, BreakpointReached):
                message = replace(message, waits=False)
            self._add(message)
        if passes:
            self._waiting.give(breakpoint, Resume())

    def _take_request(self, id: str, message: GetTimeline) -> None:
        if self._alone or not self._add(message, id):
            self._waiting.give(id, None)  # nobody will answer it
            return
        waited = {id: asked for id, asked in self._requests.items() if self._waiting.has(id)}
        self._requests = waited | {id: (self._buffer.last, message)}

    def _is_passed(self) -> bool:
        return self._goes_on and self._connection is None

    def _add(self, message: AgentMessage, id: str | None = None) -> bool:
        """Number a message and keep it; False where the Core's version has no word for it."""
        assert self._dialect is not None
        if self._alone:
            return True
        text = self._dialect.encode(message, self._buffer.last + 1, id)
        if text is None:
            return False
        self._buffer.add(text.encode())
        return True

    def _begin(self, news: _Connected) -> None:
        """Write on a new connection what its Core doesn't keep yet."""
        if news.received < self._buffer.acknowledged:
            log.warning(
                "The Core lost messages %d to %d of this run, which it had said that it keeps.",
                news.received + 1,
                self._buffer.acknowledged,
            )
        self._connection, self._dialect = news.connection, news.dialect
        self._told_full = False
        self._buffer.acknowledge(max(news.received, self._buffer.acknowledged))
        self._written = self._buffer.last - len(self._buffer)
        for id, (number, message) in self._requests.items():
            if number <= self._written and self._waiting.has(id):
                self._take_request(id, message)  # its answer went astray

    def _let_go(self) -> None:
        """Pass the breakpoints that wait, if they aren't to wait for a Core that is away."""
        if not self._goes_on or self._dialect is None:
            return
        for key in self._waiting.breakpoints():
            if self._dialect.asked(key, self._buffer.last):
                self._add(Withdraw(breakpoint=key))
                self._waiting.give(key, Resume())

    def _write(self) -> None:
        if self._connection is None or self._dialect is None:
            return
        try:
            while (found := self._buffer.next_after(self._written)) is not None:
                self._connection.send(found[1], text=True)
                self._written = found[0]
                if not self._dialect.resumes:
                    self._buffer.acknowledge(found[0])  # nothing is ever sent again
        except ConnectionClosed:
            self._connection = None  # the reading thread says why

    def _all_kept(self) -> bool:
        return not self._buffer and not self._parked

    def _hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()


def _count(item: _Sendable) -> int:
    match item:
        case _Batch(messages):
            return len(messages)
        case _Request() | _End():
            return 1
    return 0
