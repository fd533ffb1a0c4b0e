"""Runs one command, from its start to the end of all its child processes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Coroutine, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from ..sandbox import CommandLaunch, SandboxAccess
from ..sandbox.launch import GRACE_S, Sandbox

#: Bytes of a command's output that are kept, of its begin and of its end.
HEAD_BYTES: Final = 512 * 1024
TAIL_BYTES: Final = 512 * 1024
# Seconds to wait for what its output's last reader left.
_PIPE_GRACE_S: Final = 2.0
# Seconds that the launcher has to end a command: it gives the command a time of grace, then kills.
_LAUNCHER_TIMEOUT_S: Final = GRACE_S + 3.0

_Waiting = Coroutine[Any, Any, Any]


class CommandResult(Struct, frozen=True, kw_only=True):
    """The result of a command."""

    exit_code: int | None  # None: it was ended by us; negative: by that signal
    output: str
    timed_out: bool = False


class BoundedOutput:
    """The begin and the end of a stream, however much flows."""

    def __init__(self, head: int = HEAD_BYTES, tail: int = TAIL_BYTES) -> None:
        self._max_head_bytes, self._max_tail_bytes = head, tail
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0

    def add(self, data: bytes) -> None:
        """Add output."""
        free = self._max_head_bytes - len(self._head)
        self._head += data[:free]
        self._tail += data[free:]
        if len(self._tail) > 2 * self._max_tail_bytes:  # not at each byte: to move them costs
            self._trim()

    def text(self) -> str:
        """Return the stored output, with a note in place of omitted output."""
        self._trim()
        note = f"\n[… {self._dropped:,} bytes were dropped …]\n" if self._dropped else ""
        parts = (self._head, note.encode(), self._tail)
        return b"".join(parts).decode("utf-8", "replace")

    def _trim(self) -> None:
        excess = len(self._tail) - self._max_tail_bytes
        if excess > 0:
            del self._tail[:excess]
            self._dropped += excess


class _Reader(asyncio.Protocol):
    """Reads a pipe until nobody can write to it any more."""

    def __init__(self, output: BoundedOutput) -> None:
        self._output = output
        self.excess = asyncio.Event()

    def data_received(self, data: bytes) -> None:
        self._output.add(data)

    def connection_lost(self, error: Exception | None) -> None:
        self.excess.set()


async def run_process(
    launch: CommandLaunch, folder: Path, timeout_s: float, cancel: asyncio.Event
) -> CommandResult:
    """Run a command. When it ends, all that it started ends: daemons, too.

    Args:
        launch: How it is started.
        folder: Where it runs.
        timeout_s: How long it may take.
        cancel: Set: it is ended.

    Raises:
        OSError: It can't be started.
    """
    output = BoundedOutput()
    async with _reading(output) as (reader, writable):
        try:
            process = await asyncio.create_subprocess_exec(
                *launch.argv,
                cwd=folder,
                env=launch.env,
                pass_fds=launch.pass_fds,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=writable,
                stderr=writable,
                start_new_session=True,  # and so a process group of its own
            )
        finally:
            os.close(writable)
        try:
            has_ended = await _wait_for_first(timeout_s, process.wait(), cancel.wait())
            if not has_ended:
                _signal(
                    process, signal.SIGTERM
                )  # the launcher passes it on, and kills after a while
                await _wait_for_first(_LAUNCHER_TIMEOUT_S, process.wait())
        finally:
            code = await _kill_and_wait(process)
        await _wait_for_first(
            _PIPE_GRACE_S, reader.excess.wait()
        )  # who could not be killed may hold the pipe for long
    return CommandResult(
        exit_code=code if has_ended else None,
        output=output.text(),
        timed_out=not has_ended and not cancel.is_set(),
    )


@contextlib.asynccontextmanager
async def prepare_command(
    sandbox: Sandbox, words: Sequence[str], folder: Path, access: SandboxAccess
) -> AsyncIterator[CommandLaunch]:
    """Prepare a command in a sandbox, on a thread. The context ends when the command has ended.

    Args:
        sandbox: The sandbox that confines the command.
        words: The program and its arguments.
        folder: Where it runs.
        access: What it may reach.

    Raises:
        SandboxError: The command can't be confined as `access` says.
        OSError: It can't be started.
    """
    with contextlib.ExitStack() as stack:
        context = sandbox.prepare_command(words, folder, access)
        entering = asyncio.ensure_future(asyncio.to_thread(stack.enter_context, context))
        try:
            yield await asyncio.shield(entering)
        finally:
            # Cancelled, the thread still works on it; what it makes is to be freed.
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait({entering})
                entering.exception()  # is raised above, or of no interest to who cancelled
            await asyncio.shield(asyncio.to_thread(stack.close))


@contextlib.asynccontextmanager
async def _reading(output: BoundedOutput) -> AsyncIterator[tuple[_Reader, int]]:
    """A pipe that is read; gives its reader and the end to write to, which the caller closes.

    One of our own: to asyncio a process runs as long as anybody holds the pipes that asyncio made.
    """
    readable, writable = os.pipe()
    try:
        transport, reader = await asyncio.get_running_loop().connect_read_pipe(
            lambda: _Reader(output), os.fdopen(readable, "rb", buffering=0)
        )
    except BaseException:
        os.close(writable)
        raise
    try:
        yield reader, writable
    finally:
        transport.close()


async def _wait_for_first(timeout_s: float, wanted: _Waiting, *instead: _Waiting) -> bool:
    """Wait for one of several, and so long at most; says whether the first is over."""
    tasks = [asyncio.ensure_future(each) for each in (wanted, *instead)]
    try:
        done, _ = await asyncio.wait(tasks, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()  # raises what went wrong
        return tasks[0].done()
    finally:
        for task in tasks:
            task.cancel()


async def _kill_and_wait(process: asyncio.subprocess.Process) -> int:
    """Kill a command if it still runs; gives its exit code."""
    if process.returncode is None:
        _signal(process, signal.SIGQUIT)  # the launcher kills all that is left, and ends
        await _wait_for_first(_LAUNCHER_TIMEOUT_S, process.wait())
        _signal(process, signal.SIGKILL)
    return await process.wait()


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    """Signal the launcher, which has a group of its own."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
