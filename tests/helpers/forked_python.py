"""Python processes that are forked from one that has imported what they need.

A Python that is started anew imports the package for longer than most tests' programs run. `ForkedPopen`
starts those of this interpreter by `fork_server`. A program's arguments, environment, folder,
descriptors, signals, exit code and process id are those of a program that was started anew, and so is
what `os.execvpe` makes of it; other programs are started as always.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import inspect
import json
import os
import selectors
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from asyncio import _get_running_loop
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final, NoReturn

ROOT: Final = Path(__file__).parents[2]
#: What a program of these tests imports, but for what attaches to it.
IMPORTED: Final = (
    "agentstepper_nb.cli.run_again",
    "agentstepper_nb.cli.bisect_reports",
    "agentstepper_nb.history",
    "agentstepper_nb.instrument.terminal_notices",
    "agentstepper_nb.replay.pytest_export",
    "agentstepper_nb.sdk",
    "httpx",
    "pytest",
)
#: What asking a model imports.
_MODELS: Final = (
    "agentstepper_nb.models.openai",
    "agentstepper_nb.models.scripted.provider",
    "anyio._backends._asyncio",
    "h11",
    "openai.resources",
)
#: What a command imports, by the first of these words in it: all of it is there when it is forked.
_COMMAND_IMPORTS: Final[Mapping[str, Sequence[str]]] = {
    "": (),
    "serve": (
        "agentstepper_nb.cli.serve",
        "agentstepper_nb.hub.runtime.service",
        "agentstepper_nb.store.runtime.sqlite",
    ),
    "worker": (
        "agentstepper_nb.cli.worker",
        "agentstepper_nb.coding.service",
        "agentstepper_nb.coding.moniker",
        "agentstepper_nb.runtime.service",
        "agentstepper_nb.runtime.debugged_run",
        "agentstepper_nb.runtime.monikers.joke",
        "agentstepper_nb.runtime.monikers.llm",
        "agentstepper_nb.runtime.session_agent",
        "agentstepper_nb.worker.run_relay",
        *_MODELS,
    ),
    "step": (
        "agentstepper_nb.cli.step",
        "agentstepper_nb.cli.line_editor",
        "prompt_toolkit.shortcuts",
    ),
    "code": (
        "agentstepper_nb.cli.code",
        "agentstepper_nb.coding.session",
        *_MODELS,
        "prompt_toolkit.shortcuts",
    ),
    "chat": (
        "agentstepper_nb.chat.interpreter",
        "agentstepper_nb.chat.sessions",
        "agentstepper_nb.cli.chat",
        "prompt_toolkit.shortcuts",
    ),
    "run": ("agentstepper_nb.cli.run", "agentstepper_nb.sdk"),
    "doctor": ("agentstepper_nb.cli.doctor",),
    "project": ("agentstepper_nb.cli.project", "lancedb", "pandas"),
    "import-lance": ("agentstepper_nb.cli.import_lance", "lancedb"),
    "tests.crash_recovery.agent": ("agentstepper_nb.sdk",),
}
#: Lets a program's top level await, as a notebook's: an option of forked programs alone.
TOP_LEVEL_AWAIT: Final = "--top-level-await"
#: Options of the interpreter that a forked one can take.
_OPTIONS: Final = ("-P", "-u", TOP_LEVEL_AWAIT)
#: What a connection carries: the length of a request, a process id, a status.
NUMBER: Final = struct.Struct("!I")
_PARENTS_PIPES: Final = ("p2cwrite", "c2pread", "errread")
_PIPES: Final = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
_start_process = subprocess.Popen
_SIGNATURE: Final = inspect.signature(subprocess.Popen._execute_child)  # type: ignore[attr-defined]


def is_forkable(words: Sequence[Any]) -> bool:
    """Whether a command is this interpreter, with options that a forked one can take."""
    if not words or words[0] != sys.executable:
        return False
    _, rest = split_options(words)
    return (
        sys.platform == "linux"
        and bool(rest)
        and (rest[0] in ("-c", "-m") or not str(rest[0]).startswith("-"))
    )


def split_options(words: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    """The interpreter's options, and what follows them."""
    first = next((at for at, word in enumerate(words) if at and word not in _OPTIONS), len(words))
    return words[1:first], words[first:]


# ---- the side of who starts a program -----------------------------------------------------------------


