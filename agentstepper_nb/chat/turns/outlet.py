"""What a turn says, for whoever asked for it, who may read it, or not."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from typing import Final

from msgspec.structs import replace

from ...protocol.chat import Message
from ..conversation import MOST_HELD, size

#: What waits for a reader, in characters and bytes; of more, the oldest messages go.
MOST: Final = MOST_HELD
#: What a message takes beside that.
_LEAST: Final = 500


class Outlet:
    """Messages as they are said: pieces with `final` false, and at last each whole.

    Pieces that nobody has read yet are one; a whole message stands in the place of its unread pieces. So
    who doesn't read holds nothing up, and costs little. All of it is the interpreter's event loop's.

    Args:
        cancel: Ends the turn.
    """

    def __init__(self, cancel: Callable[[], None]) -> None:
        self._cancel = cancel
        self._unread: OrderedDict[str, _Unread] = OrderedDict()
        self._held = 0
        self._over = False
        self._there = asyncio.Event()

    # ---- the turn's side ----------------------------------------------------------------------------

    def put(self, message: Message) -> None:
        """Something is said."""
        if self._over:
            return
        unread = self._unread.get(message.id)
        if unread is None or message.final:
            self._held -= 0 if unread is None else unread.held
            unread = self._unread[message.id] = _Unread(message)  # in the place that it had
            self._held += unread.held
        else:
            self._held += unread.grow(message)
        while self._held > MOST and len(self._unread) > 1:
            self._take()
        self._there.set()

    def end(self) -> None:
        """The turn has ended: what is unread may still be read. Idempotent."""
        self._over = True
        self._there.set()

    # ---- the reader's -------------------------------------------------------------------------------

    def __aiter__(self) -> AsyncIterator[Message]:
        return self

    async def __anext__(self) -> Message:
        while not self._unread:
            if self._over:
                raise StopAsyncIteration
            self._there.clear()
            await self._there.wait()
        return self._take().whole()

    async def aclose(self) -> None:
        """Nobody wants the rest: the turn ends, where it hasn't. Idempotent."""
        over = self._over
        self._unread.clear()
        self.end()
        if not over:
            self._cancel()

    def _take(self) -> _Unread:
        _, unread = self._unread.popitem(last=False)
        self._held -= unread.held
        return unread


class _Unread:
    """A message that nobody has read: whole, or some pieces of it.

    Args:
        message: It, or its first piece.
    """

    def __init__(self, message: Message) -> None:
        self.held = _LEAST + size(message)
        self._message = message
        self._parts = [message.content]

    def grow(self, piece: Message) -> int:
        """There is another piece; gives what it takes."""
        self._parts.append(piece.content)
        self.held += size(piece)
        return size(piece)

    def whole(self) -> Message:
        """What is there of it, as one."""
        if len(self._parts) == 1:
            return self._message
        return replace(self._message, content="".join(self._parts))
