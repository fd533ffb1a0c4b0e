"""The queue of a run's messages until the Core stores them, and the futures that wait for the Core.

The Core may ask about a halt point that waits: whether an edit fits, its stack, another sample.
"""

from __future__ import annotations

import contextvars
import threading
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar

from msgspec import UNSET, Struct
from msgspec.structs import replace

from ..protocol.agent import (
    AgentMessage,
    Bye,
    CheckEdit,
    EditChecked,
    EventBegun,
    GetTimeline,
    HaltPointReached,
)
from ..protocol.breakpoint_rules import Price
from ..protocol.inspection import InspectHaltPoint
from ..protocol.query_samples import RequestSample
from .agent_frames import HaltedThread
from .delta_messages import FRAME_BYTES, DeltaMessage, DeltaPartPool
from .flow_effects import EditCheck
from .inspection.inspector import HaltInspector
from .inspection.pdb_entry import enter_pdb
from .payload import PayloadEncoder
from .query_samples import HaltedSamplers, QuerySampler

T = TypeVar("T")

#: Bytes that keeping a message takes, beside its text.
_ENTRY_BYTES: Final = 64


# ---- who waits --------------------------------------------------------------------------------------

#: The purpose of a future: an answer, or space for data in the queue (`room`, `mark`).
FutureKind = Literal["halt_point", "request", "room", "mark"]


class UncancellableFuture(Future[T]):
    """A future whose awaiting task may give up without an error for the thread that completes it."""

    def cancel(self) -> bool:
        """Refuse: the future gets its value all the same."""
        return False


class PendingFutures:
    """The futures of one link, by key. The code that takes a future completes it.

    Without a lock, by single operations on a dict: a signal's handler, or a finalizer on the thread
    that collects garbage, may run these methods while they run already.

    Attributes:
        on_waiting_halt_points: Called, on any thread, where a halt point begins or ends to wait.
        on_answered: Called, on any thread, where a halt point no longer waits.
    """

    def __init__(self) -> None:
        self.on_waiting_halt_points: Callable[[], None] = lambda: None
        self.on_answered: Callable[[], None] = lambda: None
        self._futures: dict[str, tuple[FutureKind, Future[Any]]] = {}

    def __len__(self) -> int:
        return len(self._futures)

    def expect(self, key: str, kind: FutureKind, check: Callable[[], None]) -> Future[Any]:
        """A future for the value under a key.

        Args:
            key: A new key.
            kind: The purpose of the future.
            check: Raises where no value will come any more; called before and after registration.
        """
        check()
        future = UncancellableFuture[Any]()
        self._futures[key] = (kind, future)
        try:
            check()  # an end from here on finds it
        except BaseException:
            self.forget(key)
            raise
        if kind == "halt_point":
            self.on_waiting_halt_points()
        return future

    def has(self, key: str) -> bool:
        """Whether a future waits under this key."""
        return key in self._futures

    def forget(self, key: str) -> None:
        """Nobody waits for this any more."""
        self._pop(key)

    def complete(self, key: str | None, value: Any) -> None:
        """Complete the future of a key with a value or an exception.

        Args:
            key: The key. None answers a message that is unknown: if a single future waits, the answer
                is for this one.
            value: The value, or the exception.
        """
        future = self._pop_single() if key is None else self._pop(key)
        if future is None:
            return  # withdrawn, or nobody waited
        if isinstance(value, BaseException):
            future.set_exception(value)
        else:
            future.set_result(value)

    def halt_points(self) -> list[str]:
        """The halt points that wait for their answers."""
        return [key for key, (kind, _) in self._futures.copy().items() if kind == "halt_point"]

    def end(self, on_end: Callable[[], None]) -> list[Future[Any]]:
        """Give up all that wait: they are the caller's to complete.

        Args:
            on_end: Lets the checks of `expect` raise from now on.
        """
        on_end()
        left = map(self._pop, list(self._futures))
        return [future for future in left if future is not None]

    def _pop_single(self) -> Future[Any] | None:
        """The one that waits for an answer; None where several do."""
        waiting = self._futures.copy().items()
        waiting_keys = [key for key, (kind, _) in waiting if kind in ("halt_point", "request")]
        return self._pop(waiting_keys[0]) if len(waiting_keys) == 1 else None

    def _pop(self, key: str) -> Future[Any] | None:
        kind, future = self._futures.pop(key, (None, None))
        if kind == "halt_point":
            self.on_waiting_halt_points()
            self.on_answered()
        return future


