"""Calls a function on a thread of its own, while this thread waits interruptibly or detaches the call.

A kernel's main thread runs an event loop, so that `asyncio.run` and `anyio.run` refuse to work there;
on a thread of its own, a cell can use both.
"""

from __future__ import annotations

import asyncio
import contextvars
import ctypes
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import FrameType
from typing import Generic, Protocol, TypeVar

Value = TypeVar("Value")

#: Seconds that an interrupted call may take to end before it is detached.
INTERRUPT_TIMEOUT_S = 3.0


class CellWait(Protocol):
    """Decides how long a thread waits for its call on another thread."""

    detach_reason: str  #: why the call was let go on alone, where that is to be said

    def wait(self) -> None:
        """Return once the call has ended, or to detach the call."""

    def notify_ended(self) -> None:
        """Handle the call's end. Called on the call's thread."""


class CellThread(Generic[Value]):
    """A call on a thread of its own.

    The thread has a copy of the caller's context, by which ipykernel finds the cell of an output.

    Args:
        call: The function to call.
        on_detached_end: Called on that thread when a detached call ends, with its value or its error.
    """

    def __init__(
        self,
        call: Callable[[], Value],
        on_detached_end: Callable[
            [Value | None, BaseException | None], None
        ] = lambda value, error: None,
    ) -> None:
        self._call = call
        self._on_detached_end = on_detached_end
        self._wait: CellWait | None = None
        self._value: Value | None = None
        self._error: BaseException | None = None
        self._done = threading.Event()
        self._lock = threading.Lock()  # guards the four below
        self._ident: int | None = None  # of the thread, once it has begun
        self._has_ended = False  # no interrupt may come any more
        self._is_interrupted = False
        self._is_detached = False  # the call goes on alone, and nobody waits for its end
        context = contextvars.copy_context()
        self._thread = threading.Thread(
            target=context.run, args=(self._run,), name="agentstepper cell", daemon=True
        )

    @property
    def is_detached(self) -> bool:
        """Whether the call is detached: it continues while the caller doesn't wait."""
        return self._is_detached

    def run(self, wait: CellWait | None = None) -> Value | None:
        """Make the call and wait for its end. Returns its value, or raises its exception.

        Args:
            wait: Waits instead. If it returns before the call's end, the call is detached.

        Returns:
            The call's value; None if it is detached.

        Raises:
            KeyboardInterrupt: This thread was interrupted, and the call with it. If the call can't be
                interrupted in time, it is detached; the exception's note says where it is.
        """
        __tracebackhide__ = True
        self._wait = wait
        try:
            self._thread.start()
            if wait is None:
                self._done.wait()
            else:
                wait.wait()
                if self._detach():
                    return None
        except KeyboardInterrupt as interrupt:
            self._stop(interrupt)
            raise self._end_of(interrupt) from None
        if self._error is not None:
            try:
                raise self._error
            finally:
                self._error = None  # its traceback leads to here, and would keep itself alive
        return self._value

    def _detach(self) -> bool:
        """Detach the call, unless it has ended."""
        with self._lock:
            self._is_detached = not self._done.is_set()
            return self._is_detached

    def _run(self) -> None:
        __tracebackhide__ = True
        try:
            if not self._begin():
                return
            try:
                self._value = self._call()
            except BaseException as error:
                self._error = error
            self._finish()
        except KeyboardInterrupt as error:  # it came when the call had just ended
            self._error = self._error or error
        finally:
            with self._lock:
                self._done.set()
            if self._wait is not None:
                self._wait.notify_ended()
            if self._is_detached:
                self._on_detached_end(self._value, self._error)

    def _begin(self) -> bool:
        with self._lock:
            self._ident = threading.get_ident()
            return not self._has_ended

    def _finish(self) -> None:
        with self._lock:
            self._has_ended = True
            if self._is_interrupted:
                # Python 3.11 looks for ever for an exception that is taken back before it is raised,
                # and lets threads hang that are traced: so it is raised.
                with suppress(KeyboardInterrupt):
                    for _ in range(1000):
                        pass

    def _stop(self, interrupt: KeyboardInterrupt) -> None:
        """Interrupt the call and give it time to end, until this thread is interrupted again."""
        try:
            self._interrupt()
            has_ended = self._done.wait(INTERRUPT_TIMEOUT_S)
        except KeyboardInterrupt:
            has_ended = False
        if not has_ended:
            interrupt.add_note(
                "The cell's thread continues in the background until a call returns that "
                f"Python can't interrupt: {_describe_position(self._ident)}."
            )

    def _interrupt(self) -> None:
        with self._lock:
            ident = self._ident
            if ident is None:  # not begun, and now it won't
                self._has_ended = True
                self._done.set()
            if self._has_ended or ident is None:
                return
            self._is_interrupted = True
            _raise_in(ident, KeyboardInterrupt)
        _wake(ident)

    def _end_of(self, interrupt: KeyboardInterrupt) -> KeyboardInterrupt:
        """Return the call's own interrupt, whose traceback shows the agent's line, or else this one."""
        if isinstance(self._error, KeyboardInterrupt):
            return self._error
        return interrupt.with_traceback(None)


def _raise_in(ident: int, kind: type[BaseException]) -> None:
    """Raise an exception in another thread at its next Python instruction."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), ctypes.py_object(kind))


def _frames(ident: int | None) -> Iterator[FrameType]:
    """The frames of a thread, innermost first."""
    frame = sys._current_frames().get(ident or 0)
    while frame is not None:
        yield frame
        frame = frame.f_back


def _wake(ident: int) -> None:
    """Wake a thread that sleeps in a C call, so that it raises its pending exception.

    The thread can be woken in an event loop or a condition, as under an event, a queue, or a future such
    as that of a halt point's answer. Sleep and the network can't be woken.
    """
    for frame in _frames(ident):
        owner = frame.f_locals.get("self")
        if isinstance(owner, threading.Condition):
            if owner.acquire(timeout=1):
                owner.notify_all()
                owner.release()
        elif isinstance(owner, asyncio.AbstractEventLoop) and owner.is_running():
            owner.call_soon_threadsafe(lambda: None)


def _describe_position(ident: int | None) -> str:
    for frame in _frames(ident):
        return f"{frame.f_code.co_filename}, line {frame.f_lineno}, in {frame.f_code.co_name}"
    return "it has just ended"
