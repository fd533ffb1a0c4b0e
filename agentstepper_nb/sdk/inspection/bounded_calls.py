"""Code of the agent's own, such as a `__repr__`, called so that it can't harm: bounded in time, its
output caught.
"""

from __future__ import annotations

import contextvars
import ctypes
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, Final, Generic, NamedTuple, TypeVar

T = TypeVar("T")

#: The most characters of a call's output that are stored.
MAX_OUTPUT_CHARS: Final = 10_000


class CallTimedOutError(Exception):
    """Raised where a call exceeds its time; the call was interrupted, and may go on."""


class _AbandonedCall(BaseException):
    """Raised inside a call that took too long."""


class BoundedResult(NamedTuple, Generic[T]):
    """A call's result, and its output."""

    value: T
    output: str


class CallFailedError(Exception):
    """Raised where a call raised an exception.

    Args:
        error: The call's exception.
        output: The call's output before the exception.
    """

    def __init__(self, error: BaseException, output: str) -> None:
        super().__init__(error)
        self.error = error
        self.output = output


def call_bounded(
    function: Callable[[], T], timeout_s: float, context: contextvars.Context | None = None
) -> BoundedResult[T]:
    """Make a call on its own thread.

    Args:
        function: The call.
        timeout_s: Seconds that the call may take.
        context: The context that the call runs in, as a copy; None: an empty one.

    Returns:
        The call's value and its output.

    Raises:
        CallTimedOutError: The call takes longer. An exception ends it at its next step in Python.
        CallFailedError: The call raised an exception.
    """
    future: Future[BoundedResult[T]] = Future()
    context = contextvars.Context() if context is None else context.copy()
    thread = threading.Thread(
        target=context.run, args=(_run, function, future), name="agentstepper-value", daemon=True
    )
    thread.start()
    try:
        return future.result(timeout_s)
    except TimeoutError:
        if not future.done():
            _abandon(thread, future)
            raise CallTimedOutError from None
        return future.result()


def _run(function: Callable[[], T], future: Future[BoundedResult[T]]) -> None:
    texts: list[str] = []
    try:
        try:
            with _catch_output(texts):
                value = function()
            future.set_result(BoundedResult(value, _join(texts)))
        except BaseException as error:  # also what asks to end the process
            failed = CallFailedError(error, _join(texts))
            error.__traceback__ = None  # its frames are the agent's
            future.set_exception(failed)
    except _AbandonedCall:  # it came when the call had just ended
        pass


def _abandon(thread: threading.Thread, future: Future[Any]) -> None:
    if thread.ident is not None and thread.is_alive() and not future.done():
        ident, error = ctypes.c_ulong(thread.ident), ctypes.py_object(_AbandonedCall)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, error)


def _join(texts: list[str]) -> str:
    return "".join(texts)[:MAX_OUTPUT_CHARS]


# ---- output -------------------------------------------------------------------------------------------


class _ThreadOutput:
    """A text stream that stores what some threads write, and forwards what all others write.

    Args:
        stream: The stream that is replaced.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.texts_by_thread: dict[int, list[str]] = {}

    def write(self, text: str) -> int:
        """Keep a text, or pass it on."""
        texts = self.texts_by_thread.get(threading.get_ident())
        if texts is None:
            return int(self._stream.write(text) or 0)
        if sum(map(len, texts)) < MAX_OUTPUT_CHARS:
            texts.append(str(text)[:MAX_OUTPUT_CHARS])
        return len(text)

    def writelines(self, lines: Any) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


_lock: Final = threading.Lock()
#: Each stand-in that was ever made. `print` holds no reference to the stream that it writes to, so that
#: one which is let go meanwhile ends the process.
_outputs: Final[list[_ThreadOutput]] = []
_STREAM_NAMES: Final = ("stdout", "stderr")


@contextmanager
def _catch_output(texts: list[str]) -> Iterator[None]:
    """Keep what this thread writes to the standard streams; other threads' output goes its way."""
    ident = threading.get_ident()
    with _lock:
        for name in _STREAM_NAMES:
            output = _find_output(getattr(sys, name))
            output.texts_by_thread[ident] = texts
            setattr(sys, name, output)
    try:
        yield
    finally:
        with _lock:
            for name in _STREAM_NAMES:
                stream = getattr(sys, name)
                if isinstance(stream, _ThreadOutput):
                    stream.texts_by_thread.pop(ident, None)
                    if not stream.texts_by_thread:
                        setattr(sys, name, stream._stream)


def _find_output(stream: Any) -> _ThreadOutput:
    """The stand-in for an output stream, made on first use."""
    if isinstance(stream, _ThreadOutput):
        return stream
    for output in _outputs:
        if output._stream is stream:
            return output
    _outputs.append(_ThreadOutput(stream))
    return _outputs[-1]
