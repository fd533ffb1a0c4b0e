"""Who waits for what: a future for each breakpoint, request and mark."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Literal

#: What somebody waits for: an answer, or that what was sent has its place (`room`, `mark`).
Kind = Literal["breakpoint", "request", "room", "mark"]


class Waiting:
    """The futures of one link, by key. Whoever takes one completes it.

    Without a lock, by single operations on a dict: a signal's handler, or a finalizer in whatever
    thread collects garbage, may come here while somebody is here.

    Attributes:
        on_breakpoints: Called, on any thread, where a breakpoint begins to wait or waits no more.
        on_answered: Called, on any thread, where a breakpoint waits no more.
    """

    def __init__(self) -> None:
        self.on_breakpoints: Callable[[], None] = lambda: None
        self.on_answered: Callable[[], None] = lambda: None
        self._futures: dict[str, tuple[Kind, Future[Any]]] = {}

    def __len__(self) -> int:
        return len(self._futures)

    def expect(self, key: str, kind: Kind, check: Callable[[], None]) -> Future[Any]:
        """A future for what comes under a key.

        Args:
            key: A new one.
            kind: What it is.
            check: Raises where nothing will come any more; called so that no end falls between.
        """
        check()
        future = new_future()
        self._futures[key] = (kind, future)
        try:
            check()  # an end from here on finds it
        except BaseException:
            self.forget(key)
            raise
        if kind == "breakpoint":
            self.on_breakpoints()
        return future

    def has(self, key: str) -> bool:
        """Whether somebody waits for this."""
        return key in self._futures

    def forget(self, key: str) -> None:
        """Nobody waits for this any more."""
        self._pop(key)

    def give(self, key: str | None, value: Any) -> None:
        """Give a value, or raise an exception, to whoever waits for a key.

        Args:
            key: The key. None is an answer to a message that can't be told: if only one waits, it was
                that one's.
            value: The value, or the exception.
        """
        future = self._take(key)
        if future is None:
            return  # withdrawn, or nobody waited
        if isinstance(value, BaseException):
            future.set_exception(value)
        else:
            future.set_result(value)

    def breakpoints(self) -> list[str]:
        """The breakpoints that wait for their answers."""
        return [key for key, (kind, _) in self._futures.copy().items() if kind == "breakpoint"]

    def end(self, over: Callable[[], None]) -> list[Future[Any]]:
        """Give up all that wait: they are the caller's to complete.

        Args:
            over: Lets the checks of `expect` raise from now on.
        """
        over()
        left = map(self._take, list(self._futures))
        return [future for future in left if future is not None]

    def _take(self, key: str | None) -> Future[Any] | None:
        if key is None:
            asking = [
                key
                for key, (kind, _) in self._futures.copy().items()
                if kind in ("breakpoint", "request")
            ]
            if len(asking) != 1:
                return None
            key = asking[0]
        return self._pop(key)

    def _pop(self, key: str) -> Future[Any] | None:
        kind, future = self._futures.pop(key, (None, None))
        if kind == "breakpoint":
            self.on_breakpoints()
            self.on_answered()
        return future


def new_future() -> Future[Any]:
    """A future that can't be cancelled: an awaiting task that gives up must not break its giver."""
    future: Future[Any] = Future()
    future.set_running_or_notify_cancel()
    return future
