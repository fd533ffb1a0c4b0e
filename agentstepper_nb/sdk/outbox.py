"""What a run sends: a thread of its own numbers it, keeps it, and writes it.

The agent's threads only put into a queue, and wait on futures. All else here belongs to the writing
thread, so that no interrupt can cut a batch of messages in two or make a number twice.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Final, TypeVar

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
from ..protocol.pieces import Sender
from .buffer import Buffer, Parted
from .dialects import Dialect
from .items import (
    Alone,
    Batch,
    Connected,
    End,
    Freed,
    Lost,
    Mark,
    News,
    Request,
    Sendable,
    Turns,
    count_of,
)
from .waiting import Waiting, new_future

log = logging.getLogger("agentstepper_nb.sdk")

Q = TypeVar("Q")

#: Seconds that the goodbye may take, since the Core last kept something of what comes before it.
GOODBYE_PATIENCE: Final = 10.0
#: Bytes of contents that may be on their way at once, until the Core says that it keeps them.
WINDOW: Final = 64 * 1024 * 1024
#: Bytes that may wait for the Core, while it is there and while it is away; then the agent waits.
MOST_CONNECTED: Final = 8 * 1024 * 1024
MOST_AWAY: Final = 64 * 1024 * 1024
#: Seconds in which what nobody waits for is gathered: an agent that goes on is woken between less often.
_GATHER: Final = 0.002


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
        self._inbox: SimpleQueue[Sendable | News | None] = SimpleQueue()
        self._hurry: SimpleQueue[None] = SimpleQueue()
        #: Put a batch; what it takes is added to `queued` with it, by one thread at a time.
        self.put: Final[Callable[[Batch], None]] = self._inbox.put
        self.queued = 0  # bytes, of all batches that were ever put
        self._away = True  # no connection was announced, or its loss was
        self._kept_there = 0  # the number up to which the Core said it keeps them
        # What follows is the writing thread's.
        self._taken = 0  # bytes, of all batches that were taken
        self._crowd: deque[tuple[str, Resume | None]] = deque()  # who waits for room, and gets what
        self._parked: deque[Sendable] = deque()
        self._turns = Turns(waiting)  # where one breakpoint is asked at a time
        self._buffer = Buffer()
        self._requests: dict[str, tuple[int, GetTimeline]] = {}  # without an answer
        self._connection: ClientConnection | None = None
        self._dialect = dialect
        self._sender = Sender()
        self._written = 1  # the number of the last message on this connection
        self._alone = False
        self._told_full = False
        self._until: float | None = None  # when the goodbye's patience ends

    @property
    def full(self) -> bool:
        """Whether who sends should wait for room; what is put all the same is kept."""
        most = MOST_AWAY if self._away else MOST_CONNECTED
        return self.queued - self._taken + self._buffer.size >= most

    def hurry(self) -> None:
        """Write what was put at once."""
        self._hurry.put(None)

    def request(self, message: GetTimeline, id: str) -> None:
        """Send what is answered under an id."""
        self._put_now(Request(id, message))

    def mark(self, key: str) -> None:
        """Give None under a key once all that was put before is kept, and written if it can be.

        That may be when there is room again.
        """
        self._put_now(Mark(key))

    def end(self, bye: Bye) -> None:
        """Say bye after all that was put before, and close once the Core keeps all of it."""
        self._put_now(End(bye))

    def connected(self, connection: ClientConnection, dialect: Dialect, received: int) -> None:
        """There is a connection, whose Core keeps the messages up to a number."""
        self._away = False
        self._put_now(Connected(connection, dialect, received))

    def lost(self) -> Future[None]:
        """The connection is gone; a future for when all that was put before is taken in."""
        self._away = True
        heard = new_future()
        self._put_now(Lost(heard))
        return heard

    def alone(self) -> None:
        """No Core will ever take what is sent: pass all breakpoints, and keep nothing."""
        self._put_now(Alone())

    def acknowledged(self, word: Acknowledged) -> None:
        """The Core keeps the messages up to a number."""
        self._kept_there = word.received
        self._inbox.put(word)

    def stop(self) -> None:
        """End the thread."""
        self._put_now(None)

    def _put_now(self, item: Sendable | News | None) -> None:
        self._inbox.put(item)
        self._hurry.put(None)

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
        """How many messages no Core is known to keep; falls also while the writing thread is busy."""
        left = min(len(self._buffer), max(0, self._buffer.last - self._kept_there))
        return left + sum(map(count_of, tuple(self._parked)))

    # ---- the writing thread -------------------------------------------------------------------------

    def run(self) -> None:
        """Write, until it is stopped."""
        try:
            while items := self._some():
                for item in items:
                    self._take_in(item)
                self._advance()
        except Exception as error:
            log.exception("Writing to the Core failed.")
            self._broken(error)
            self._take_nothing()

    def _take_nothing(self) -> None:
        """Nothing can be written any more: the reading thread, which ends all, mustn't wait for us."""
        while (item := self._inbox.get()) is not None:
            if isinstance(item, Lost):
                item.heard.set_result(None)

    def _some(self) -> list[Sendable | News]:
        """All that is there to be done, once there is something; nothing at the end."""
        _drain(self._hurry)
        item = self._next()
        if isinstance(item, Batch) and item.breakpoint is None:
            with suppress(Empty):
                self._hurry.get(timeout=_GATHER)
        if item is None:
            return []
        items = [item, *_drain(self._inbox)]
        if None in items:
            self._inbox.put(None)  # the end, when these are done
        return [item for item in items if item is not None]

    def _next(self) -> Sendable | News | None:
        """The next item; where the goodbye takes too long, the connection is closed meanwhile."""
        if self._until is not None:
            try:
                return self._inbox.get(timeout=max(0.0, self._until - time.monotonic()))
            except Empty:
                self._until = None
                self._hang_up()
        return self._inbox.get()

    def _hear(self, news: News) -> None:
        match news:
            case Acknowledged(received=number):
                self._buffer.acknowledge(number)
                if self._until is not None:
                    self._until = time.monotonic() + GOODBYE_PATIENCE
            case Connected():
                self._begin(news)
            case Lost(heard):
                self._connection = None
                self._let_go()
                heard.set_result(None)
            case Freed():
                self._take_turns()
            case Alone():
                self._alone = True
                self._buffer.clear()

    def _take_in(self, item: Sendable | News) -> None:
        if isinstance(item, News):
            self._hear(item)
        else:
            self._parked.append(item)
            if isinstance(item, End):
                self._until = time.monotonic() + GOODBYE_PATIENCE
        # Nothing has a form before it is known what the Core speaks.
        while self._parked and self._dialect is not None:
            self._take(self._parked.popleft())

    def _advance(self) -> None:
        """Write what can be written, and let those go on who waited for it, as far as there is room."""
        self._write()
        while self._crowd and not self.full:
            self._waiting.give(*self._crowd.popleft())
        if self._crowd and self._connection is None:
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

    def _take(self, item: Sendable) -> None:
        match item:
            case Batch():
                if not self._one_by_one or self._turns.may(item):
                    self._take_batch(item)
            case Request(id, message):
                self._take_request(id, message)
            case Mark(key):
                self._crowd.append((key, None))
            case End(bye):
                self._add(bye)

    @property
    def _one_by_one(self) -> bool:
        return self._dialect is not None and self._dialect.one_by_one

    def _take_turns(self) -> None:
        while (batch := self._turns.next()) is not None:
            if batch.breakpoint is not None and self._waiting.has(batch.breakpoint):
                self._take_batch(batch)
            else:  # an interrupt ended the wait, and no Core has heard of it
                self._taken += batch.size

    def _take_batch(self, batch: Batch) -> None:
        self._taken += batch.size
        assert self._dialect is not None
        refusal = self._dialect.refusal(batch.messages)
        if refusal is not None:
            log.warning("%s", refusal)
            if batch.breakpoint is not None:
                self._waiting.give(batch.breakpoint, refusal)
            return
        passes = self._alone or self._is_passed()
        waits = False
        for message in batch.messages:
            if isinstance(message, BreakpointReached) and message.waits:
                waits = not passes
                if passes:
                    message = replace(message, waits=False)
            self._add(message)
        if batch.breakpoint is not None and not waits:
            self._crowd.append((batch.breakpoint, Resume()))

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
        number = self._buffer.last + 1
        kept: Parted | bytes | None = self._dialect.part(message, number)
        if kept is None:
            text = self._dialect.encode(message, number, id)
            if text is None:
                return False
            kept = text.encode()
        self._buffer.add(kept)
        return True

    def _begin(self, news: Connected) -> None:
        """Write on a new connection what its Core doesn't keep yet."""
        if news.received < self._buffer.acknowledged:
            log.warning(
                "The Core lost messages %d to %d of this run, which it had said that it keeps.",
                news.received + 1,
                self._buffer.acknowledged,
            )
        self._connection, self._dialect = news.connection, news.dialect
        if news.dialect.one_by_one:
            self._waiting.on_answered = lambda: self._put_now(Freed())
        self._sender = Sender()  # the Core knows no piece yet
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
            while (found := self._next_to_write()) is not None:
                number, message = found
                if isinstance(message, Parted):
                    message = message.encode(number, self._sender)
                self._connection.send(message, text=True)
                self._written = number
                if not self._dialect.resumes:
                    self._buffer.acknowledge(number)  # nothing is ever sent again
        except ConnectionClosed:
            self._connection = None  # the reading thread says why

    def _next_to_write(self) -> tuple[int, bytes | Parted] | None:
        if self._buffer.on_its_way(self._written) >= WINDOW:
            return None  # few bytes may tell much: the Core says when it has room for more
        return self._buffer.next_after(self._written)

    def _all_kept(self) -> bool:
        return not self._buffer and not self._parked

    def _hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()


def _drain(queue: SimpleQueue[Q]) -> list[Q]:
    """All that is in a queue, which only this thread empties."""
    found: list[Q] = []
    with suppress(Empty):
        while True:
            found.append(queue.get_nowait())
    return found
