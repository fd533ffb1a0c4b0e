"""`StreamWrapper`: one stream for every source and reader, sync or async, on a thread or a loop."""

from __future__ import annotations

import asyncio
import threading
from abc import abstractmethod
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Callable,
    Coroutine,
    Generator,
    Iterable,
    Iterator,
    Sequence,
)
from functools import partial
from typing import Any, Final, Generic, Self, TypeVar

from ..protocol.chat import Message
from ..rpc.loop_thread import LoopThread
from ..sdk.drivers import run_in_thread, wait_result
from .connector import AnswerItems, ConfirmCallback, InterpreterABC, Item, TextReplacement, Turn
from .item_sources import END_OF_ITEMS, InlinePuller, LoopPuller, Puller, ThreadPuller
from .message_builder import MessageCollector

T = TypeVar("T")

_READ_TWICE: Final = "This stream can be read only once: ask for another answer to read it again."
_BLOCKS_OWN_LOOP: Final = (
    "This stream can't be read from its source's own event loop, which would wait for "
    "itself: read it with `async for`."
)


class StreamWrapper(Generic[T]):
    """A stream of answer items, from a sync or async source, for a sync or async reader.

    ::

        for message in StreamWrapper(pieces): ...

    `async for` reads it as well. The stream is read once, by one reader, and takes an item from the
    source only when the reader asks for one. However the reading ends (the source's end or error, a
    `break`, an interrupt, a cancelled task, `close`), the source is closed once; the source's own
    error is raised after its items. A sync source that an async reader reads runs on a thread. A
    cancelled reader doesn't wait for the source, which is closed at its next yield.

    Args:
        source: The source of the items. An async source that nobody read is closed by its `aclose`;
            for a generator that never began, that runs no code.
        loop: The event loop that an async source belongs to. None: the reader's loop; a sync reader
            gets a loop of its own.
    """

    def __init__(
        self,
        source: Iterable[T] | AsyncIterable[T],
        *,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self._source = source
        self._loop = loop
        self._collected = MessageCollector()
        self._puller_lock = threading.Lock()
        self._puller: Puller | None = None
        self._thread: LoopThread | None = None
        self._read = False
        self._ended = False

    @property
    def collected_messages(self) -> tuple[Message, ...]:
        """The newest messages of the stream; during the reading, those read so far."""
        return self._collected.messages

    # ---- reading ------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[T]:
        return self._items()

    def __aiter__(self) -> AsyncIterator[T]:
        return self._aitems()

    def _items(self) -> Generator[T, None, None]:
        puller = self._begin(sync=True)
        try:
            while (item := wait_result(puller.pull())) is not END_OF_ITEMS:
                self._collected.add(item)
                yield item
        finally:
            self.close()

    async def _aitems(self) -> AsyncGenerator[T, None]:
        puller = self._begin(sync=False)
        try:
            while (item := await asyncio.wrap_future(puller.pull())) is not END_OF_ITEMS:
                self._collected.add(item)
                yield item
        except asyncio.CancelledError:
            if isinstance(puller, ThreadPuller):
                puller.stop()  # nobody waits for a thread
                self._end()
            else:
                await self.aclose()
            raise
        except BaseException:
            await self.aclose()
            raise
        await self.aclose()

    # ---- the end ------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the stream, and wait until the source is closed. Idempotent, from any thread.

        It doesn't wait if it is called where the source itself runs. On the event loop that the
        source belongs to, use `aclose`.
        """
        puller = self._choose_puller(sync=True)
        over = puller.stop()
        if not puller.is_called_from_source():
            wait_result(over)
        self._end()

    async def aclose(self) -> None:
        """As `close`. If this is cancelled, the source closes by itself."""
        puller = self._choose_puller(sync=False)
        over = (
            await run_in_thread(puller.stop) if isinstance(puller, InlinePuller) else puller.stop()
        )
        await asyncio.wrap_future(over)
        self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()

    # ---- parts --------------------------------------------------------------------------------------

    def _choose_puller(self, *, sync: bool) -> Puller:
        """What pulls, by who asks first."""
        with self._puller_lock:
            if self._puller is None:
                self._puller = self._make_puller(sync)
            return self._puller

    def _make_puller(self, sync: bool) -> Puller:
        if not isinstance(self._source, AsyncIterable):
            return InlinePuller(self._source) if sync else ThreadPuller(self._source)
        if self._loop is None and not sync:
            self._loop = asyncio.get_running_loop()
        if self._loop is None:
            self._thread = LoopThread("agentstepper-stream")
            self._loop = self._thread.run(_running_loop)
        return LoopPuller(self._source, self._loop)

    def _begin(self, *, sync: bool) -> Puller:
        puller = self._choose_puller(sync=sync)
        if sync and puller.is_called_from_source():
            raise RuntimeError(_BLOCKS_OWN_LOOP)
        with self._puller_lock:
            if self._read:
                raise RuntimeError(_READ_TWICE)
            self._read = True
        return puller

    def _end(self) -> None:
        with self._puller_lock:
            ended, self._ended = self._ended, True
        if not ended:
            self._collected.close()
            if self._thread is not None:
                self._thread.close()


async def _running_loop() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()


class AnswerChannel:
    """Passes the output of a task to the reader of its answer, in order.

    Args:
        confirm: Makes the confirmation that asks the person.
    """

    def __init__(self, confirm: ConfirmCallback) -> None:
        self._item_queue: asyncio.Queue[Item | None] = asyncio.Queue()  # None: that was all
        self._confirm = confirm

    def send(self, item: Item) -> None:
        """There is more of the answer."""
        self._item_queue.put_nowait(item)

    def replace_text(self, text: str) -> None:
        """The text that was said last is this one, in truth."""
        self.send(TextReplacement(text))

    async def request_choice(self, text: str, choices: Sequence[str], details: Any = None) -> str:
        """Ask the person to choose, after all earlier output. Returns the choice."""
        await self._item_queue.join()
        return await self._confirm(text, choices, details=details)

    async def read(
        self, work: Callable[[], Coroutine[Any, Any, None]]
    ) -> AsyncGenerator[Item, None]:
        """Yield the answer's items, and raise the task's error at the end. Closing cancels the task.

        Args:
            work: Begins the task, when the first item is requested.
        """
        task = asyncio.create_task(work())
        task.add_done_callback(lambda _: self._item_queue.put_nowait(None))
        try:
            while (item := await self._item_queue.get()) is not None:
                yield item
                self._item_queue.task_done()
            task.result()
        finally:
            task.cancel()
            await asyncio.wait({task})
            if not task.cancelled():
                task.exception()  # heard, where nobody waits for it any more


class StreamingAgent(InterpreterABC):
    """The base class of agents whose answer is the output of a task, such as agents of models."""

    def chat(self, message: Message, turn: Turn) -> AnswerItems:
        """See `InterpreterABC.chat`."""
        channel = AnswerChannel(turn.confirm)
        return channel.read(partial(self.answer, message, turn, channel))

    @abstractmethod
    async def answer(self, message: Message, turn: Turn, channel: AnswerChannel) -> None:
        """Answer a message. Cancelling it ends the answer; it raises what ends the turn.

        Args:
            message: What to answer.
            turn: What there is beside it.
            channel: Whom to tell.
        """