class HaltQuestions:
    """Answers the Core's requests about the waiting halt points of one run.

    The link's threads wait for no answer: the agent's validators and `__repr__` may take long.

    Args:
        encoder: Encodes the agent's values for sending.
        is_inspection_allowed: Whether a person may look at the agent's stack.
        find_prices: The prices in force.
        send: Sends an answer.
    """

    def __init__(
        self,
        encoder: PayloadEncoder,
        is_inspection_allowed: bool,
        find_prices: Callable[[], Iterable[Price]],
        send: Callable[[AgentMessage], None],
    ) -> None:
        self._send = send
        #: The edit check of each waiting halt point, and its context.
        self._edit_checks: dict[str, tuple[contextvars.Context, EditCheck]] = {}
        #: The thread or task of each waiting halt point that a person may inspect.
        self._halted: dict[str, HaltedThread] = {}
        self._inspector = HaltInspector(encoder, is_inspection_allowed, self._halted.get, send)
        self._samplers = HaltedSamplers(find_prices, send)

    def expect_edit(self, halt_point: str, check: EditCheck) -> None:
        """An edit of a halt point is checked by this, in a copy of this context, until `end`."""
        self._edit_checks[halt_point] = contextvars.copy_context(), check

    def begin(self, halt_point: str, is_task: bool, sampler: QuerySampler | None = None) -> None:
        """Register the halt point at which this thread, or its task, is about to wait.

        Args:
            halt_point: The id of the halt point.
            is_task: Whether the task waits.
            sampler: Resamples the halt point's query.
        """
        if sampler is not None:
            self._samplers.begin(halt_point, sampler)
        if self._inspector.is_allowed and halt_point not in self._halted:
            self._halted[halt_point] = HaltedThread(is_task)

    def end(self, halt_point: str, is_answered: bool) -> None:
        """Nobody waits at a halt point any more; on the thread that did."""
        self._edit_checks.pop(halt_point, None)
        if halt_point in self._samplers.waiting:
            self._samplers.end(halt_point)
        halted = self._halted.pop(halt_point, None)
        if is_answered and halted is not None and halted.enters_pdb:
            enter_pdb()

    def on_inspection(self, request: InspectHaltPoint | RequestSample) -> None:
        """Handle a person's request to inspect a halt point, or to resample its query."""
        if isinstance(request, RequestSample):
            self._samplers.on_request(request)
        else:
            self._inspector.inspect(request)

    def on_edit_check(self, request: CheckEdit) -> None:
        """Handle the Core's question whether an edit is valid."""
        found = self._edit_checks.get(request.halt_point)
        # Each edit can be taken, or it waits no more, as the Core is about to see.
        if found is None:
            self._send(EditChecked(check=request.check))
            return
        threading.Thread(
            target=self._check_edit, args=(request, *found), name="agentstepper-check", daemon=True
        ).start()

    def _check_edit(
        self, request: CheckEdit, context: contextvars.Context, check: EditCheck
    ) -> None:
        refusal = context.copy().run(check, request.data)
        self._send(EditChecked(check=request.check, refusal=refusal))


# ---- what stands in the queue -----------------------------------------------------------------------


class MessageBatch(Struct, frozen=True):
    """Messages that are sent with no other between them."""

    messages: tuple[AgentMessage, ...]
    size: int  # about, in bytes
    halt_point: str | None = None  # that somebody waits at: for its answer, or for room


@dataclass(frozen=True)
class QueuedRequest:
    """A request to the Core that is answered under an id."""

    id: str
    message: GetTimeline


@dataclass(frozen=True)
class FlushMarker:
    """A mark in the queue whose future is done once the mark is reached."""

    key: str


@dataclass(frozen=True)
class QueueEnd:
    """The run's goodbye."""

    bye: Bye


