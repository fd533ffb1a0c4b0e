"""Forks programs for `forked_python`, each from this process, which has imported what they need.

Started with the address where it listens, and the modules to import. It ends with its standard input.
"""

from __future__ import annotations

import ast
import asyncio
import atexit
import contextlib
import fcntl
import gc
import importlib
import inspect
import json
import os
import runpy
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import termios
import threading
import traceback
import types
from collections.abc import Mapping, Sequence
from contextvars import Context
from pathlib import Path
from typing import Any, Final, NoReturn

from tests.helpers.forked_python import (
    NUMBER,
    TOP_LEVEL_AWAIT,
    ForkedPopen,
    is_forkable,
    receive,
    split_options,
)

_FIRST_FREE_DESCRIPTOR: Final = 200
#: Where every program looks for modules.
_PATHS: Final = sys.path[1:]


class _Server:
    """Forks a program for each connection, and answers its process id, then its status.

    `serve` returns once who started it is gone.
    """

    def __init__(self, address: str) -> None:
        self._selector = selectors.DefaultSelector()
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(address)
        self._listener.listen(100)
        self._signals, self._wakeup = socket.socketpair()
        for each in (self._signals, self._wakeup):
            each.setblocking(False)
        signal.set_wakeup_fd(self._wakeup.fileno())
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        for file in (self._listener, self._signals, 0):
            self._selector.register(file, selectors.EVENT_READ)
        self._running: dict[int, socket.socket] = {}
        print("listening", flush=True)

    def serve(self) -> None:
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._listener:
                    self._fork(self._listener.accept()[0])
                elif key.fileobj is self._signals:
                    self._signals.recv(1000)
                    self._send_statuses()
                else:
                    return

    def _fork(self, connection: socket.socket) -> None:
        head, descriptors, _, _ = socket.recv_fds(connection, NUMBER.size, 100)
        request = json.loads(receive(connection, *NUMBER.unpack(head)))
        _import(request["imported"])
        child = os.fork()
        if not child:
            connection.close()
            self._leave()
            _become(request, descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        self._running[child] = connection
        connection.sendall(NUMBER.pack(child))

    def _leave(self) -> None:
        """Close in a program what is the server's."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._selector.close()
        for each in (self._listener, self._signals, self._wakeup, *self._running.values()):
            each.close()

    def _send_statuses(self) -> None:
        while self._running:
            child, status = os.waitpid(-1, os.WNOHANG)
            if not child:
                return
            with self._running.pop(child) as connection, contextlib.suppress(OSError):
                connection.sendall(NUMBER.pack(status))


def _import(names: Sequence[str]) -> None:
    if sys.modules.keys() >= set(names):
        return
    for name in names:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # else its collections copy all of this process


def _put_descriptors(given: Sequence[int], wanted: Sequence[int]) -> None:
    held = [fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE_DESCRIPTOR) for each in given]
    for each in given:
        os.close(each)
    for each, number in zip(held, wanted, strict=True):
        os.dup2(each, number)
        os.close(each)


# ---- a program ----------------------------------------------------------------------------------------


class _ReplacedError(BaseException):
    """A program has replaced itself by another one of this interpreter."""

    def __init__(self, words: Sequence[str], environment: Mapping[str, str]) -> None:
        self.words = words
        self.environment = environment


_replace_process = os.execvpe


def _replace(file: Any, words: Sequence[str], environment: Mapping[str, str]) -> NoReturn:
    if is_forkable(words):
        raise _ReplacedError(words, environment)
    _replace_process(file, list(words), environment)


def _become(request: Mapping[str, Any], descriptors: Sequence[int]) -> NoReturn:
    """Run a program in this process, which was forked for it."""
    _put_descriptors(descriptors, [0, 1, 2, *request["inherited"]])
    Context().run(_run, request)
    raise AssertionError  # it ends the process


def _run(request: Mapping[str, Any]) -> NoReturn:
    """Run a program to its end, and end as Python does; but memory is left as it is, not copied."""
    os.execvpe = _replace  # type: ignore[assignment]
    ForkedPopen.forked[:] = [_become]
    subprocess.Popen = ForkedPopen  # type: ignore[misc]
    os.chdir(request["cwd"])
    if request["new_session"]:
        os.setsid()
        if os.isatty(0):
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    words, environment = request["words"], request["environment"]
    code: int | None = None
    while code is None:
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_IGN)  # as Python begins
        try:
            code = _run_python(words, environment)
        except _ReplacedError as replaced:
            words, environment = replaced.words, replaced.environment
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code & 0xFF)


def _run_python(words: Sequence[str], environment: Mapping[str, str]) -> int | None:
    """Run a program; its exit code, or the number of the signal that ends it, negative."""
    os.environ.clear()
    os.environ.update(environment)
    sys.orig_argv = list(words)
    sys.dont_write_bytecode = bool(environment.get("PYTHONDONTWRITEBYTECODE"))
    options, rest = split_options(words)
    is_unbuffered = bool(environment.get("PYTHONUNBUFFERED")) or "-u" in options
    _open_streams(environment.get("PYTHONIOENCODING"), is_unbuffered)
    more = [path for path in environment.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.path[:] = [*more, *_PATHS]
    importlib.invalidate_caches()
    for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
        del sys.modules[name]  # a program may have its own
    try:
        sys.modules.pop("sitecustomize", None)
        with contextlib.suppress(ModuleNotFoundError):
            importlib.import_module("sitecustomize")
        _run_main(rest, options)
    except _ReplacedError:
        raise
    except SystemExit as exited:
        if isinstance(exited.code, int | None):
            return exited.code or 0
        print(exited.code, file=sys.stderr)
        return 1
    except BaseException as error:
        _show(error)
        return -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _open_streams(encoding: str | None, is_unbuffered: bool) -> None:
    """Open the standard streams as Python does: the server's are other ones."""
    sys.stdin = sys.__stdin__ = os.fdopen(0, encoding=encoding, closefd=False)  # type: ignore[misc]
    out = os.fdopen(1, "w", encoding=encoding, closefd=False)
    errors = os.fdopen(2, "w", 1, encoding=encoding, errors="backslashreplace", closefd=False)
    for stream in (out, errors):
        stream.reconfigure(write_through=is_unbuffered)
    sys.stdout = sys.__stdout__ = out  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = errors  # type: ignore[misc]


def _run_main(words: Sequence[str], options: Sequence[str]) -> None:
    is_safe = "-P" in options
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT if TOP_LEVEL_AWAIT in options else 0
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    main.__dict__["__builtins__"] = __builtins__
    if words[0] == "-m":
        sys.argv = ["-m", *words[2:]]
        sys.path[:0] = [] if is_safe else [os.getcwd()]
        sys.modules.pop(words[1], None)  # else a warning says that it was imported
        runpy._run_module_as_main(words[1])  # type: ignore[attr-defined]
        return
    if words[0] == "-c":
        sys.argv = ["-c", *words[2:]]
        sys.path[:0] = [] if is_safe else [""]
        code = compile(words[1], "<string>", "exec", flags, dont_inherit=True)
    else:
        sys.argv = list(words)
        path = Path(words[0]).absolute()
        sys.path[:0] = [] if is_safe else [str(path.parent)]
        main.__file__ = str(path)
        code = compile(path.read_bytes(), str(path), "exec", flags, dont_inherit=True)
    if code.co_flags & inspect.CO_COROUTINE:
        asyncio.run(eval(code, main.__dict__))
    else:
        exec(code, main.__dict__)


def _show(error: BaseException) -> None:
    """Let the program's own hook show an exception, without the frames of this file."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    error.__traceback__ = trace
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, trace
    try:
        sys.excepthook(type(error), error, trace)
    except BaseException:
        traceback.print_exc()


if __name__ == "__main__":
    _import(sys.argv[2:])
    _Server(sys.argv[1]).serve()
    shutil.rmtree(Path(sys.argv[1]).parent)