class ForkedPopen(subprocess.Popen[Any]):
    """A `Popen` that lets the server fork this interpreter's programs."""

    #: What a program imports besides.
    imported: ClassVar[Sequence[str]] = ()
    #: In a forked program: what becomes another program, whose descriptors are given.
    forked: ClassVar[list[Callable[[Mapping[str, Any], Sequence[int]], NoReturn]]] = []
    #: asyncio waits for children of this process.
    may_be_awaited: ClassVar[bool] = True
    _connection: socket.socket | None = None

    def _execute_child(self, *given: Any) -> None:
        asked = _SIGNATURE.bind(self, *given).arguments
        words = asked["args"]
        is_list = not isinstance(words, str | bytes | os.PathLike)
        has_threads = self.forked and threading.active_count() > 1
        is_awaited = self.may_be_awaited and _get_running_loop() is not None
        is_plain = is_list and not (asked["shell"] or has_threads or is_awaited)
        if not (is_plain and is_forkable(list(words))):
            super()._execute_child(*given)  # type: ignore[misc]
            return
        cwd, env = asked["cwd"], asked["env"]
        request = {
            "words": [os.fspath(word) for word in words],
            "cwd": os.getcwd() if cwd is None else os.path.abspath(cwd),
            "environment": dict(os.environ if env is None else env),
            "new_session": asked["start_new_session"],
            "inherited": list(asked["pass_fds"]),
            "imported": list(self.imported),
        }
        pipes = (asked["p2cread"], asked["c2pwrite"], asked["errwrite"])
        stdio = [number if pipe == -1 else pipe for number, pipe in enumerate(pipes)]
        if not Path(request["cwd"]).is_dir():
            raise FileNotFoundError(f"There is no folder {request['cwd']}.")
        if self.forked:
            self._fork(request, stdio, [asked[name] for name in _PARENTS_PIPES])
        else:
            self._ask_server(request, stdio)
        self._child_created = True
        self._close_pipe_fds(*(asked[name] for name in _PIPES))  # type: ignore[attr-defined]

    def _fork(
        self, request: dict[str, Any], stdio: Sequence[int], parents_pipes: Sequence[int]
    ) -> None:
        """Fork this process, which is a forked program itself: so it has its process group."""
        self.pid = os.fork()
        if self.pid:
            return
        for pipe in parents_pipes:
            if pipe != -1:
                os.close(pipe)
        self.forked[0](request, [os.dup(each) for each in (*stdio, *request["inherited"])])

    def _ask_server(self, request: dict[str, Any], stdio: Sequence[int]) -> None:
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(_start_server())
        data = json.dumps(request).encode()
        socket.send_fds(connection, [NUMBER.pack(len(data))], [*stdio, *request["inherited"]])
        connection.sendall(data)
        (self.pid,) = NUMBER.unpack(receive(connection, NUMBER.size))
        self._connection = connection

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        if self._connection is None:
            return super()._try_wait(wait_flags)  # type: ignore[misc, no-any-return]
        return self._take_status(wait_flags)

    def _internal_poll(self, *given: Any, **named: Any) -> int | None:
        if self._connection is not None:
            named["_waitpid"] = lambda pid, flags: self._take_status(flags)
        return super()._internal_poll(*given, **named)  # type: ignore[misc, no-any-return]

    def _take_status(self, wait_flags: int) -> tuple[int, int]:
        """As `os.waitpid`: (0, 0) where the program runs and is not waited for."""
        assert self._connection is not None
        if wait_flags & os.WNOHANG:
            with selectors.DefaultSelector() as selector:
                selector.register(self._connection, selectors.EVENT_READ)
                if not selector.select(0):
                    return 0, 0
        (status,) = NUMBER.unpack(receive(self._connection, NUMBER.size))
        self._connection.close()
        return self.pid, status


class _ForkedCommand(ForkedPopen):
    """One that a test started, and waits for itself."""

    may_be_awaited = False

    def __init__(self, command: Sequence[str], **how: Any) -> None:
        words = (word for word in command if word in _COMMAND_IMPORTS)
        self.imported = _COMMAND_IMPORTS[next(words, "")]  # type: ignore[misc]
        super().__init__(command, **how)


def start_python(command: Sequence[str], **how: Any) -> subprocess.Popen[Any]:
    """Start `python …` as `subprocess.Popen` does; forked where the system lets it.

    Args:
        command: This interpreter and its arguments.
        how: What `subprocess.Popen` takes: streams, `env`, `cwd`, `text`. In a new session, a terminal
            that is the input becomes the session's.
    """
    return _ForkedCommand(command, **how)


def run_python(
    command: Sequence[str], timeout: float | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `python …` to its end, as `subprocess.run` does, with its outputs as text."""
    with start_python(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            out, errors = process.communicate(timeout=timeout)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, errors)


@contextlib.contextmanager
def fork_programs(*imported: str) -> Iterator[None]:
    """In the block, `subprocess` lets the server fork this interpreter's programs.

    Args:
        imported: What such programs import besides.
    """
    given = ForkedPopen.imported
    before, subprocess.Popen = subprocess.Popen, ForkedPopen  # type: ignore[misc]
    ForkedPopen.imported = imported
    try:
        yield
    finally:
        subprocess.Popen = before  # type: ignore[misc]
        ForkedPopen.imported = given


@functools.cache
def _start_server() -> str:
    """The address of this process's server, which ends with it."""
    address = str(Path(tempfile.mkdtemp(prefix="fork"), "server"))
    process = _start_process(
        [sys.executable, "-m", "tests.helpers.fork_server", address, *IMPORTED],
        cwd=ROOT,
        env={name: text for name, text in os.environ.items() if name != "PYTHONPATH"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    atexit.register(process.communicate)
    assert process.stdout
    assert process.stdout.readline() == b"listening\n"
    return address


def receive(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        assert part, "The process that forks programs has ended: its error is above."
        data += part
    return data