@dataclass(frozen=True)
class HaltReleased:
    """A halt point no longer waits: a Core that accepts one at a time may get the next."""


QueueItem = MessageBatch | QueuedRequest | FlushMarker | QueueEnd | HaltReleased


def count_messages(item: QueueItem) -> int:
    """The number of messages in a queue item."""
    match item:
        case MessageBatch(messages=messages):
            return len(messages)
        case QueuedRequest() | QueueEnd():
            return 1
    return 0


def estimate_bytes(messages: tuple[AgentMessage, ...]) -> int:
    """The approximate bytes of messages. Messages whose writing the agent awaits need no exactness."""
    size = FRAME_BYTES * len(messages)
    last = messages[-1]
    if isinstance(last, HaltPointReached | EventBegun) and last.data is not UNSET:
        size += memoryview(last.data).nbytes
    return size


def waits_for_answer(message: AgentMessage) -> bool:
    """Whether a message is a halt point at which its agent waits."""
    return isinstance(message, HaltPointReached) and message.waits


def drop_wait(message: AgentMessage) -> AgentMessage:
    """The message with `waits` set to False, as its agent goes on at once."""
    return replace(message, waits=False) if waits_for_answer(message) else message


# ---- what is kept until it is acknowledged ------------------------------------------------------------


class ResendBuffer:
    """One run's numbered messages after its hello, until the Core acknowledges that it stored them."""

    def __init__(self) -> None:
        self._queue: deque[bytes | DeltaMessage] = deque()
        # Bytes of all messages up to each of these, joined.
        self._cumulative_bytes: deque[int] = deque()
        self._cumulative_forgotten_bytes = 0
        self._size = 0  # of the messages that aren't in pieces
        self._pool = DeltaPartPool()
        #: The number of the newest message; hello itself is number 1.
        self.last = 1
        self._forgotten = 1  # the last number that isn't kept here
        self._acknowledged = 0

    @property
    def acknowledged(self) -> int:
        """The number of the last message that the Core acknowledged; 0 where it acknowledged none."""
        return self._acknowledged

    @property
    def size(self) -> int:
        """Bytes that are held. What several messages have in common counts once."""
        return self._size + self._pool.size + _ENTRY_BYTES * len(self._queue)

    def __len__(self) -> int:
        return len(self._queue)

    def add(self, message: bytes | DeltaMessage) -> None:
        """Store the next message, whose number is `last + 1`."""
        if isinstance(message, DeltaMessage):
            size = message.size
            message = self._pool.share(message)
        else:
            size = len(message)
            self._size += size
        self.last += 1
        self._queue.append(message)
        self._cumulative_bytes.append(
            size
            + (
                self._cumulative_bytes[-1]
                if self._cumulative_bytes
                else self._cumulative_forgotten_bytes
            )
        )

    def acknowledge(self, number: int) -> None:
        """Drop all messages up to a number: the Core has stored them."""
        self._acknowledged = max(self._acknowledged, min(number, self.last))
        while self._forgotten < self._acknowledged:
            message = self._queue.popleft()
            if isinstance(message, DeltaMessage):
                self._pool.release(message)
            else:
                self._size -= len(message)
            self._cumulative_forgotten_bytes = self._cumulative_bytes.popleft()
            self._forgotten += 1

    def next_after(
        self, written: int, window_bytes: int
    ) -> tuple[int, bytes | DeltaMessage] | None:
        """The first stored message after a number, and its own number.

        Args:
            written: The number of the last message that was written.
            window_bytes: Bytes, joined, that may be written and not acknowledged.

        Returns:
            None at the end, and where the window is full.
        """
        index = max(written - self._forgotten, 0)
        if index >= len(self._queue):
            return None
        if index:
            at_hand_bytes = self._cumulative_bytes[index - 1] - self._cumulative_forgotten_bytes
            if at_hand_bytes >= window_bytes:
                return None
        return self._forgotten + index + 1, self._queue[index]

    def clear(self) -> None:
        """Drop all messages: no Core will ever accept them."""
        self._forgotten = self.last
        self._queue.clear()
        self._cumulative_bytes.clear()
        self._pool.clear()
        self._size = 0
