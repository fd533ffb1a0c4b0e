"""Prints a child process's output in this process as it arrives."""

from __future__ import annotations

import codecs
import contextvars
import logging
import os
import selectors
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Final, TextIO

log = logging.getLogger("agentstepper_nb.sdk")

_CHUNK_BYTES: Final = 64 * 1024
#: Seconds of silence after which written text is flushed: each flush is a message of the kernel, and
#: Jupyter drops messages above a thousand a second.
_QUIET_S: Final = 0.015


def copy_output(process: subprocess.Popen[bytes]) -> threading.Thread:
    """Copy a process's two streams to this moment's `sys.stdout` and `sys.stderr`.

    Returns:
        The thread that does it, which ends with the streams.
    """
    # A copied context: by it ipykernel tells whose cell is printed to.
    context = contextvars.copy_context()
    sinks = (_Sink(sys.stdout), _Sink(sys.stderr))
    thread = threading.Thread(
        target=context.run, args=(_copy, process, sinks), name="agentstepper-output", daemon=True
    )
    thread.start()
    return thread


class _Sink:
    """The destination of one output stream.

    Args:
        out: The stream to write to; None, as in a program without a console: output is dropped.
    """

    def __init__(self, out: TextIO | None) -> None:
        self._out = out
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def write(self, data: bytes) -> None:
        """Write received bytes; no bytes mean the end of the stream."""
        text = self._decoder.decode(data, final=not data)
        if self._out is not None and text:
            self._try(self._out.write, text)

    def flush(self) -> None:
        """Let it be seen."""
        if self._out is not None:
            self._try(self._out.flush)

    def _try(self, call: Callable[..., object], *args: str) -> None:
        """Call, and never fail: the child would wait for a reader."""
        try:
            call(*args)
        except Exception as error:  # closed, or somebody's own kind of file
            log.warning(
                "The output of a child process can't be written, since its cell or terminal "
                "is gone: %r",
                error,
            )
            self._out = None


def _copy(process: subprocess.Popen[bytes], sinks: tuple[_Sink, _Sink]) -> None:
    unseen = False
    with selectors.DefaultSelector() as selector:
        for pipe, sink in zip((process.stdout, process.stderr), sinks, strict=True):
            assert pipe is not None
            selector.register(pipe, selectors.EVENT_READ, (pipe, sink))
        while selector.get_map():
            ready = selector.select(_QUIET_S if unseen else None)
            unseen = bool(ready)
            if not ready:
                _flush(sinks)
            for key, _ in ready:
                pipe, sink = key.data
                data = os.read(key.fd, _CHUNK_BYTES)
                sink.write(data)
                if not data:
                    selector.unregister(pipe)
                    pipe.close()
    _flush(sinks)


def _flush(sinks: tuple[_Sink, _Sink]) -> None:
    for sink in sinks:
        sink.flush()
