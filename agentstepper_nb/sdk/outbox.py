"""What a run's agent puts, on whatever thread, for its link to send."""

from __future__ import annotations

from queue import SimpleQueue
from typing import Final, Protocol

from ..discover import Endpoint
from ..protocol.agent import Bye, GetTimeline
from .items import Batch, End, Freed, Item, Mark, Request
from .run_protocol import RunProtocol
from .run_state import RunState

#: Bytes that may wait for the Core, while it is there and while it is away; then the agent waits. All
#: runs that share a connection have them together, and each of these may have its share.
MOST_CONNECTED: Final = 8 * 1024 * 1024
MOST_AWAY: Final = 64 * 1024 * 1024


class Carrier(Protocol):
    """What carries a run: `shared_link.SharedLink`."""

    outboxes: dict[str, Outbox]

    @property
    def endpoint(self) -> Endpoint:
        """Where the Core is, or was last."""

    def signal(self, outbox: Outbox) -> None:
        """Something was put into an outbox."""

    def hurry(self) -> None:
        """What was signalled is to be written at once."""

    def forget(self, run: str) -> None:
        """A run is over."""

    def cut(self, outbox: Outbox) -> None:
        """Give up on a Core that is away, or doesn't let a run go."""


class Outbox:
    """The way out of a run. Its methods only put into queues, and may be called from anywhere."""

    def __init__(self) -> None:
        self.inbox: SimpleQueue[Item] = SimpleQueue()
        #: Bytes, of all batches that were ever put.
        self.queued = 0
        #: What is known of the run, and what carries it just now. Set before anything is put.
        self.protocol: RunProtocol
        self.link: Carrier

    @property
    def size(self) -> int:
        """Bytes that wait for the Core."""
        return self.queued - self.protocol.taken + self.protocol.buffer.size

    @property
    def full(self) -> bool:
        """Whether who sends should wait for room; what is put all the same is kept."""
        most = MOST_CONNECTED if self.protocol.state is RunState.OPEN else MOST_AWAY
        sharing = list(self.link.outboxes.values())
        if self.size * len(sharing) < most:
            return False
        return sum(each.size for each in sharing) >= most

    def put(self, batch: Batch) -> None:
        """Put a batch; what it takes is added to `queued` with it, by one thread at a time."""
        self.inbox.put(batch)
        self.link.signal(self)

    def hurry(self) -> None:
        """Write what was put at once."""
        self.link.hurry()

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

    def freed(self) -> None:
        """A breakpoint waits no more: the next may be asked, where one is asked at a time."""
        self._put_now(Freed())

    def _put_now(self, item: Item) -> None:
        self.inbox.put(item)
        self.link.signal(self)
        self.link.hurry()
